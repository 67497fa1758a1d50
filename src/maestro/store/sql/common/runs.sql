-- fragment: run
r.id, r.project_id, r.task_id, r.strategy, r.max_parallel, r.attempts_max, r.member, r.tool, r.arguments, r.worktrees,
r.directory, r.branch, r.status, r.note, r.started_by, r.created_at, r.ended_at, r.resumed_at,
r.allow, r.asks, r.rights

-- fragment: attempt
a.run_id, a.task_id, a.number, a.session_id, a.outcome, a.started_at, a.ended_at, a.note

-- name: run_insert
INSERT INTO runs (id, project_id, task_id, strategy, max_parallel, attempts_max, member, tool, arguments, worktrees,
                  directory, branch, status, started_by, created_at, allow, asks, rights)
VALUES (:id, :project_id, :task_id, :strategy, :max_parallel, :attempts_max, :member, :tool, :arguments, :worktrees,
        :directory, :branch, :status, :started_by, :created_at, :allow, :asks, :rights);

-- name: run_get
SELECT {run} FROM runs r WHERE r.id = :id;

-- name: run_move
-- Change the status of a run, only from the status with which the run was read.
UPDATE runs SET status = :status, note = :note, ended_at = :ended_at WHERE id = :id AND status = :expected;

-- name: run_resume
-- Resume a run, only from the status with which the run was read. Attempts are counted from this time on.
UPDATE runs SET status = 'running', note = '', ended_at = NULL, resumed_at = :at WHERE id = :id AND status = :expected;

-- name: run_note
-- Set the note of a live run. Changes no row if the note is the same.
UPDATE runs SET note = :note WHERE id = :id AND status = 'running' AND note <> :note;

-- name: runs_live
SELECT {run} FROM runs r WHERE r.status = 'running' AND r.id > :after ORDER BY r.id LIMIT :limit;

-- name: runs_page
-- Return a page of a project's runs, newest first.
SELECT {run} FROM runs r WHERE r.project_id = :project_id AND r.id < :before ORDER BY r.id DESC LIMIT :limit;

-- name: run_of_task
-- Return the live run of a task.
SELECT {run} FROM runs r WHERE r.task_id = :task_id AND r.status = 'running' LIMIT 1;

-- name: run_last_of_task
-- Return the live run of a task, or else the last run of the task.
SELECT {run} FROM runs r WHERE r.task_id = :task_id ORDER BY r.id DESC LIMIT 1;

-- name: attempt_insert
INSERT INTO attempts (run_id, task_id, number, session_id, outcome, note, started_at, ended_at)
VALUES (:run_id, :task_id, :number, :session_id, :outcome, :note, :started_at, :ended_at);

-- name: attempt_end
UPDATE attempts SET outcome = :outcome, note = :note, ended_at = :ended_at
 WHERE run_id = :run_id AND task_id = :task_id AND number = :number AND outcome IS NULL;

-- name: attempts_of_run
SELECT {attempt} FROM attempts a WHERE a.run_id = :run_id ORDER BY a.task_id, a.number;

-- name: attempts_of_tasks
SELECT {attempt} FROM attempts a
 WHERE a.run_id = :run_id AND a.task_id IN (SELECT value FROM json_each(:tasks)) ORDER BY a.task_id, a.number;

-- name: attempts_adrift
-- Return the attempts without an outcome whose task was deleted.
SELECT {attempt} FROM attempts a
 WHERE a.run_id = :run_id AND a.outcome IS NULL AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = a.task_id);

-- name: attempt_of_session
SELECT {attempt} FROM attempts a WHERE a.session_id = :session_id LIMIT 1;

-- fragment: below
below (id, depth) AS (
  SELECT t.id, 1 FROM tasks t WHERE t.parent_id = :id
  UNION ALL
  SELECT t.id, below.depth + 1 FROM below JOIN tasks t ON t.parent_id = below.id WHERE below.depth < 64
)

-- fragment: is_work
(NOT EXISTS (SELECT 1 FROM tasks c WHERE c.parent_id = t.id)
        OR (t.status NOT IN ('completed', 'cancelled')
            AND NOT EXISTS (SELECT 1 FROM tasks c
                             WHERE c.parent_id = t.id AND c.status NOT IN ('completed', 'cancelled'))))

-- name: tasks_below
-- Return the work in a tree of tasks: every task without children, and every open parent without open tasks below.
-- Such a parent waits for its gates, failed its gates, or has only cancelled children.
WITH RECURSIVE {below}
SELECT {task_in_list} FROM {tasks}
 WHERE (t.id = :id OR t.id IN (SELECT id FROM below)) AND {is_work}
 ORDER BY t.number LIMIT :limit;

-- name: tasks_at_work
-- Return the tasks with an open attempt of a run.
SELECT {task_in_list} FROM {tasks} JOIN attempts a ON a.task_id = t.id
 WHERE a.run_id = :run_id AND a.outcome IS NULL
 ORDER BY t.number;

-- name: tasks_to_begin
-- Return the tasks of a tree that can be started, most urgent first. The search goes from ready tasks upwards: few
-- tasks are ready at a time, and most tasks of a large tree are done or wait.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status = 'todo' AND t.open_blockers = 0 AND t.stage_held = 0
   AND t.archived = 0 AND {is_work}
   AND :id IN (WITH RECURSIVE above (id, depth) AS (
                 SELECT t.id, 0
                 UNION ALL
                 SELECT x.parent_id, above.depth + 1 FROM above JOIN tasks x ON x.id = above.id
                  WHERE x.parent_id IS NOT NULL AND above.depth < 64)
               SELECT id FROM above)
   AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run_id = :run_id AND a.task_id = t.id AND a.outcome IS NULL)
 ORDER BY t.priority, t.number LIMIT :limit;

-- name: tasks_found_below
-- Return the tasks outside of a tree that were found during the work on the tree.
WITH RECURSIVE {below}
SELECT {task_in_list} FROM {tasks}
 WHERE (t.found_in = :id OR t.found_in IN (SELECT id FROM below)) AND t.id NOT IN (SELECT id FROM below)
 ORDER BY t.number LIMIT :limit;
