-- fragment: ask
a.id, a.project_id, a.session_id, s.name AS session_name, a.kind, a.title, a.text, a.choices, a.task_id, a.message_id, a.status,
a.answer, a.answered_by, a.created_at, a.answered_at, a.in_own_window, w.terminal, w.directory

-- fragment: asks
asks a LEFT JOIN sessions s ON s.id = a.session_id LEFT JOIN session_windows w ON w.session_id = a.session_id

-- name: ask_insert
INSERT INTO asks (id, project_id, session_id, kind, title, text, choices, choice_codes, task_id, message_id, status,
                  created_at)
VALUES (:id, :project_id, :session_id, :kind, :title, :text, :choices, :choice_codes, :task_id, :message_id, :status,
        :created_at);

-- name: ask_get
SELECT {ask} FROM {asks} WHERE a.id = :id;

-- name: ask_of_message
SELECT {ask} FROM {asks} WHERE a.message_id = :message_id AND a.status = 'open' LIMIT 1;

-- name: asks_open
-- Return the open asks of all projects, oldest first.
SELECT {ask} FROM {asks} WHERE a.status = 'open' AND substr(a.id, 5) > substr(:after, 5) ORDER BY substr(a.id, 5) LIMIT :limit;

-- name: asks_page
SELECT {ask} FROM {asks} WHERE a.project_id = :project_id AND substr(a.id, 5) > substr(:after, 5) ORDER BY substr(a.id, 5) LIMIT :limit;

-- name: asks_page_open
SELECT {ask} FROM {asks}
 WHERE a.project_id = :project_id AND a.status = 'open' AND substr(a.id, 5) > substr(:after, 5) ORDER BY substr(a.id, 5) LIMIT :limit;

-- name: asks_of_session
SELECT {ask} FROM {asks} WHERE a.session_id = :session_id AND a.status = 'open' ORDER BY substr(a.id, 5) LIMIT :limit;

-- name: asks_count_of_session
SELECT count(*) FROM asks WHERE session_id = :session_id AND status = 'open';

-- name: asks_count_below
-- Count the open asks of all sessions with the same parent.
SELECT count(*) FROM asks a JOIN sessions s ON s.id = a.session_id
 WHERE a.status = 'open' AND s.parent_id = :parent_id;

-- name: ask_set_call
-- Set the tool call for which a hook asks permission.
UPDATE asks SET call_digest = :digest WHERE id = :id;

-- name: asks_of_call
-- Return the asks of a session about a tool call, newest first.
SELECT {ask} FROM {asks}
 WHERE a.session_id = :session_id AND a.call_digest = :digest AND a.status IN ('open', 'answered')
 ORDER BY substr(a.id, 5) DESC LIMIT :limit;

-- name: asks_of_calls_open
-- Return the open asks of a session that its hooks opened.
SELECT {ask} FROM {asks}
 WHERE a.session_id = :session_id AND a.status = 'open' AND a.call_digest IS NOT NULL ORDER BY substr(a.id, 5) LIMIT :limit;

-- name: ask_leave_to_window
-- Let the person answer an open ask only in the session's own window.
UPDATE asks SET in_own_window = 1, record_since = :record_since WHERE id = :id AND status = 'open';

-- name: asks_of_calls_leave_to_window
-- Let the person answer the calls of hand-started sessions only in their windows: no hook waits for the answers.
UPDATE asks SET in_own_window = 1
 WHERE status = 'open' AND in_own_window = 0 AND call_digest IS NOT NULL
   AND session_id NOT IN (SELECT session_id FROM spawns);

-- name: ask_set_record
-- Set the record file, and the time after which a change of the file shows that the person has answered.
UPDATE asks SET record_file = :record_file, record_since = :record_since WHERE id = :id;

-- name: asks_in_window
-- Return the open asks of a session that the person answers in the session's own window.
SELECT {ask} FROM {asks}
 WHERE a.session_id = :session_id AND a.status = 'open' AND a.in_own_window = 1 ORDER BY substr(a.id, 5) LIMIT :limit;

-- name: asks_with_record
-- Return the asks in windows whose answers show in a record file.
SELECT a.id AS ask_id, a.session_id, s.tool, a.record_file, a.record_since FROM asks a JOIN sessions s ON s.id = a.session_id
 WHERE a.status = 'open' AND a.in_own_window = 1 AND a.record_file <> '' ORDER BY a.session_id LIMIT :limit;

-- name: ask_set_answer_message
UPDATE asks SET answer_message_id = :message_id WHERE id = :id;

-- name: ask_answer_message
SELECT answer_message_id FROM asks WHERE id = :id;

-- name: ask_choice_codes
SELECT choice_codes FROM asks WHERE id = :id;

-- name: ask_answer_code
SELECT answer_code FROM asks WHERE id = :id;

-- name: ask_close
-- Close an open ask as answered or withdrawn.
UPDATE asks SET status = :status, answer = :answer, answer_code = :answer_code, answered_by = :by, answered_at = :at
 WHERE id = :id AND status = 'open';
