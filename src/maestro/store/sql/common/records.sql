-- Documents, the event log and idempotency keys.

-- fragment: document
d.id, d.task_id, d.title, d.file_name, d.bytes, d.sha256, d.by, d.created_at

-- fragment: event
e.seq, e.at, e.project, e.kind, e.version, e.actor, e.subject, e.data

-- name: document_insert
-- Insert a document of a task.
INSERT INTO documents (id, task_id, title, file_name, bytes, sha256, body, blob, by, created_at)
VALUES (:id, :task_id, :title, :file_name, :bytes, :sha256, :body, :blob, :by, :created_at);

-- name: document_get
SELECT {document} FROM documents d WHERE d.id = :id;

-- name: document_content
SELECT body, blob, bytes AS size, sha256 FROM documents WHERE id = :id;

-- name: documents_of_task
SELECT {document} FROM documents d WHERE d.task_id = :task_id ORDER BY d.id LIMIT :limit;

-- name: document_count
SELECT count(*) FROM documents WHERE task_id = :task_id;

-- name: bytes_since
-- Return the bytes that sessions have stored since a time, by project. Ids are ordered by time and indexed.
SELECT project_id, sum(bytes) AS bytes FROM (
  SELECT s.project_id, d.bytes FROM documents d JOIN sessions s ON s.id = d.by WHERE d.id >= :first_document
  UNION ALL
  SELECT m.project_id, m.bytes FROM messages m
   WHERE m.id >= :first_message AND m.blob IS NOT NULL AND m.sender_kind = 'session'
  UNION ALL
  SELECT m.project_id, a.bytes FROM attachments a JOIN messages m ON m.id = a.message_id
   WHERE a.id >= :first_attachment AND m.sender_kind = 'session'
) AS stored WHERE project_id IS NOT NULL GROUP BY project_id;

-- name: blobs_named
-- Return the name of every content file that a row refers to, without repetitions.
SELECT blob FROM documents WHERE blob IS NOT NULL
UNION SELECT blob FROM messages WHERE blob IS NOT NULL
UNION SELECT blob FROM gate_results WHERE blob IS NOT NULL
UNION SELECT blob FROM attachments WHERE blob IS NOT NULL ORDER BY 1;

-- name: blob_in_use
SELECT 1 FROM documents WHERE blob = :blob
UNION ALL SELECT 1 FROM messages WHERE blob = :blob
UNION ALL SELECT 1 FROM gate_results WHERE blob = :blob
UNION ALL SELECT 1 FROM attachments WHERE blob = :blob LIMIT 1;

-- name: event_append
-- Insert an event. The one writer assigns the sequence number, in commit order.
INSERT INTO events (seq, at, project, kind, version, actor, subject, data)
VALUES (:seq, :at, :project, :kind, :version, :actor, :subject, :data);

-- name: events_after
-- Return the events after a sequence number.
SELECT {event} FROM events e WHERE e.seq > :after ORDER BY e.seq LIMIT :limit;

-- name: events_after_in_project
SELECT {event} FROM events e WHERE e.seq > :after AND e.project = :project ORDER BY e.seq LIMIT :limit;

-- name: events_after_of_subject
SELECT {event} FROM events e WHERE e.seq > :after AND e.subject = :subject ORDER BY e.seq LIMIT :limit;

-- name: events_about
-- Return the events about several subjects, in the order of the log. The search goes by subject, because a few
-- subjects have few of the events.
SELECT {event} FROM json_each(:subjects) s CROSS JOIN events e
 WHERE e.subject = s.value AND e.seq > :after ORDER BY e.seq LIMIT :limit;

-- name: events_newest_of_subject
-- Return the last event of some kinds about a subject.
SELECT {event} FROM events e
 WHERE e.subject = :subject AND e.kind IN (SELECT value FROM json_each(:kinds)) ORDER BY e.seq DESC LIMIT 1;

-- name: events_last
SELECT coalesce(max(seq), 0) FROM events;

-- name: events_first
SELECT min(seq) FROM events;

-- name: events_prune
-- Delete a bounded number of the oldest events. The last event always stays, to keep the end of the log known.
DELETE FROM events WHERE seq < (SELECT max(seq) FROM events) AND seq IN
  (SELECT seq FROM (SELECT seq, at FROM events ORDER BY seq LIMIT :limit) AS oldest WHERE at < :before);

-- name: idempotency_get
SELECT operation, request, response FROM idempotency WHERE caller = :caller AND key = :key;

-- name: idempotency_insert
INSERT INTO idempotency (caller, key, operation, request, response, created_at)
VALUES (:caller, :key, :operation, :request, :response, :created_at);

-- name: idempotency_prune
DELETE FROM idempotency WHERE (caller, key) IN
  (SELECT caller, key FROM idempotency WHERE created_at < :before ORDER BY created_at LIMIT :limit);
