-- Projects, workspaces, tasks, documents, sessions, the event log and idempotency keys.
-- Times are whole microseconds since 1970, UTC. Lists and objects are JSON text.

CREATE TABLE projects (
  id           TEXT PRIMARY KEY,
  key          TEXT NOT NULL,
  name         TEXT NOT NULL UNIQUE,
  stages       TEXT NOT NULL,
  next_number  INTEGER NOT NULL DEFAULT 1,
  created_at   INTEGER NOT NULL
);

-- Every key a project has ever been known by: a path that later gained a remote stays the same project.
CREATE TABLE project_keys (
  key         TEXT PRIMARY KEY,
  project_id  TEXT NOT NULL REFERENCES projects (id)
) WITHOUT ROWID;

CREATE TABLE workspaces (
  id          TEXT PRIMARY KEY,
  project_id  TEXT NOT NULL REFERENCES projects (id),
  name        TEXT NOT NULL,
  path        TEXT NOT NULL UNIQUE,
  created_at  INTEGER NOT NULL,
  UNIQUE (project_id, name)
);

CREATE TABLE tasks (
  id             TEXT PRIMARY KEY,
  project_id     TEXT NOT NULL REFERENCES projects (id),
  number         INTEGER NOT NULL,
  title          TEXT NOT NULL,
  description    TEXT NOT NULL,
  status         TEXT NOT NULL CHECK (status IN
                   ('todo', 'in_progress', 'in_review', 'completed', 'failed', 'blocked', 'cancelled')),
  priority       INTEGER NOT NULL,
  stage          TEXT,
  parent_id      TEXT REFERENCES tasks (id),
  found_in       TEXT REFERENCES tasks (id),
  member         TEXT,
  accept         TEXT NOT NULL,
  gates          TEXT NOT NULL,
  archived       INTEGER NOT NULL DEFAULT 0,
  reason         TEXT NOT NULL DEFAULT '',
  holder         TEXT,
  fence          INTEGER NOT NULL DEFAULT 0,
  lease_seconds  INTEGER,
  lease_until    INTEGER,
  open_blockers  INTEGER NOT NULL DEFAULT 0 CHECK (open_blockers >= 0),
  stage_held     INTEGER NOT NULL DEFAULT 0,
  rank           INTEGER NOT NULL,
  created_by     TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  started_at     INTEGER,
  finished_at    INTEGER,
  UNIQUE (project_id, number)
);
-- Without todo: most tasks begin there, and those are found well enough by number.
CREATE INDEX tasks_by_status ON tasks (project_id, status, number) WHERE status <> 'todo';
CREATE INDEX tasks_by_parent ON tasks (parent_id, number) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_found_in ON tasks (found_in) WHERE found_in IS NOT NULL;
CREATE INDEX tasks_by_stage ON tasks (project_id, parent_id, stage, status) WHERE stage IS NOT NULL;
CREATE INDEX tasks_by_stage_held ON tasks (project_id, parent_id, stage, stage_held) WHERE stage IS NOT NULL;
CREATE INDEX tasks_ready_children ON tasks (parent_id, priority, number)
  WHERE parent_id IS NOT NULL AND status = 'todo' AND open_blockers = 0 AND stage_held = 0 AND archived = 0;
CREATE INDEX tasks_ready ON tasks (project_id, priority, number)
  WHERE status = 'todo' AND open_blockers = 0 AND stage_held = 0 AND archived = 0;
CREATE INDEX tasks_by_lease ON tasks (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX tasks_by_holder ON tasks (holder, number) WHERE holder IS NOT NULL;
CREATE INDEX tasks_by_rank ON tasks (rank);

-- A number is never given twice, even when its task is deleted.
CREATE TRIGGER task_takes_number AFTER INSERT ON tasks
BEGIN
  UPDATE projects SET next_number = NEW.number + 1 WHERE id = NEW.project_id;
END;

CREATE TABLE task_dependencies (
  task_id        TEXT NOT NULL REFERENCES tasks (id),
  depends_on_id  TEXT NOT NULL REFERENCES tasks (id),
  PRIMARY KEY (task_id, depends_on_id)
) WITHOUT ROWID;
CREATE INDEX task_dependants ON task_dependencies (depends_on_id, task_id);

CREATE TABLE task_reports (
  id          TEXT PRIMARY KEY,
  task_id     TEXT NOT NULL REFERENCES tasks (id),
  kind        TEXT NOT NULL,
  text        TEXT NOT NULL,
  by          TEXT NOT NULL,
  created_at  INTEGER NOT NULL
);
CREATE INDEX task_reports_by_task ON task_reports (task_id, id);

-- A body over the inline limit is a content-addressed file; `blob` then names it and `body` is empty.
CREATE TABLE documents (
  id          TEXT PRIMARY KEY,
  task_id     TEXT NOT NULL REFERENCES tasks (id),
  title       TEXT NOT NULL,
  file_name   TEXT NOT NULL,
  bytes       INTEGER NOT NULL,
  sha256      TEXT NOT NULL,
  body        BLOB,
  blob        TEXT,
  by          TEXT NOT NULL,
  created_at  INTEGER NOT NULL
);
CREATE INDEX documents_by_task ON documents (task_id, id);
CREATE INDEX documents_by_blob ON documents (blob) WHERE blob IS NOT NULL;

CREATE TABLE sessions (
  id            TEXT PRIMARY KEY,
  project_id    TEXT NOT NULL REFERENCES projects (id),
  workspace_id  TEXT REFERENCES workspaces (id),
  name          TEXT NOT NULL,
  mode          TEXT NOT NULL,
  status        TEXT NOT NULL,
  parent_id     TEXT REFERENCES sessions (id),
  human         TEXT NOT NULL,
  pid           INTEGER,
  pid_started   TEXT,
  token_hash    TEXT NOT NULL UNIQUE,
  lease_until   INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  ended_at      INTEGER
);
CREATE UNIQUE INDEX sessions_live_name ON sessions (project_id, name) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX sessions_live_process ON sessions (pid, pid_started) WHERE ended_at IS NULL AND pid IS NOT NULL;
CREATE INDEX sessions_with_process ON sessions (created_at, id, pid, pid_started) WHERE pid IS NOT NULL;
CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL;

-- AUTOINCREMENT: a number is never given twice, even after the oldest lines were let go.
CREATE TABLE events (
  seq      INTEGER PRIMARY KEY AUTOINCREMENT,
  at       INTEGER NOT NULL,
  project  TEXT,
  kind     TEXT NOT NULL,
  version  INTEGER NOT NULL,
  actor    TEXT NOT NULL,
  subject  TEXT NOT NULL,
  data     TEXT NOT NULL
);
CREATE INDEX events_by_project ON events (project, seq);
CREATE INDEX events_by_subject ON events (subject, seq);

CREATE TABLE idempotency (
  caller      TEXT NOT NULL,
  key         TEXT NOT NULL,
  operation   TEXT NOT NULL,
  request     TEXT NOT NULL,
  response    BLOB NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (caller, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);
