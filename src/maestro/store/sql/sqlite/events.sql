-- name: events_append
-- The lines of one commit, in one statement. Their numbers come from the one writer, in commit order.
INSERT INTO events (seq, at, project, kind, version, actor, subject, data)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
       json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
       json_extract(value, '$[6]'), json_extract(value, '$[7]')
  FROM json_each(:lines);
