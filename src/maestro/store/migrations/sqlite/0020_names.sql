-- Stored names follow the glossary of ARCHITECTURE.md.
ALTER TABLE deliveries RENAME COLUMN box TO mailbox;
ALTER TABLE shared_reads RENAME COLUMN box TO mailbox;
ALTER TABLE shared_reads RENAME COLUMN begun TO is_partly_shown;
DROP INDEX deliveries_begun;
DROP INDEX shared_reads_begun;
CREATE INDEX deliveries_partly_shown ON deliveries (mailbox, priority, message_seq, type) WHERE open = 2;
CREATE INDEX shared_reads_partly_shown ON shared_reads (session_id, mailbox, message_seq) WHERE is_partly_shown = 1;

ALTER TABLE spawns RENAME COLUMN words TO arguments;
ALTER TABLE runs RENAME COLUMN words TO arguments;
ALTER TABLE recoveries RENAME COLUMN tries TO attempts;

ALTER TABLE wakes RENAME TO pending_pushes;
ALTER TABLE pending_pushes RENAME COLUMN tries TO attempts;
ALTER TABLE talks RENAME TO conversations;
ALTER TABLE conversations RENAME COLUMN rest TO ask_policy;
ALTER TABLE conversations RENAME COLUMN conversation TO tool_conversation_id;
ALTER TABLE conversations RENAME COLUMN heard TO last_event_number;
ALTER TABLE conversations RENAME COLUMN teller TO state_reporter;
ALTER TABLE conversations RENAME COLUMN record TO record_file;
DROP INDEX talks_idle;
DROP INDEX talks_parked;
CREATE INDEX conversations_idle ON conversations (turn) WHERE turn = 'idle';

ALTER TABLE trackers RENAME COLUMN looked_at TO read_at;
ALTER TABLE trackers RENAME COLUMN ok_at TO succeeded_at;
ALTER TABLE tracker_issues RENAME COLUMN who TO assignee;
ALTER TABLE tracker_issues RENAME COLUMN trying TO is_being_created;
ALTER TABLE tracker_issues RENAME COLUMN telling TO state_being_written;
ALTER TABLE tracker_issues RENAME COLUMN said_seq TO last_message_seq;
DROP INDEX tracker_issues_there;
CREATE UNIQUE INDEX tracker_issues_by_ref ON tracker_issues (project_id, ref) WHERE ref IS NOT NULL;

-- Asks of earlier versions have ids with the prefix `req_`; new asks have `ask_`. The order is the order of creation,
-- which the part after the prefix gives.
DROP INDEX asks_by_project;
CREATE INDEX asks_by_project ON asks (project_id, substr(id, 5));

-- Keys in stored JSON. A quote inside of a JSON string has a backslash before it: the replaced text is always a key.
UPDATE events SET data = replace(data, '"box":', '"mailbox":') WHERE kind LIKE 'mail.%' AND data LIKE '%"box":%';
UPDATE spawns SET manifest = CAST(replace(replace(CAST(manifest AS TEXT), '"words":', '"command":'),
                                          '"last_words":', '"last_output":') AS BLOB)
 WHERE instr(CAST(manifest AS TEXT), '"words":') > 0 OR instr(CAST(manifest AS TEXT), '"last_words":') > 0;
UPDATE idempotency SET response = CAST(replace(replace(replace(CAST(response AS TEXT), '"box":', '"mailbox":'),
                                                       '"words":', '"command":'),
                                               '"last_words":', '"last_output":') AS BLOB)
 WHERE instr(CAST(response AS TEXT), '"box":') > 0 OR instr(CAST(response AS TEXT), '"words":') > 0
    OR instr(CAST(response AS TEXT), '"last_words":') > 0;

-- Stored values: mail that was pushed to a program.
UPDATE deliveries SET via = 'push' WHERE via = 'wake';
UPDATE events SET data = replace(data, '"via":"wake"', '"via":"push"')
 WHERE kind LIKE 'mail.%' AND data LIKE '%"via":"wake"%';
