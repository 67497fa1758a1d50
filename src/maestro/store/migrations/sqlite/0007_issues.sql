-- Issues that one project opens in another, who may open them, and where a checkout finds other projects.

ALTER TABLE projects ADD COLUMN inbound TEXT NOT NULL DEFAULT 'open';
ALTER TABLE projects ADD COLUMN replies_reopen INTEGER NOT NULL DEFAULT 1;

-- An issue is a task with a project that opened it; its conversation, and who began it, stand beside it.
ALTER TABLE tasks ADD COLUMN from_project_id TEXT REFERENCES projects (id);
CREATE INDEX tasks_issues ON tasks (project_id, number) WHERE from_project_id IS NOT NULL;
CREATE INDEX tasks_from_project ON tasks (from_project_id, id) WHERE from_project_id IS NOT NULL;
CREATE TABLE issues (
  task_id    TEXT PRIMARY KEY REFERENCES tasks (id),
  thread_id  TEXT NOT NULL UNIQUE,
  opener     TEXT NOT NULL
) WITHOUT ROWID;

-- What other projects are called in a checkout, as its files say or a look around it found.
CREATE TABLE project_links (
  workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
  name          TEXT NOT NULL,
  project_id    TEXT NOT NULL REFERENCES projects (id),
  source        TEXT NOT NULL,
  remote        TEXT NOT NULL,
  path          TEXT NOT NULL,
  PRIMARY KEY (workspace_id, name)
) WITHOUT ROWID;
CREATE INDEX project_links_to ON project_links (project_id);
