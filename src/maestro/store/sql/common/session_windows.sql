-- fragment: session_window
session_id, terminal, directory, last_prompt

-- name: session_window_put
-- Record where a session runs. The last prompt stays.
INSERT INTO session_windows (session_id, terminal, directory) VALUES (:session_id, :terminal, :directory)
ON CONFLICT (session_id) DO UPDATE SET terminal = excluded.terminal, directory = excluded.directory;

-- name: session_window_prompt
-- Record the directory and the last prompt of a session.
INSERT INTO session_windows (session_id, directory, last_prompt) VALUES (:session_id, :directory, :last_prompt)
ON CONFLICT (session_id) DO UPDATE SET directory = excluded.directory, last_prompt = excluded.last_prompt;

-- name: session_windows_of
-- Return the windows of some sessions.
SELECT {session_window} FROM session_windows WHERE session_id IN (SELECT value FROM json_each(:session_ids));
