-- Agents that Maestro speaks with over a protocol: where each conversation stands, what it asks, what wakes it, what
-- it has taken.

-- What the sessions of a run may do without anybody being asked, and what becomes of the rest they ask for.
ALTER TABLE runs ADD COLUMN allow TEXT NOT NULL DEFAULT '[]';
ALTER TABLE runs ADD COLUMN asks TEXT NOT NULL DEFAULT 'ask';

CREATE TABLE talks (
  session_id    TEXT PRIMARY KEY REFERENCES spawns (session_id),
  allow         TEXT NOT NULL,
  rest          TEXT NOT NULL,
  conversation  TEXT,
  turn          TEXT NOT NULL,
  epoch         INTEGER NOT NULL,
  heard         INTEGER NOT NULL,
  parked_until  INTEGER,
  reminded      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX talks_idle ON talks (turn) WHERE turn = 'idle';
CREATE INDEX talks_parked ON talks (parked_until) WHERE parked_until IS NOT NULL;

-- What a tool waits for, while it does: the request to the person, and what the tool itself calls it.
CREATE TABLE tool_asks (
  ask_id      TEXT PRIMARY KEY REFERENCES asks (id),
  session_id  TEXT NOT NULL REFERENCES sessions (id),
  epoch       INTEGER NOT NULL,
  asked_as    TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX tool_asks_by_tool ON tool_asks (session_id, epoch, asked_as);

-- Mail that was pushed to an idle agent, until its model has it. One at a time.
CREATE TABLE wakes (
  session_id  TEXT PRIMARY KEY REFERENCES sessions (id),
  id          TEXT NOT NULL,
  receipt     TEXT NOT NULL,
  tries       INTEGER NOT NULL,
  pushed_at   INTEGER NOT NULL,
  given_up    INTEGER NOT NULL
) WITHOUT ROWID;

-- What sessions have taken, by the task they held meanwhile ('' for none).
CREATE TABLE usage (
  session_id     TEXT NOT NULL REFERENCES sessions (id),
  task_id        TEXT NOT NULL,
  turns          INTEGER NOT NULL,
  input_tokens   INTEGER NOT NULL,
  output_tokens  INTEGER NOT NULL,
  cached_tokens  INTEGER NOT NULL,
  cost_micros    INTEGER,
  PRIMARY KEY (session_id, task_id)
) WITHOUT ROWID;
CREATE INDEX usage_of_task ON usage (task_id);
