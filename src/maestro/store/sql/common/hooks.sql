-- name: hook_answer_put
-- Record that a hook's answer with mail was sent.
INSERT INTO hook_answers (session_id, receipt, at) VALUES (:session_id, :receipt, :at)
ON CONFLICT (session_id, receipt) DO NOTHING;

-- name: hook_answers_of
-- Return the receipts of answers that the agent's model may not have seen.
SELECT receipt FROM hook_answers WHERE session_id = :session_id ORDER BY at, receipt LIMIT :limit;

-- name: hook_answer_drop
DELETE FROM hook_answers WHERE session_id = :session_id AND receipt = :receipt;

-- name: hook_answers_clear
DELETE FROM hook_answers WHERE session_id = :session_id;

-- name: hook_fired
INSERT INTO hook_firings (tool, event, fired_at) VALUES (:tool, :event, :at)
ON CONFLICT (tool, event) DO UPDATE SET fired_at = excluded.fired_at;

-- name: hook_failed
INSERT INTO hook_firings (tool, event, problem, problem_at) VALUES (:tool, :event, :problem, :at)
ON CONFLICT (tool, event) DO UPDATE SET problem = excluded.problem, problem_at = excluded.problem_at;

-- name: hook_firings_all
SELECT tool, event, fired_at, problem, problem_at FROM hook_firings ORDER BY tool, event LIMIT :limit;
