-- fragment: conversation
c.session_id, c.allow, c.ask_policy, c.tool_conversation_id, c.turn, c.epoch, c.last_event_number, c.parked_until, c.reminded,
c.driver, c.state_reporter, c.record_file, c.turn_at

-- fragment: tool_ask
k.ask_id, k.session_id, k.epoch, k.asked_as

-- fragment: usage
u.session_id, nullif(u.task_id, '') AS task_id, u.turns, u.input_tokens, u.output_tokens, u.cached_tokens,
u.cost_micros

-- name: conversation_insert
-- Insert the conversation with the program of a session.
INSERT INTO conversations (session_id, allow, ask_policy, tool_conversation_id, turn, epoch, last_event_number,
                           parked_until, reminded, driver, state_reporter)
VALUES (:session_id, :allow, :ask_policy, NULL, :turn, 1, 0, NULL, 0, :driver, :state_reporter);

-- name: conversation_get
SELECT {conversation} FROM conversations c WHERE c.session_id = :session_id;

-- name: conversation_apply_event
-- Record the number of a runner's event, once. Events of an earlier start do not count.
UPDATE conversations SET epoch = :epoch, last_event_number = :last_event_number
 WHERE session_id = :session_id AND (epoch < :epoch OR (epoch = :epoch AND last_event_number < :last_event_number));

-- name: conversation_read_position
-- Record how far the program's record file of the conversation was read, where hooks report the conversation.
UPDATE conversations SET record_file = :record_file, last_event_number = :last_event_number
 WHERE session_id = :session_id;

-- name: conversation_turn
UPDATE conversations SET turn = :turn, turn_at = :at WHERE session_id = :session_id;

-- name: conversation_turn_at
UPDATE conversations SET turn_at = :at WHERE session_id = :session_id;

-- name: conversation_tool_id
UPDATE conversations SET tool_conversation_id = :tool_conversation_id WHERE session_id = :session_id;

-- name: conversation_park
-- Set the time until which the conversation is left alone; NULL to end the pause.
UPDATE conversations SET parked_until = :until WHERE session_id = :session_id;

-- name: conversation_reminded
UPDATE conversations SET reminded = :reminded WHERE session_id = :session_id;

-- name: conversations_idle
-- Return the idle conversations of live sessions.
SELECT {conversation} FROM conversations c JOIN sessions s ON s.id = c.session_id
 WHERE c.turn = 'idle' AND s.ended_at IS NULL AND c.session_id > :after
 ORDER BY c.session_id LIMIT :limit;

-- name: tool_ask_insert
INSERT INTO tool_asks (ask_id, session_id, epoch, asked_as) VALUES (:ask_id, :session_id, :epoch, :asked_as);

-- name: tool_ask_get
SELECT {tool_ask} FROM tool_asks k WHERE k.ask_id = :ask_id;

-- name: tool_ask_named
SELECT {tool_ask} FROM tool_asks k
 WHERE k.session_id = :session_id AND k.epoch = :epoch AND k.asked_as = :asked_as;

-- name: tool_asks_decided
-- Return the tool asks that are answered or withdrawn, and whose tool still waits for the decision.
SELECT {tool_ask} FROM tool_asks k JOIN asks a ON a.id = k.ask_id
 WHERE a.status <> 'open' ORDER BY substr(k.ask_id, 5) LIMIT :limit;

-- name: tool_ask_delete
DELETE FROM tool_asks WHERE ask_id = :ask_id;

-- name: push_get
SELECT session_id, id, receipt, attempts, pushed_at, given_up FROM pending_pushes WHERE session_id = :session_id;

-- name: push_put
INSERT INTO pending_pushes (session_id, id, receipt, attempts, pushed_at, given_up)
VALUES (:session_id, :id, :receipt, :attempts, :pushed_at, :given_up)
ON CONFLICT (session_id) DO UPDATE
   SET id = excluded.id, receipt = excluded.receipt, attempts = excluded.attempts, pushed_at = excluded.pushed_at,
       given_up = excluded.given_up;

-- name: push_delete
DELETE FROM pending_pushes WHERE session_id = :session_id;

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
SELECT {usage} FROM usage u WHERE u.session_id = :session_id ORDER BY u.task_id LIMIT :limit;

-- name: usage_of_task
SELECT {usage} FROM usage u WHERE u.task_id = :task_id ORDER BY u.session_id LIMIT :limit;
