-- Mail too long for a list: its beginning has come out, the rest has not. `open = 2` in a box of one's own; in a box
-- that several look into, it is known for each of them.

CREATE INDEX deliveries_begun ON deliveries (box, priority, message_seq, type) WHERE open = 2;
ALTER TABLE shared_reads ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
CREATE INDEX shared_reads_begun ON shared_reads (session_id, box, message_seq) WHERE begun = 1;

-- When a status that rests on an observation runs out.
CREATE INDEX sessions_by_status_until ON sessions (status_until) WHERE status_until IS NOT NULL AND ended_at IS NULL;
