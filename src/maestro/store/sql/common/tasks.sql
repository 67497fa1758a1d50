-- fragment: task
t.id, t.project_id, p.name, t.number, t.title, t.description, t.status, t.priority, t.stage, t.parent_id,
t.found_in, t.member, t.accept, t.gates, t.archived, t.reason, t.holder, t.fence, t.lease_seconds,
t.lease_until, t.open_blockers, t.stage_held, t.created_by, t.created_at, t.updated_at, t.started_at, t.finished_at,
t.from_project_id, (SELECT s.name FROM sessions s WHERE s.id = t.holder)

-- fragment: task_in_list
t.id, t.project_id, p.name, t.number, t.title,
CASE WHEN length(t.description) > :description_chars THEN substr(t.description, 1, :description_chars) || '…'
     ELSE t.description END,
t.status, t.priority, t.stage, t.parent_id,
t.found_in, t.member, t.accept, t.gates, t.archived, t.reason, t.holder, t.fence, t.lease_seconds,
t.lease_until, t.open_blockers, t.stage_held, t.created_by, t.created_at, t.updated_at, t.started_at, t.finished_at,
t.from_project_id, (SELECT s.name FROM sessions s WHERE s.id = t.holder)

-- fragment: tasks
tasks t JOIN projects p ON p.id = t.project_id

-- name: task_insert
-- A new task, ranked above all others, with its project's next number (a trigger moves that on).
INSERT INTO tasks (id, project_id, number, title, description, status, priority, stage, parent_id, found_in, member,
                   accept, gates, open_blockers, stage_held, rank, created_by, created_at, updated_at, from_project_id)
VALUES (:id, :project_id, (SELECT next_number FROM projects WHERE id = :project_id), :title, :description, :status, :priority, :stage, :parent_id, :found_in, :member,
        :accept, :gates, :open_blockers, :stage_held,
        (SELECT coalesce(max(rank), 0) + :rank_step FROM tasks), :created_by, :created_at, :updated_at,
        :from_project_id)
RETURNING number;

-- name: task_get
-- One task by its id.
SELECT {task} FROM {tasks} WHERE t.id = :id;

-- name: task_by_number
-- One task by its number in a project.
SELECT {task} FROM {tasks} WHERE t.project_id = :project_id AND t.number = :number;

-- name: task_move
-- Moves a task on from the status and claim it was read with; no row means someone was faster.
UPDATE tasks
   SET status = :status, holder = :holder, fence = :fence, lease_seconds = :lease_seconds, lease_until = :lease_until,
       reason = :reason, updated_at = :updated_at, started_at = :started_at, finished_at = :finished_at
 WHERE id = :id AND status = :expected_status AND fence = :expected_fence;

-- name: task_edit
-- Changes what a task says, not where it stands.
UPDATE tasks
   SET title = :title, description = :description, priority = :priority, stage = :stage, parent_id = :parent_id,
       member = :member, accept = :accept, gates = :gates, archived = :archived, updated_at = :updated_at,
       stage_held = CASE WHEN :stage IS NULL THEN 0 ELSE stage_held END
 WHERE id = :id;

-- name: task_delete
-- Removes a task for good.
DELETE FROM tasks WHERE id = :id;

-- name: task_delete_reports
DELETE FROM task_reports WHERE task_id = :id;

-- name: task_delete_documents
DELETE FROM documents WHERE task_id = :id;

-- name: task_page
-- A page of a project's tasks by number.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.number > :after AND t.archived <= :archived
 ORDER BY t.number LIMIT :limit;

-- name: task_page_by_status
-- A page of a project's tasks in one status, any but todo.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status = :status AND t.status <> 'todo' AND t.number > :after
   AND t.archived <= :archived
 ORDER BY t.number LIMIT :limit;

-- name: task_page_todo
-- A page of a project's tasks that are to be done.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status = 'todo' AND t.number > :after AND t.archived <= :archived
 ORDER BY t.number LIMIT :limit;

-- name: task_page_by_holder
-- A page of what one holder has claimed in a project.
SELECT {task_in_list} FROM {tasks}
 WHERE t.holder = :holder AND t.project_id = :project_id AND t.number > :after AND t.status = coalesce(:status, t.status)
 ORDER BY t.number LIMIT :limit;

-- name: task_ready
-- What can be started now, most urgent first.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status = 'todo' AND t.open_blockers = 0 AND t.stage_held = 0
   AND t.archived = 0 AND (t.priority, t.number) > (:after_priority, :after_number)
 ORDER BY t.priority, t.number LIMIT :limit;

-- name: task_ready_children
-- What can be started now among a task's children.
SELECT {task_in_list} FROM {tasks}
 WHERE t.parent_id = :parent_id AND t.parent_id IS NOT NULL AND t.status = 'todo' AND t.open_blockers = 0
   AND t.stage_held = 0 AND t.archived = 0
   AND (t.priority, t.number) > (:after_priority, :after_number)
 ORDER BY t.priority, t.number LIMIT :limit;

-- name: task_waiting
-- Open tasks that cannot be started: blocked by hand, by others or by their stage.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status IN ('todo', 'blocked') AND t.number > :after AND t.archived = 0
   AND (t.status = 'blocked' OR t.open_blockers > 0 OR t.stage_held = 1)
 ORDER BY t.number LIMIT :limit;

-- name: task_children
-- A task's children by number.
SELECT {task_in_list} FROM {tasks} WHERE t.parent_id = :parent_id AND t.number > :after ORDER BY t.number LIMIT :limit;

-- name: task_children_open
-- How many children are neither completed nor cancelled, and how many have completed.
SELECT coalesce(sum(status NOT IN ('completed', 'cancelled')), 0), coalesce(sum(status = 'completed'), 0)
  FROM tasks WHERE parent_id = :parent_id;

-- name: task_children_unfinished
-- The children that keep a parent open.
SELECT {task_in_list} FROM {tasks}
 WHERE t.parent_id = :parent_id AND t.status NOT IN ('completed', 'cancelled') ORDER BY t.number LIMIT :limit;

-- name: task_height
-- How many levels there are below a task, as far as levels are allowed.
WITH RECURSIVE below (id, depth) AS (
  SELECT :id, 0
  UNION ALL
  SELECT t.id, below.depth + 1 FROM below JOIN tasks t ON t.parent_id = below.id WHERE below.depth <= :limit
)
SELECT max(depth) FROM below;

-- name: task_roots
-- A project's tasks that have no parent.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.parent_id IS NULL AND t.archived = 0 ORDER BY t.number LIMIT :limit;

-- name: task_found_in
-- What was discovered while working on a task.
SELECT {task_in_list} FROM {tasks} WHERE t.found_in = :id ORDER BY t.number LIMIT :limit;

-- name: task_unlink_found
UPDATE tasks SET found_in = NULL WHERE found_in = :id;

-- name: task_leases_over
-- Claims whose lease has run out.
SELECT {task_in_list} FROM {tasks}
 WHERE t.lease_until <= :at AND t.status IN ('in_progress', 'blocked') ORDER BY t.lease_until LIMIT :limit;

-- name: task_next_lease
-- When the next claim runs out.
SELECT min(lease_until) FROM tasks WHERE lease_until IS NOT NULL AND status IN ('in_progress', 'blocked');

-- name: tasks_prolong
-- Holders could not be heard: no claim runs out before this.
UPDATE tasks SET lease_until = :lease_until
 WHERE lease_until < :lease_until AND status IN ('in_progress', 'blocked');

-- name: task_renew
-- A holder's sign of life renews all its claims, each by its own lease.
UPDATE tasks SET lease_until = :at + lease_seconds * 1000000
 WHERE holder = :holder AND lease_seconds IS NOT NULL AND lease_until > :at AND status IN ('in_progress', 'blocked');

-- name: task_has_lease
-- Whether someone holds a claim that must be renewed.
SELECT 1 FROM tasks
 WHERE holder = :holder AND lease_seconds IS NOT NULL AND status IN ('in_progress', 'blocked') LIMIT 1;

-- name: tasks_renew
-- The same for many holders.
UPDATE tasks SET lease_until = :at + lease_seconds * 1000000
 WHERE holder IN (SELECT value FROM json_each(:holders)) AND lease_seconds IS NOT NULL AND lease_until > :at
   AND status IN ('in_progress', 'blocked');

-- name: tasks_of_holder
-- Every open task that someone holds, in any project.
SELECT {task_in_list} FROM {tasks} WHERE t.holder = :holder ORDER BY t.number LIMIT :limit;

-- name: open_tasks
-- The unfinished tasks of a project, for a snapshot.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.status IN ('todo', 'in_progress', 'in_review', 'blocked')
 ORDER BY t.number LIMIT :limit;

-- name: task_counts
-- How many tasks of a project stand where, and how many are ready.
SELECT status, count(*), sum(status = 'todo' AND open_blockers = 0 AND stage_held = 0)
  FROM tasks WHERE project_id = :project_id AND archived = 0 GROUP BY status;

-- name: report_insert
-- What was reported on a task.
INSERT INTO task_reports (id, task_id, kind, text, by, created_at) VALUES (:id, :task_id, :kind, :text, :by, :created_at);

-- name: reports_of_task
-- A task's reports, newest first.
SELECT id, task_id, kind, text, by, created_at FROM task_reports WHERE task_id = :task_id ORDER BY id DESC LIMIT :limit;
