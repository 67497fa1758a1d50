-- fragment: ask
a.id, a.project_id, a.session_id, s.name, a.kind, a.title, a.text, a.choices, a.task_id, a.message_id, a.status,
a.answer, a.answered_by, a.created_at, a.answered_at

-- fragment: asks
asks a LEFT JOIN sessions s ON s.id = a.session_id

-- name: ask_insert
INSERT INTO asks (id, project_id, session_id, kind, title, text, choices, task_id, message_id, status, created_at)
VALUES (:id, :project_id, :session_id, :kind, :title, :text, :choices, :task_id, :message_id, :status, :created_at);

-- name: ask_get
SELECT {ask} FROM {asks} WHERE a.id = :id;

-- name: ask_of_message
SELECT {ask} FROM {asks} WHERE a.message_id = :message_id AND a.status = 'open' LIMIT 1;

-- name: asks_open
-- What waits for the person, oldest first.
SELECT {ask} FROM {asks} WHERE a.status = 'open' AND a.id > :after ORDER BY a.id LIMIT :limit;

-- name: asks_page
SELECT {ask} FROM {asks} WHERE a.project_id = :project_id AND a.id > :after ORDER BY a.id LIMIT :limit;

-- name: asks_page_open
SELECT {ask} FROM {asks}
 WHERE a.project_id = :project_id AND a.status = 'open' AND a.id > :after ORDER BY a.id LIMIT :limit;

-- name: asks_of_session
SELECT {ask} FROM {asks} WHERE a.session_id = :session_id AND a.status = 'open' ORDER BY a.id LIMIT :limit;

-- name: asks_answered_at
-- What a session was answered in one moment. Few ask for it: it has no index of its own.
SELECT {ask} FROM {asks}
 WHERE a.project_id = :project_id AND a.session_id = :session_id AND a.status = 'answered' AND a.answered_at = :at
 ORDER BY a.id DESC LIMIT :limit;

-- name: ask_close
-- Answered or withdrawn, once. Whoever was told that it is open is to be told that it no longer is.
UPDATE asks SET status = :status, answer = :answer, answered_by = :by, answered_at = :at,
                notified_at = CASE WHEN notified_at IS NULL THEN :at END
 WHERE id = :id AND status = 'open';

-- name: asks_unnotified
SELECT {ask} FROM {asks} WHERE a.notified_at IS NULL ORDER BY a.created_at LIMIT :limit;

-- name: ask_notified
UPDATE asks SET notified_at = :at WHERE id = :id;
