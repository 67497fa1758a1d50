-- name: search_add
INSERT INTO message_words (rowid, scope, subject, body) VALUES (:seq, :scope, :subject, :body);

-- name: search_remove
-- Remove a message from the index. A contentless index needs the indexed texts to remove an entry.
INSERT INTO message_words (message_words, rowid, scope, subject, body) VALUES ('delete', :seq, :scope, :subject, :body);

-- name: search_find
-- Return the newest messages that match. Order by recency: ranking a common word would visit every message with the
-- word.
SELECT rowid FROM message_words WHERE message_words MATCH :query AND rowid < :before ORDER BY rowid DESC LIMIT :limit;
