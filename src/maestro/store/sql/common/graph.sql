-- name: edge_insert
-- Let a task wait on another task. An existing edge stays as it is.
INSERT INTO task_dependencies (task_id, depends_on_id) VALUES (:task_id, :depends_on_id)
ON CONFLICT (task_id, depends_on_id) DO NOTHING;

-- name: edge_delete
DELETE FROM task_dependencies WHERE task_id = :task_id AND depends_on_id = :depends_on_id;

-- name: edges_delete_from
DELETE FROM task_dependencies WHERE task_id = :task_id;

-- name: edge_count
SELECT count(*) FROM task_dependencies WHERE task_id = :task_id;

-- name: edges_of
-- Return the dependencies of several tasks, with the columns for a short display.
SELECT d.task_id, p.name || '#' || t.number AS ref, t.status FROM {tasks} JOIN task_dependencies d ON d.depends_on_id = t.id
 WHERE d.task_id IN (SELECT value FROM json_each(:ids)) ORDER BY d.task_id, t.number;

-- name: dependencies_of
-- Return the tasks that a task waits on.
SELECT {task_in_list} FROM {tasks} JOIN task_dependencies d ON d.depends_on_id = t.id
 WHERE d.task_id = :task_id ORDER BY t.number LIMIT :limit;

-- name: blockers_of
-- Return the unfinished tasks that a task waits on.
SELECT {task_in_list} FROM {tasks} JOIN task_dependencies d ON d.depends_on_id = t.id
 WHERE d.task_id = :task_id AND t.status <> 'completed' ORDER BY t.number LIMIT :limit;

-- name: dependants_of
-- Return the tasks that wait on a task.
SELECT {task_in_list} FROM {tasks} JOIN task_dependencies d ON d.task_id = t.id
 WHERE d.depends_on_id = :task_id ORDER BY t.number LIMIT :limit;

-- name: blockers_shift
-- Decrease the open blockers of all tasks that wait on a task (or increase them, when the task was reopened).
UPDATE tasks SET open_blockers = open_blockers + :by
 WHERE id IN (SELECT task_id FROM task_dependencies WHERE depends_on_id = :task_id)
RETURNING id;

-- name: blockers_shift_one
UPDATE tasks SET open_blockers = open_blockers + :by WHERE id = :id;

-- name: waits_on
-- Return the edges downwards: the dependencies, and the children of a parent, on which the parent waits.
SELECT t.id, t.rank FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on_id WHERE d.task_id = :id
UNION ALL
SELECT t.id, t.rank FROM tasks t WHERE t.parent_id = :id;

-- name: waited_on_by
-- Return the edges upwards: the dependants, and the parent of a child, which waits on the child.
SELECT t.id, t.rank FROM task_dependencies d JOIN tasks t ON t.id = d.task_id WHERE d.depends_on_id = :id
UNION ALL
SELECT t.id, t.rank FROM tasks c JOIN tasks t ON t.id = c.parent_id WHERE c.id = :id;

-- name: rank_of
SELECT id, rank FROM tasks WHERE id = :id;

-- name: rank_next_above
SELECT min(rank) FROM tasks WHERE rank > :rank;

-- name: rank_next_below
SELECT max(rank) FROM tasks WHERE rank < :rank;

-- name: rank_set
UPDATE tasks SET rank = :rank WHERE id = :id;

-- name: ranks_spread
-- Give every task a new rank with room on both sides, in the present order.
UPDATE tasks SET rank = fresh.place * :step
  FROM (SELECT id, row_number() OVER (ORDER BY rank) AS place FROM tasks) AS fresh
 WHERE tasks.id = fresh.id;

-- name: stage_has_open
-- Test whether a stage of a scope (the children of a parent, or the roots of a project) has an open task.
SELECT 1 FROM tasks
 WHERE project_id = :project_id AND parent_id IS :parent_id AND stage = :stage
   AND status IN ('todo', 'in_progress', 'in_review', 'blocked', 'failed') LIMIT 1;

-- name: stage_hold
-- Hold back or release the tasks of a stage; return the changed tasks.
UPDATE tasks SET stage_held = :held
 WHERE project_id = :project_id AND parent_id IS :parent_id AND stage = :stage AND stage_held = 1 - :held
RETURNING id;

-- name: stage_used
-- Test whether a task of a project is in a stage.
SELECT 1 FROM tasks WHERE project_id = :project_id AND stage = :stage LIMIT 1;

-- name: stage_scopes
-- Return the parents (NULL for the roots) under which a project has tasks in stages.
SELECT DISTINCT parent_id FROM tasks WHERE project_id = :project_id AND stage IS NOT NULL;
