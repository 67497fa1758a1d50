-- fragment: notification
n.id, n.kind, p.name AS project, s.name AS session, n.session_id, n.ask_id, a.kind AS ask_kind, n.content, n.created_at,
n.due_at, n.attempts, n.problem

-- fragment: notifications
notifications n LEFT JOIN projects p ON p.id = n.project_id LEFT JOIN sessions s ON s.id = n.session_id
                LEFT JOIN asks a ON a.id = n.ask_id

-- name: notification_insert
INSERT INTO notifications (id, kind, project_id, session_id, ask_id, content, created_at, due_at)
VALUES (:id, :kind, :project_id, :session_id, :ask_id, :content, :created_at, :due_at);

-- name: notifications_due
SELECT {notification} FROM {notifications} WHERE n.due_at <= :at ORDER BY n.due_at LIMIT :limit;

-- name: notification_next_due
SELECT min(due_at) FROM notifications WHERE due_at IS NOT NULL;

-- name: notification_of_ask
-- Return the notification that announced an ask.
SELECT {notification} FROM {notifications} WHERE n.ask_id = :ask_id AND n.kind = 'ask.opened';

-- name: notification_last_of_session
-- Return when the last notification about a session, not about its asks, is or was due.
SELECT max(coalesce(due_at, created_at)) FROM notifications WHERE session_id = :session_id AND ask_id IS NULL;

-- name: notification_set_state
UPDATE notifications SET due_at = :due_at, attempts = :attempts, problem = :problem WHERE id = :id;

-- name: notification_delete
DELETE FROM notifications WHERE id = :id;

-- name: notifications_newest
SELECT {notification} FROM {notifications} ORDER BY n.created_at DESC, n.id DESC LIMIT :limit;

-- name: notifications_failed
-- Return the newest notifications whose last attempt failed.
SELECT {notification} FROM {notifications}
 WHERE n.problem <> '' AND n.created_at > :since ORDER BY n.created_at DESC, n.id DESC LIMIT :limit;

-- name: notifications_delete_old
DELETE FROM notifications WHERE due_at IS NULL AND created_at < :before
   AND (ask_id IS NULL OR ask_id NOT IN (SELECT id FROM asks WHERE status = 'open'));
