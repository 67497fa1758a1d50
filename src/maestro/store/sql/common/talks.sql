-- fragment: talk
t.session_id, t.allow, t.rest, t.conversation, t.turn, t.epoch, t.heard, t.parked_until, t.reminded, t.driver, t.teller,
t.record, t.turn_at

-- name: talk_insert
-- Insert the conversation with the program of a session.
INSERT INTO talks (session_id, allow, rest, conversation, turn, epoch, heard, parked_until, reminded, driver, teller)
VALUES (:session_id, :allow, :rest, NULL, :turn, 1, 0, NULL, 0, :driver, :teller);

-- name: talk_get
SELECT {talk} FROM talks t WHERE t.session_id = :session_id;

-- name: talk_hear
-- Record the number of a runner's event, once. Events of an earlier start do not count.
UPDATE talks SET epoch = :epoch, heard = :heard
 WHERE session_id = :session_id AND (epoch < :epoch OR (epoch = :epoch AND heard < :heard));

-- name: talk_heard
-- Record how far the program's transcript of the conversation was read, where hooks report the conversation.
UPDATE talks SET record = :record, heard = :heard WHERE session_id = :session_id;

-- name: talk_turn
UPDATE talks SET turn = :turn, turn_at = :at WHERE session_id = :session_id;

-- name: talk_turn_at
UPDATE talks SET turn_at = :at WHERE session_id = :session_id;

-- name: talk_began
UPDATE talks SET conversation = :conversation WHERE session_id = :session_id;

-- name: talk_park
-- Set the time until which the conversation is left alone; NULL to end the pause.
UPDATE talks SET parked_until = :until WHERE session_id = :session_id;

-- name: talk_reminded
UPDATE talks SET reminded = :reminded WHERE session_id = :session_id;

-- name: talks_idle
-- Return the idle conversations of live sessions.
SELECT {talk} FROM talks t JOIN sessions s ON s.id = t.session_id
 WHERE t.turn = 'idle' AND s.ended_at IS NULL AND t.session_id > :after
 ORDER BY t.session_id LIMIT :limit;

-- name: talk_next_unparked
SELECT min(parked_until) FROM talks WHERE parked_until IS NOT NULL;

-- name: tool_ask_insert
INSERT INTO tool_asks (ask_id, session_id, epoch, asked_as) VALUES (:ask_id, :session_id, :epoch, :asked_as);

-- name: tool_ask_get
SELECT ask_id, session_id, epoch, asked_as FROM tool_asks WHERE ask_id = :ask_id;

-- name: tool_ask_named
SELECT ask_id, session_id, epoch, asked_as FROM tool_asks
 WHERE session_id = :session_id AND epoch = :epoch AND asked_as = :asked_as;

-- name: tool_asks_decided
-- Return the tool asks that are answered or withdrawn, and whose tool still waits for the decision.
SELECT k.ask_id, k.session_id, k.epoch, k.asked_as
  FROM tool_asks k JOIN asks a ON a.id = k.ask_id
 WHERE a.status <> 'open' ORDER BY k.ask_id LIMIT :limit;

-- name: tool_ask_delete
DELETE FROM tool_asks WHERE ask_id = :ask_id;

-- name: wake_get
SELECT session_id, id, receipt, tries, pushed_at, given_up FROM wakes WHERE session_id = :session_id;

-- name: wake_put
INSERT INTO wakes (session_id, id, receipt, tries, pushed_at, given_up)
VALUES (:session_id, :id, :receipt, :tries, :pushed_at, :given_up)
ON CONFLICT (session_id) DO UPDATE
   SET id = excluded.id, receipt = excluded.receipt, tries = excluded.tries, pushed_at = excluded.pushed_at,
       given_up = excluded.given_up;

-- name: wake_delete
DELETE FROM wakes WHERE session_id = :session_id;

-- name: usage_add
-- Add usage: more turns, or more tokens of the last turn.
INSERT INTO usage (session_id, task_id, turns, input_tokens, output_tokens, cached_tokens, cost_micros)
VALUES (:session_id, :task_id, :turns, :input_tokens, :output_tokens, :cached_tokens, :cost_micros)
ON CONFLICT (session_id, task_id) DO UPDATE
   SET turns = turns + excluded.turns, input_tokens = input_tokens + excluded.input_tokens,
       output_tokens = output_tokens + excluded.output_tokens, cached_tokens = cached_tokens + excluded.cached_tokens,
       cost_micros = CASE WHEN excluded.cost_micros IS NULL THEN cost_micros
                          ELSE coalesce(cost_micros, 0) + excluded.cost_micros END;

-- name: usage_of_session
SELECT session_id, task_id, turns, input_tokens, output_tokens, cached_tokens, cost_micros
  FROM usage WHERE session_id = :session_id ORDER BY task_id LIMIT :limit;

-- name: usage_of_task
SELECT session_id, task_id, turns, input_tokens, output_tokens, cached_tokens, cost_micros
  FROM usage WHERE task_id = :task_id ORDER BY session_id LIMIT :limit;
