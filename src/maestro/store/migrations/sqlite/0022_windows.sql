-- Where a person finds a session, and the beginning of the last prompt that the person gave it.
CREATE TABLE session_windows (
  session_id  TEXT PRIMARY KEY REFERENCES sessions (id),
  terminal    TEXT NOT NULL DEFAULT '',
  directory   TEXT NOT NULL DEFAULT '',
  last_prompt TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
-- An ask that the person answers in the session's own window, and the file in which the program records the conversation:
-- a change of the file after record_since shows that the person has answered.
ALTER TABLE asks ADD COLUMN in_own_window INTEGER NOT NULL DEFAULT 0;
ALTER TABLE asks ADD COLUMN record_file TEXT NOT NULL DEFAULT '';
ALTER TABLE asks ADD COLUMN record_since INTEGER NOT NULL DEFAULT 0;
CREATE INDEX asks_in_window ON asks (session_id) WHERE status = 'open' AND in_own_window = 1;
-- Notifications for the person. A row without due_at is finished: sent, or given up with a problem.
CREATE TABLE notifications (
  id         TEXT PRIMARY KEY,
  kind       TEXT NOT NULL,
  project_id TEXT REFERENCES projects (id),
  session_id TEXT REFERENCES sessions (id),
  ask_id     TEXT REFERENCES asks (id),
  content    TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  due_at     INTEGER,
  attempts   INTEGER NOT NULL DEFAULT 0,
  problem    TEXT NOT NULL DEFAULT ''
);
CREATE INDEX notifications_due ON notifications (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notifications_by_ask ON notifications (ask_id) WHERE ask_id IS NOT NULL;
CREATE INDEX notifications_by_session ON notifications (session_id, created_at) WHERE ask_id IS NULL;
CREATE INDEX notifications_by_time ON notifications (created_at);
-- The person was notified of these open asks, or is to be notified.
INSERT INTO notifications (id, kind, project_id, session_id, ask_id, content, created_at, due_at, attempts)
SELECT 'ntf_' || substr(id, 5), 'ask.opened', project_id, session_id, id, title, created_at,
       CASE WHEN notified_at IS NULL THEN created_at END, notified_at IS NOT NULL
  FROM asks WHERE status = 'open';
DROP INDEX asks_unnotified;
ALTER TABLE asks DROP COLUMN notified_at;
