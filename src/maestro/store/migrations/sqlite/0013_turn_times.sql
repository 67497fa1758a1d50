-- Since when it has been whose turn it is, in microseconds: what hooks told before that and comes in later is over.
ALTER TABLE talks ADD COLUMN turn_at INTEGER NOT NULL DEFAULT 0;
