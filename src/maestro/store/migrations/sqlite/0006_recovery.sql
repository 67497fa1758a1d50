-- Sessions that are started again, and what is to be done about one that was lost.

-- How often a session has been started; reports of a runner of an earlier start are refused.
ALTER TABLE spawns ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;

-- What is done about a session that ended by accident: when, how often it was started again, what the person said.
CREATE TABLE recoveries (
  session_id  TEXT PRIMARY KEY REFERENCES sessions (id),
  step        TEXT NOT NULL,
  due_at      INTEGER,
  tries       INTEGER NOT NULL,
  resumed_at  INTEGER,
  adopter_id  TEXT,
  ask_id      TEXT
);
CREATE INDEX recoveries_due ON recoveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX recoveries_by_ask ON recoveries (ask_id) WHERE ask_id IS NOT NULL;
