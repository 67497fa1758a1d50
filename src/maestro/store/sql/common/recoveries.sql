-- fragment: recovery
r.session_id, r.step, r.due_at, r.attempts, r.resumed_at, r.adopter_id, r.ask_id

-- name: recovery_put
-- Store the next recovery step of a session.
INSERT INTO recoveries (session_id, step, due_at, attempts, resumed_at, adopter_id, ask_id)
VALUES (:session_id, :step, :due_at, :attempts, :resumed_at, :adopter_id, :ask_id)
ON CONFLICT (session_id) DO UPDATE
   SET step = excluded.step, due_at = excluded.due_at, attempts = excluded.attempts, resumed_at = excluded.resumed_at,
       adopter_id = excluded.adopter_id, ask_id = excluded.ask_id;

-- name: recovery_get
SELECT {recovery} FROM recoveries r WHERE r.session_id = :session_id;

-- name: recovery_of_ask
-- Return the recovery that an ask is about.
SELECT {recovery} FROM recoveries r WHERE r.ask_id = :ask_id;

-- name: recoveries_due
SELECT {recovery} FROM recoveries r
 WHERE r.due_at IS NOT NULL AND r.due_at <= :at ORDER BY r.due_at, r.session_id LIMIT :limit;

-- name: recovery_next
SELECT min(due_at) FROM recoveries WHERE due_at IS NOT NULL;

-- name: recovery_clear
-- Record that no further step is due. The number of attempts stays known.
UPDATE recoveries SET due_at = NULL, ask_id = NULL WHERE session_id = :session_id;
