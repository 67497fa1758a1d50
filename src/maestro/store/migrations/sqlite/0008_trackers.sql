-- Trackers beside Maestro: which project has one, and how far both are in step.

CREATE TABLE trackers (
  project_id  TEXT PRIMARY KEY REFERENCES projects (id),
  kind        TEXT NOT NULL,
  path        TEXT NOT NULL,
  source      TEXT NOT NULL,
  cursor      INTEGER NOT NULL,
  version     TEXT NOT NULL,
  looked_at   INTEGER,
  ok_at       INTEGER,
  due_at      INTEGER,
  failures    INTEGER NOT NULL,
  problem     TEXT NOT NULL
) WITHOUT ROWID;

-- An issue here and there. It stays when its task is deleted: else the tracker's would come in once more.
CREATE TABLE tracker_issues (
  task_id     TEXT PRIMARY KEY,
  project_id  TEXT NOT NULL REFERENCES projects (id),
  ref         TEXT,
  state       TEXT,
  who         TEXT,
  title       TEXT NOT NULL,
  stamp       TEXT NOT NULL,
  dirty       INTEGER NOT NULL,
  trying      INTEGER NOT NULL,
  telling     TEXT NOT NULL,
  said_seq    INTEGER NOT NULL,
  problem     TEXT NOT NULL,
  failures    INTEGER NOT NULL,
  retry_at    INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX tracker_issues_there ON tracker_issues (project_id, ref) WHERE ref IS NOT NULL;
CREATE INDEX tracker_issues_dirty ON tracker_issues (project_id, task_id) WHERE dirty <> 0;

-- Every comment that is both here and there; `number` tells equal ones apart.
CREATE TABLE tracker_comments (
  task_id      TEXT NOT NULL,
  fingerprint  TEXT NOT NULL,
  number       INTEGER NOT NULL,
  message_id   TEXT NOT NULL,
  PRIMARY KEY (task_id, fingerprint, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX tracker_comments_of_message ON tracker_comments (message_id);
