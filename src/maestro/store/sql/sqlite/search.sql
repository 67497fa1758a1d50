-- name: search_add
INSERT INTO message_words (rowid, scope, subject, body) VALUES (:seq, :scope, :subject, :body);

-- name: search_remove
-- A contentless index forgets words only if it is told what they were.
INSERT INTO message_words (message_words, rowid, scope, subject, body) VALUES ('delete', :seq, :scope, :subject, :body);

-- name: search_find
-- The newest messages with these words. By recency: ranking a common word would visit every message that has it.
SELECT rowid FROM message_words WHERE message_words MATCH :query AND rowid < :before ORDER BY rowid DESC LIMIT :limit;
