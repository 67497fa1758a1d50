-- fragment: message
m.id, m.seq, m.thread_id, m.parent_id, m.type, m.priority, m.subject, m.sender_kind, m.sender AS sender_id,
m.sender_title AS sender_name, m.sender_address, m.human, sp.name AS sender_project, m.recipients AS "to", m.scope,
m.task_id, tp.name || '#' || t.number AS task, m.hops, m.created_at,
CASE WHEN m.attachments = 0 THEN '[]' ELSE {attachments_of_message_as_json} END AS attachments

-- fragment: whole_message
{message}, coalesce(m.body, '') AS body, m.blob IS NOT NULL AS truncated

-- fragment: cut_message
{message},
CASE WHEN length(m.body) > :body_chars THEN substr(m.body, 1, :body_chars) ELSE coalesce(m.body, '') END AS body,
(m.blob IS NOT NULL OR length(m.body) > :body_chars) AS truncated

-- fragment: attachment
a.id, a.message_id, a.file_name, a.bytes, a.sha256

-- fragment: search_text
m.seq, coalesce(m.project_id, '') || ' ' || coalesce(
         (SELECT group_concat(DISTINCT d.project_id) FROM deliveries d WHERE d.message_seq = m.seq), '') AS scope,
       m.subject, m.body, m.blob

-- fragment: message_source
messages m LEFT JOIN projects sp ON sp.id = m.project_id
           LEFT JOIN tasks t ON t.id = m.task_id LEFT JOIN projects tp ON tp.id = t.project_id

-- fragment: received
{cut_message}, d.mailbox, d.status, d.reason, c.holder AS claimed_by

-- fragment: passes_filter
d.type = coalesce(:type, d.type) AND d.priority <= :priority AND (:task_id IS NULL OR m.task_id = :task_id)
   AND (:sender_kind IS NULL OR m.sender_kind = :sender_kind)

-- fragment: is_wanted
(d.priority, d.message_seq) > (:after_priority, :after_seq) AND {passes_filter}

-- fragment: is_offered_to_reader
-- The claim of a thread hides its messages from other readers. The claim of an issue's thread counts only in the
-- project that received the issue, not in the project that opened the issue.
(c.holder IS NULL OR c.holder = :reader OR (t.from_project_id IS NOT NULL AND d.mailbox <> t.project_id))
   AND m.sender <> :reader

-- fragment: received_source
deliveries d JOIN messages m ON m.seq = d.message_seq LEFT JOIN projects sp ON sp.id = m.project_id
             LEFT JOIN tasks t ON t.id = m.task_id LEFT JOIN projects tp ON tp.id = t.project_id
             LEFT JOIN thread_claims c ON c.thread_id = m.thread_id

-- fragment: delivery
d.mailbox AS recipient, d.mailbox, d.status, d.via, d.by, d.reason, d.delivered_at, d.read_at, d.acknowledged_at,
d.expired_at

-- name: message_insert
-- Insert a message. The one writer assigns the sequence number.
INSERT INTO messages (seq, id, thread_id, parent_id, project_id, type, priority, subject, body, blob, bytes, task_id, sender,
                      sender_kind, sender_title, sender_address, human, recipients, scope, hops, attachments, created_at)
VALUES (:seq, :id, :thread_id, :parent_id, :project_id, :type, :priority, :subject, :body, :blob, :bytes, :task_id, :sender,
        :sender_kind, :sender_title, :sender_address, :human, :recipients, :scope, :hops, :attachments, :created_at);

-- name: messages_last
SELECT coalesce(max(seq), 0) FROM messages;

-- name: delivery_insert
-- Insert a delivery. A mailbox that has the message already keeps its delivery.
INSERT INTO deliveries (mailbox, message_seq, priority, type, project_id, reason)
VALUES (:mailbox, :message_seq, :priority, :type, :project_id, :reason) ON CONFLICT (mailbox, message_seq) DO NOTHING;

-- name: message_get
SELECT {whole_message} FROM {message_source} WHERE m.id = :id;

-- name: message_blob
SELECT blob FROM messages WHERE id = :id;

-- name: message_head
SELECT id, sender, project_id FROM messages WHERE seq = :seq;

-- name: messages_of_thread
-- Return the messages of a thread, oldest first.
SELECT {whole_message} FROM {message_source}
 WHERE m.thread_id = :thread_id AND m.seq > :after ORDER BY m.seq LIMIT :limit;

-- name: message_last_of_thread
SELECT {message}, '' AS body, 0 AS truncated FROM {message_source} WHERE m.thread_id = :thread_id ORDER BY m.seq DESC LIMIT 1;

-- name: messages_of_task
-- Return all mail of a task, newest first.
SELECT {whole_message} FROM {message_source}
 WHERE m.task_id = :task_id AND m.seq < :before ORDER BY m.seq DESC LIMIT :limit;

-- name: messages_of_sender
-- Return the messages of a sender, newest first.
SELECT {cut_message} FROM {message_source}
 WHERE m.sender = :sender AND m.seq < :before ORDER BY m.seq DESC LIMIT :limit;

-- name: messages_by_seq
SELECT {cut_message} FROM {message_source}
 WHERE m.seq IN (SELECT value FROM json_each(:seqs)) ORDER BY m.seq DESC;

-- name: thread_of_task
-- Return the thread of the first message about a task.
SELECT thread_id FROM messages WHERE task_id = :task_id ORDER BY seq LIMIT 1;

-- name: message_is_visible
-- Test whether a message was sent from a project or delivered in the project.
SELECT 1 FROM messages m WHERE m.id = :id AND (m.project_id = :project_id OR EXISTS
  (SELECT 1 FROM deliveries d WHERE d.message_seq = m.seq AND d.project_id = :project_id));

-- name: inbox_open
-- Return the messages of a mailbox that are still to be offered, most urgent first.
SELECT {received}, 0 AS is_partly_shown FROM {received_source}
 WHERE d.mailbox = :mailbox AND d.open = 1 AND {is_wanted} ORDER BY d.priority, d.message_seq LIMIT :limit;

-- name: inbox_partly_shown
-- Return the messages that are too long for a list and of which only the beginning was shown.
SELECT {received}, 1 AS is_partly_shown FROM {received_source}
 WHERE d.mailbox = :mailbox AND d.open = 2 AND {is_wanted} ORDER BY d.priority, d.message_seq LIMIT :limit;

-- name: inbox_open_shared
-- The same for a shared mailbox: without messages that the reader was shown or that another reader has claimed.
SELECT {received}, 0 AS is_partly_shown FROM {received_source}
 WHERE d.mailbox = :mailbox AND d.open = 1 AND {is_wanted} AND {is_offered_to_reader}
   AND NOT EXISTS (SELECT 1 FROM shared_reads r
                    WHERE r.session_id = :reader AND r.mailbox = d.mailbox AND r.message_seq = d.message_seq)
 ORDER BY d.priority, d.message_seq LIMIT :limit;

-- name: inbox_partly_shown_shared
SELECT {received}, 1 AS is_partly_shown FROM shared_reads r JOIN {received_source}
 WHERE r.session_id = :reader AND r.mailbox = :mailbox AND r.is_partly_shown = 1
   AND d.mailbox = r.mailbox AND d.message_seq = r.message_seq AND d.open = 1 AND {is_wanted} AND {is_offered_to_reader}
 ORDER BY d.priority, d.message_seq LIMIT :limit;

-- name: inbox_all
-- Return all messages of a mailbox, newest first.
SELECT {received}, d.open = 2 AS is_partly_shown FROM {received_source}
 WHERE d.mailbox = :mailbox AND d.message_seq < :before AND {passes_filter}
 ORDER BY d.message_seq DESC LIMIT :limit;

-- name: inbox_has
-- Test whether a message of any priority is to be offered. The condition on the priority selects the index of open
-- deliveries.
SELECT 1 FROM deliveries WHERE mailbox = :mailbox AND open = 1 AND priority >= 0 LIMIT 1;

-- name: inbox_count
-- Count the messages to be offered, up to a limit. The condition on the priority selects the index of open
-- deliveries: by the mailbox alone, all deliveries of the mailbox would be visited.
SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE mailbox = :mailbox AND open = 1 AND priority >= 0
                      UNION ALL SELECT 1 FROM deliveries WHERE mailbox = :mailbox AND open = 2 AND priority >= 0
                      LIMIT :limit) AS some;

-- name: inbox_count_shared
SELECT count(*) FROM (
  SELECT 1 FROM deliveries d JOIN messages m ON m.seq = d.message_seq LEFT JOIN tasks t ON t.id = m.task_id
    LEFT JOIN thread_claims c ON c.thread_id = m.thread_id
   WHERE d.mailbox = :mailbox AND d.open = 1 AND d.priority >= 0
     AND {is_offered_to_reader}
     AND NOT EXISTS (SELECT 1 FROM shared_reads r WHERE r.session_id = :reader AND r.mailbox = d.mailbox
                                                    AND r.message_seq = d.message_seq AND r.is_partly_shown = 0)
   LIMIT :limit) AS some;

-- name: deliveries_of_message
SELECT {delivery} FROM deliveries d WHERE d.message_seq = :message_seq ORDER BY d.mailbox LIMIT :limit;

-- name: delivery_get
SELECT {delivery} FROM deliveries d WHERE d.mailbox = :mailbox AND d.message_seq = :message_seq;

-- name: delivery_deliver
-- Mark a delivery as delivered. Only the first time counts.
UPDATE deliveries SET status = 'delivered', via = :via, by = :by, delivered_at = :at
 WHERE mailbox = :mailbox AND message_seq = :message_seq AND status = 'sent';

-- name: delivery_read
UPDATE deliveries SET status = 'read', via = :via, by = :by, delivered_at = coalesce(delivered_at, :at), read_at = :at,
                      open = :open
 WHERE mailbox = :mailbox AND message_seq = :message_seq AND status IN ('sent', 'delivered');

-- name: delivery_acknowledge
UPDATE deliveries SET status = 'acknowledged', via = :via, by = :by, acknowledged_at = :at, open = 0
 WHERE mailbox = :mailbox AND message_seq = :message_seq AND status IN ('sent', 'delivered', 'read');

-- name: delivery_expire
UPDATE deliveries SET status = 'expired', via = :via, reason = :reason, expired_at = :at, open = 0
 WHERE mailbox = :mailbox AND message_seq = :message_seq AND status IN ('sent', 'delivered');

-- name: delivery_close
-- Stop offering a delivery, in any state.
UPDATE deliveries SET open = 0 WHERE mailbox = :mailbox AND message_seq = :message_seq AND open <> 0;

-- name: delivery_mark_partly_shown
UPDATE deliveries SET open = 2 WHERE mailbox = :mailbox AND message_seq = :message_seq AND open = 1;

-- name: shared_read_insert
-- Record that a session was shown a message. A message that was shown completely stays so.
INSERT INTO shared_reads (session_id, mailbox, message_seq, at, is_partly_shown)
VALUES (:session_id, :mailbox, :message_seq, :at, :is_partly_shown)
ON CONFLICT (session_id, mailbox, message_seq) DO UPDATE
   SET is_partly_shown = min(is_partly_shown, excluded.is_partly_shown);

-- name: thread_claim
-- Claim a thread. Only the first claim of a thread succeeds.
INSERT INTO thread_claims (thread_id, holder, at) VALUES (:thread_id, :holder, :at) ON CONFLICT (thread_id) DO NOTHING;

-- name: thread_holder
SELECT holder FROM thread_claims WHERE thread_id = :thread_id;

-- name: thread_release
DELETE FROM thread_claims WHERE thread_id = :thread_id AND holder = :holder;

-- name: thread_unsee
-- Offer the messages of a thread again, also to sessions that were shown the messages before.
DELETE FROM shared_reads WHERE message_seq IN (SELECT seq FROM messages WHERE thread_id = :thread_id);

-- name: thread_mailboxes
-- Return the mailboxes from which messages of a thread are still offered.
SELECT DISTINCT d.mailbox FROM messages m JOIN deliveries d ON d.message_seq = m.seq
 WHERE m.thread_id = :thread_id AND d.open <> 0 LIMIT :limit;

-- name: thread_is_in_mailbox
-- Test whether a message of a thread was ever delivered to a mailbox.
SELECT 1 FROM messages m JOIN deliveries d ON d.message_seq = m.seq
 WHERE m.thread_id = :thread_id AND d.mailbox = :mailbox LIMIT 1;

-- name: threads_held
SELECT thread_id FROM thread_claims WHERE holder = :holder LIMIT :limit;

-- name: attachment_insert
INSERT INTO attachments (id, message_id, file_name, bytes, sha256, body, blob)
VALUES (:id, :message_id, :file_name, :bytes, :sha256, :body, :blob);

-- name: attachment_get
SELECT {attachment} FROM attachments a WHERE a.id = :id;

-- name: attachment_content
SELECT body, blob, bytes AS size, sha256 FROM attachments WHERE id = :id;

-- name: search_state
SELECT indexed_to, (SELECT coalesce(max(seq), 0) FROM messages) AS last_seq FROM search_state;

-- name: search_state_move
UPDATE search_state SET indexed_to = :indexed_to;

-- name: search_unindexed
-- Return the next messages that are not in the index, with the projects of sender and recipients.
SELECT {search_text} FROM messages m WHERE m.seq > :after ORDER BY m.seq LIMIT :limit;

-- name: search_known
-- Return the texts of messages as they were indexed, before the messages are deleted.
SELECT {search_text} FROM messages m WHERE m.seq IN (SELECT value FROM json_each(:seqs));

-- name: messages_old
-- Return messages from before a time. The newest message always stays.
SELECT m.seq, m.id FROM messages m
 WHERE m.seq < (SELECT max(seq) FROM messages) AND m.seq > :after AND m.created_at < :before
 ORDER BY m.seq LIMIT :limit;

-- name: message_is_open
SELECT 1 FROM deliveries WHERE message_seq = :message_seq AND open <> 0 LIMIT 1;

-- name: message_delete_deliveries
DELETE FROM deliveries WHERE message_seq = :message_seq;

-- name: message_delete_shared_reads
DELETE FROM shared_reads WHERE message_seq = :message_seq;

-- name: message_delete_claim
-- Delete the claim of a thread with the thread's last message.
DELETE FROM thread_claims
 WHERE thread_id = (SELECT thread_id FROM messages WHERE seq = :message_seq)
   AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.thread_id = thread_claims.thread_id AND m.seq <> :message_seq);

-- name: message_delete_attachments
DELETE FROM attachments WHERE message_id = :message_id;

-- name: message_delete
DELETE FROM messages WHERE seq = :message_seq;
