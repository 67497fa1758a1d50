-- Spawned sessions, their worktrees, what gates said, and runs.

-- How a session was started, and how its program ended.
CREATE TABLE spawns (
  session_id      TEXT PRIMARY KEY REFERENCES sessions (id),
  tool            TEXT NOT NULL,
  words           TEXT NOT NULL,
  model           TEXT,
  permission      TEXT NOT NULL,
  strategy        TEXT NOT NULL,
  template        TEXT NOT NULL,
  directory       TEXT NOT NULL,
  manifest        BLOB NOT NULL,
  run_id          TEXT,
  runner_pid      INTEGER,
  runner_started  TEXT,
  exit_code       INTEGER,
  exit_signal     TEXT,
  tail            TEXT,
  created_at      INTEGER NOT NULL,
  ended_at        INTEGER
);
CREATE INDEX spawns_live ON spawns (created_at) WHERE ended_at IS NULL;
CREATE INDEX spawns_of_run ON spawns (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE worktrees (
  session_id    TEXT PRIMARY KEY REFERENCES sessions (id),
  project_id    TEXT NOT NULL REFERENCES projects (id),
  repository    TEXT NOT NULL,
  path          TEXT NOT NULL,
  branch        TEXT NOT NULL,
  base_commit   TEXT NOT NULL,
  merges_into   TEXT,
  merged_into   TEXT,
  merged_at     INTEGER,
  removed_at    INTEGER,
  created_at    INTEGER NOT NULL
);
CREATE INDEX worktrees_of_project ON worktrees (project_id, session_id) WHERE removed_at IS NULL;

-- What a gate command said about a task: evidence, kept.
CREATE TABLE gate_results (
  id          TEXT PRIMARY KEY,
  task_id     TEXT NOT NULL,
  session_id  TEXT,
  command     TEXT NOT NULL,
  passed      INTEGER NOT NULL,
  exit_code   INTEGER,
  seconds     REAL NOT NULL,
  output      BLOB,
  blob        TEXT,
  created_at  INTEGER NOT NULL
);
CREATE INDEX gate_results_of_task ON gate_results (task_id, id);
CREATE INDEX gate_results_by_blob ON gate_results (blob) WHERE blob IS NOT NULL;

CREATE TABLE runs (
  id            TEXT PRIMARY KEY,
  project_id    TEXT NOT NULL REFERENCES projects (id),
  task_id       TEXT NOT NULL,
  strategy      TEXT NOT NULL,
  max_parallel  INTEGER NOT NULL,
  attempts_max  INTEGER NOT NULL,
  member        TEXT,
  tool          TEXT NOT NULL,
  words         TEXT NOT NULL,
  worktrees     INTEGER NOT NULL,
  directory     TEXT NOT NULL,
  branch        TEXT,
  status        TEXT NOT NULL,
  note          TEXT NOT NULL DEFAULT '',
  started_by    TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  ended_at      INTEGER
);
CREATE INDEX runs_by_project ON runs (project_id, id);
CREATE INDEX runs_live ON runs (id) WHERE status = 'running';

CREATE TABLE attempts (
  run_id      TEXT NOT NULL REFERENCES runs (id),
  task_id     TEXT NOT NULL,
  number      INTEGER NOT NULL,
  session_id  TEXT NOT NULL,
  outcome     TEXT,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  PRIMARY KEY (run_id, task_id, number)
) WITHOUT ROWID;
CREATE INDEX attempts_by_session ON attempts (session_id);
