-- What was put into agents' contexts by their hooks and is not known to be read yet; when each hook fired last.

CREATE TABLE hook_answers (
  session_id  TEXT NOT NULL REFERENCES sessions (id),
  receipt     TEXT NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (session_id, receipt)
) WITHOUT ROWID;

CREATE TABLE hook_firings (
  tool        TEXT NOT NULL,
  event       TEXT NOT NULL,
  fired_at    INTEGER,
  problem     TEXT NOT NULL DEFAULT '',
  problem_at  INTEGER,
  PRIMARY KEY (tool, event)
) WITHOUT ROWID;
