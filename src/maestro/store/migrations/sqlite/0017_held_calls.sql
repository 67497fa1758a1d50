-- The digest of the tool call that a hook asks leave for: two calls that read alike stay two asks.
ALTER TABLE asks ADD COLUMN call_digest TEXT;
-- The message that carries the answer to the session's mailbox.
ALTER TABLE asks ADD COLUMN answer_message_id TEXT;
CREATE INDEX asks_by_call ON asks (session_id, call_digest) WHERE call_digest IS NOT NULL;
-- Asks that a hook opened were known by their words until now.
UPDATE asks SET call_digest = 'unknown'
 WHERE status = 'open' AND kind = 'permission' AND title LIKE 'May it use %' AND text LIKE '% asks before it goes on.%';
