-- fragment: issue
i.task_id, i.thread_id, i.opener

-- name: issue_insert
INSERT INTO issues (task_id, thread_id, opener) VALUES (:task_id, :thread_id, :opener);

-- name: issue_of_task
SELECT {issue} FROM issues i WHERE i.task_id = :task_id;

-- name: issue_of_thread
SELECT {issue} FROM issues i WHERE i.thread_id = :thread_id;

-- name: issue_delete
DELETE FROM issues WHERE task_id = :id;

-- name: issues_of_project
-- Return the issues that a project received, by number; `closed` selects open (0), closed (1) or all (NULL) issues.
SELECT {task_in_list} FROM {tasks}
 WHERE t.project_id = :project_id AND t.from_project_id IS NOT NULL AND t.number > :after AND t.archived = 0
   AND coalesce(:closed, t.status IN ('completed', 'failed', 'cancelled')) = (t.status IN ('completed', 'failed', 'cancelled'))
 ORDER BY t.number LIMIT :limit;

-- name: issues_from_project
-- Return the issues that a project opened in other projects, in the order of their creation.
SELECT {task_in_list} FROM {tasks}
 WHERE t.from_project_id = :project_id AND t.project_id <> :project_id AND t.id > :after AND t.archived = 0
   AND coalesce(:closed, t.status IN ('completed', 'failed', 'cancelled')) = (t.status IN ('completed', 'failed', 'cancelled'))
 ORDER BY t.id LIMIT :limit;

-- name: issue_exists_between
-- Test whether a project has ever opened an issue in another project.
SELECT 1 FROM tasks WHERE from_project_id = :from_project_id AND project_id = :project_id LIMIT 1;

-- name: thread_close
-- Stop offering the messages of a closed thread from a mailbox.
UPDATE deliveries SET open = 0
 WHERE mailbox = :mailbox AND open <> 0 AND message_seq IN (SELECT seq FROM messages WHERE thread_id = :thread_id);
