-- name: gate_insert
-- Insert the result of a gate.
INSERT INTO gate_results (id, task_id, session_id, command, passed, exit_code, seconds, output, blob, created_at,
                          sandbox)
VALUES (:id, :task_id, :session_id, :command, :passed, :exit_code, :seconds, :output, :blob, :created_at, :sandbox);

-- name: gates_of_task
-- Return the gate results of a task, newest first.
SELECT id, task_id, session_id, command, passed, exit_code, seconds, created_at, sandbox FROM gate_results
 WHERE task_id = :task_id ORDER BY id DESC LIMIT :limit;

-- name: gate_output
SELECT task_id, output, blob FROM gate_results WHERE id = :id;

-- name: tasks_in_review
-- Return the tasks whose gates must run, or whose branch must be merged. A task that the person handed in is left
-- out: the person accepts it. A parent is included with any holder: the end of its last child moved the parent into
-- review.
SELECT {task_in_list} FROM {tasks}
 WHERE t.status = 'in_review' AND t.archived = 0
   AND (t.holder IS NULL OR t.holder IN (SELECT id FROM sessions)
        OR EXISTS (SELECT 1 FROM tasks c WHERE c.parent_id = t.id))
   AND (t.gates <> '[]' OR t.holder IN (SELECT session_id FROM worktrees WHERE merges_into IS NOT NULL))
 ORDER BY t.updated_at LIMIT :limit;
