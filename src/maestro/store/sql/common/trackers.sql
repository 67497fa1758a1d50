-- fragment: tracker
t.project_id, t.kind, t.path, t.source, t.cursor, t.version, t.read_at, t.succeeded_at, t.due_at, t.failures, t.problem

-- fragment: mirror
m.task_id, m.project_id, m.ref, m.state, m.assignee, m.title, m.stamp, m.dirty, m.is_being_created, m.state_being_written, m.last_message_seq,
m.problem, m.failures, m.retry_at

-- name: tracker_put
INSERT INTO trackers (project_id, kind, path, source, cursor, version, read_at, succeeded_at, due_at, failures, problem)
VALUES (:project_id, :kind, :path, :source, :cursor, :version, :read_at, :succeeded_at, :due_at, :failures, :problem)
ON CONFLICT (project_id) DO UPDATE
   SET kind = excluded.kind, path = excluded.path, source = excluded.source, cursor = excluded.cursor,
       version = excluded.version, read_at = excluded.read_at, succeeded_at = excluded.succeeded_at,
       due_at = excluded.due_at, failures = excluded.failures, problem = excluded.problem;

-- name: tracker_drop
DELETE FROM trackers WHERE project_id = :project_id;

-- name: tracker_get
SELECT {tracker} FROM trackers t WHERE t.project_id = :project_id;

-- name: trackers_all
SELECT {tracker} FROM trackers t ORDER BY t.project_id LIMIT :limit;

-- name: mirror_put
INSERT INTO tracker_issues (task_id, project_id, ref, state, assignee, title, stamp, dirty, is_being_created, state_being_written, last_message_seq,
                            problem, failures, retry_at)
VALUES (:task_id, :project_id, :ref, :state, :assignee, :title, :stamp, :dirty, :is_being_created, :state_being_written, :last_message_seq,
        :problem, :failures, :retry_at)
ON CONFLICT (task_id) DO UPDATE
   SET ref = excluded.ref, state = excluded.state, assignee = excluded.assignee, title = excluded.title, stamp = excluded.stamp,
       dirty = excluded.dirty, is_being_created = excluded.is_being_created, state_being_written = excluded.state_being_written, last_message_seq = excluded.last_message_seq,
       problem = excluded.problem, failures = excluded.failures, retry_at = excluded.retry_at;

-- name: mirror_get
SELECT {mirror} FROM tracker_issues m WHERE m.task_id = :task_id;

-- name: mirror_of_ref
SELECT {mirror} FROM tracker_issues m WHERE m.project_id = :project_id AND m.ref = :ref;

-- name: mirrors_of_project
SELECT {mirror} FROM tracker_issues m WHERE m.project_id = :project_id ORDER BY m.task_id LIMIT :limit;

-- name: mirrors_dirty
-- Return the issues with changes for the tracker, in the order of their creation, without those that the tracker has
-- just refused.
SELECT {mirror} FROM tracker_issues m
 WHERE m.project_id = :project_id AND m.dirty <> 0 AND coalesce(m.retry_at, 0) <= :at
 ORDER BY m.task_id LIMIT :limit;

-- name: mirror_unsure
SELECT 1 FROM tracker_issues WHERE project_id = :project_id AND dirty <> 0 AND is_being_created <> 0 LIMIT 1;

-- name: mirrors_waiting
-- Return the number of issues with changes for the tracker, the number of refused ones, and the time of the next
-- attempt.
SELECT count(*) AS dirty, coalesce(sum(failures > 0), 0) AS refused, min(retry_at) AS retry_at FROM tracker_issues
 WHERE project_id = :project_id AND dirty <> 0;

-- name: mirrors_refused
SELECT {mirror} FROM tracker_issues m
 WHERE m.project_id = :project_id AND m.dirty <> 0 AND m.problem <> '' ORDER BY m.task_id LIMIT :limit;

-- name: mirrors_count
SELECT count(*) FROM tracker_issues WHERE project_id = :project_id AND ref IS NOT NULL;

-- name: mirror_touch
-- Mark a changed task as dirty, if the task is an issue of the project.
INSERT INTO tracker_issues (task_id, project_id, title, stamp, dirty, is_being_created, state_being_written, last_message_seq, problem, failures)
SELECT i.task_id, k.project_id, '', '', 1, 0, '', 0, '', 0
  FROM issues i JOIN tasks k ON k.id = i.task_id WHERE i.task_id = :task_id AND k.project_id = :project_id
ON CONFLICT (task_id) DO UPDATE SET dirty = 1;

-- name: mirrors_touch_all
-- Mark all open issues as dirty: after a gap in the log, each may have changes for the tracker.
INSERT INTO tracker_issues (task_id, project_id, title, stamp, dirty, is_being_created, state_being_written, last_message_seq, problem, failures)
SELECT i.task_id, k.project_id, '', '', 1, 0, '', 0, '', 0
  FROM issues i JOIN tasks k ON k.id = i.task_id
 WHERE k.project_id = :project_id AND k.archived = 0 AND k.status NOT IN ('completed', 'failed', 'cancelled')
ON CONFLICT (task_id) DO UPDATE SET dirty = 1;

-- name: mirrors_touch_known
UPDATE tracker_issues SET dirty = 1 WHERE project_id = :project_id AND ref IS NOT NULL;

-- name: tracker_comment_put
INSERT INTO tracker_comments (task_id, fingerprint, number, message_id)
VALUES (:task_id, :fingerprint, :number, :message_id);

-- name: tracker_comments_of
SELECT fingerprint, number, message_id FROM tracker_comments WHERE task_id = :task_id;
