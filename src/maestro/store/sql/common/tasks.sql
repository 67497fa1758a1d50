-- fragment: task_without_description
t.id, t.project_id, p.name || '#' || t.number AS ref, t.number, t.title, t.status, t.priority,
(t.status = 'todo' AND t.open_blockers = 0 AND t.stage_held = 0) AS ready, t.stage, t.parent_id, t.found_in, t.member,
t.accept, t.gates, t.archived, t.reason, t.holder, (SELECT s.name FROM sessions s WHERE s.id = t.holder) AS holder_name,
t.fence, t.lease_seconds, t.lease_until, t.open_blockers, t.stage_held, t.created_by, t.created_at, t.updated_at,
t.started_at, t.finished_at, t.from_project_id

-- fragment: task
{task_without_description}, t.description

-- fragment: task_in_list
{task_without_description},
CASE WHEN length(t.description) > :description_chars THEN substr(t.description, 1, :description_chars) || '…'
     ELSE t.description END AS description

-- fragment: tasks
tasks t JOIN projects p ON p.id = t.project_id

-- name: task_insert
-- Insert a task with a rank above all others and the next number of its project. A trigger increases the project's
-- number.
INSERT INTO tasks (id, project_id, number, title, description, status, priority, stage, parent_id, found_in, member,
                   accept, gates, open_blockers, stage_held, rank, created_by, created_at, updated_at, from_project_id)
VALUES (:id, :project_id, (SELECT next_number FROM projects WHERE id = :project_id), :title, :description, :status, :priority, :stage, :parent_id, :found_in, :member,
        :accept, :gates, :open_blockers, :stage_held,
        (SELECT coalesce(max(rank), 0) + :rank_step FROM tasks), :created_by, :created_at, :updated_at,
        :from_project_id)
RETURNING number;

-- name: task_get
-- Return a task by its id.
SELECT {task} FROM {tasks} WHERE t.id = :id;

-- name: task_by_number
-- Return a task by its number in a project.
SELECT {task} FROM {tasks} WHERE t.project_id = :project_id AND t.number = :number;

-- name: task_move
-- Move a task from the status and claim with which the task was read. No changed row means: another caller was
-- faster.
UPDATE tasks
   SET status = :status, holder = :holder, fence = :fence, lease_seconds = :lease_seconds, lease_until = :lease_until,
       reason = :reason, updated_at = :updated_at, started_at = :started_at, finished_at = :finished_at
 WHERE id = :id AND status = :expected_status AND fence = :expected_fence;

-- name: task_edit
-- Update the texts and settings of a task, not its status.
UPDATE tasks
   SET title = :title, description = :description, priority = :priority, stage = :stage, parent_id = :parent_id,
       member = :member, accept = :accept, gates = :gates, archived = :archived, updated_at = :updated_at,
       stage_held = CASE WHEN :stage IS NULL THEN 0 ELSE stage_held END
 WHERE id = :id;

-- name: task_delete
-- Delete a task for good.
DELETE FROM tasks WHERE id = :id;

-- name: task_delete_reports
DELETE FROM task_reports WHERE task_id = :id;

-- name: task_delete_documents
DELETE FROM documents WHERE task_id = :id;

-- name: task_page
-- Return a page of a project's tasks, ordered by number.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.number > :after AND t.archived <= :archived
 ORDER BY t.number LIMIT :limit;

-- name: task_page_by_status
-- Return a page of a project's tasks in a status other than todo.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status = :status AND t.status <> 'todo' AND t.number > :after
   AND t.archived <= :archived
 ORDER BY t.number LIMIT :limit;

-- name: task_page_todo
-- Return a page of a project's tasks in the status todo.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status = 'todo' AND t.number > :after AND t.archived <= :archived
 ORDER BY t.number LIMIT :limit;

-- name: task_page_by_holder
-- Return a page of the tasks that a holder has claimed in a project.
SELECT {task_in_list} FROM {tasks}
 WHERE t.holder = :holder AND t.project_id = :project_id AND t.number > :after AND t.status = coalesce(:status, t.status)
 ORDER BY t.number LIMIT :limit;

-- name: task_ready
-- Return the tasks that can be started now, most urgent first.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status = 'todo' AND t.open_blockers = 0 AND t.stage_held = 0
   AND t.archived = 0 AND (t.priority, t.number) > (:after_priority, :after_number)
 ORDER BY t.priority, t.number LIMIT :limit;

-- name: task_ready_children
-- Return the children of a task that can be started now.
SELECT {task_in_list} FROM {tasks}
 WHERE t.parent_id = :parent_id AND t.parent_id IS NOT NULL AND t.status = 'todo' AND t.open_blockers = 0
   AND t.stage_held = 0 AND t.archived = 0
   AND (t.priority, t.number) > (:after_priority, :after_number)
 ORDER BY t.priority, t.number LIMIT :limit;

-- name: task_waiting
-- Return the open tasks that cannot be started: blocked by hand, by other tasks or by their stage.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status IN ('todo', 'blocked') AND t.number > :after AND t.archived = 0
   AND (t.status = 'blocked' OR t.open_blockers > 0 OR t.stage_held = 1)
 ORDER BY t.number LIMIT :limit;

-- name: task_children
-- Return the children of a task, ordered by number.
SELECT {task_in_list} FROM {tasks} WHERE t.parent_id = :parent_id AND t.number > :after ORDER BY t.number LIMIT :limit;

-- name: task_children_open
-- Count the children that are neither completed nor cancelled, and the completed children.
SELECT coalesce(sum(status NOT IN ('completed', 'cancelled')), 0) AS unfinished,
       coalesce(sum(status = 'completed'), 0) AS completed
  FROM tasks WHERE parent_id = :parent_id;

-- name: task_children_unfinished
-- Return the children that keep a parent open.
SELECT {task_in_list} FROM {tasks}
 WHERE t.parent_id = :parent_id AND t.status NOT IN ('completed', 'cancelled') ORDER BY t.number LIMIT :limit;

-- name: task_height
-- Return the number of levels below a task, up to the allowed depth.
WITH RECURSIVE below (id, depth) AS (
  SELECT :id, 0
  UNION ALL
  SELECT t.id, below.depth + 1 FROM below JOIN tasks t ON t.parent_id = below.id WHERE below.depth <= :limit
)
SELECT max(depth) FROM below;

-- name: task_roots
-- Return the tasks of a project without a parent.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.parent_id IS NULL AND t.archived = 0 ORDER BY t.number LIMIT :limit;

-- name: task_found_in
-- Return the tasks that were found during the work on a task.
SELECT {task_in_list} FROM {tasks} WHERE t.found_in = :id ORDER BY t.number LIMIT :limit;

-- name: task_unlink_found
UPDATE tasks SET found_in = NULL WHERE found_in = :id;

-- name: task_leases_over
-- Return the tasks whose claim has run out.
SELECT {task_in_list} FROM {tasks}
 WHERE t.lease_until <= :at AND t.status IN ('in_progress', 'blocked') ORDER BY t.lease_until LIMIT :limit;

-- name: task_next_lease
-- Return the time when the next claim runs out.
SELECT min(lease_until) FROM tasks WHERE lease_until IS NOT NULL AND status IN ('in_progress', 'blocked');

-- name: tasks_prolong
-- Extend claims to a time: the server could not hear the holders.
UPDATE tasks SET lease_until = :lease_until
 WHERE lease_until < :lease_until AND status IN ('in_progress', 'blocked');

-- name: task_renew
-- Renew all claims of a holder after a sign of life, each by its own lease.
UPDATE tasks SET lease_until = :at + lease_seconds * 1000000
 WHERE holder = :holder AND lease_seconds IS NOT NULL AND lease_until > :at AND status IN ('in_progress', 'blocked');

-- name: task_has_lease
-- Test whether a holder has a claim that must be renewed.
SELECT 1 FROM tasks
 WHERE holder = :holder AND lease_seconds IS NOT NULL AND status IN ('in_progress', 'blocked') LIMIT 1;

-- name: tasks_renew
-- The same for many holders.
UPDATE tasks SET lease_until = :at + lease_seconds * 1000000
 WHERE holder IN (SELECT value FROM json_each(:holders)) AND lease_seconds IS NOT NULL AND lease_until > :at
   AND status IN ('in_progress', 'blocked');

-- name: tasks_of_holder
-- Return the open tasks of a holder, in all projects.
SELECT {task_in_list} FROM {tasks} WHERE t.holder = :holder ORDER BY t.number LIMIT :limit;

-- name: open_tasks
-- Return the unfinished tasks of a project, for a snapshot.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status IN ('todo', 'in_progress', 'in_review', 'blocked')
 ORDER BY t.number LIMIT :limit;

-- name: task_counts
-- Return the number of a project's tasks in each status, and the number of ready tasks.
SELECT status, count(*) AS tasks, sum(status = 'todo' AND open_blockers = 0 AND stage_held = 0) AS ready_tasks
  FROM tasks WHERE project_id = :project_id AND archived = 0 GROUP BY status;

-- name: report_insert
-- Insert a report on a task.
INSERT INTO task_reports (id, task_id, kind, text, by, created_at) VALUES (:id, :task_id, :kind, :text, :by, :created_at);

-- name: reports_of_task
-- Return the reports of a task, newest first.
SELECT id, task_id, kind, text, by, created_at FROM task_reports WHERE task_id = :task_id ORDER BY id DESC LIMIT :limit;
