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

-- Mail, members and teams, what agents ask of people, and what is known of a session's state.

CREATE TABLE members (
  id           TEXT PRIMARY KEY,
  project_id   TEXT NOT NULL REFERENCES projects (id),
  name         TEXT NOT NULL,
  role         TEXT NOT NULL,
  identity     TEXT NOT NULL,
  avatar       TEXT NOT NULL,
  skills       TEXT NOT NULL,
  model        TEXT,
  tool         TEXT,
  permission   TEXT,
  allow        TEXT NOT NULL,
  deny         TEXT NOT NULL,
  archived_at  INTEGER,
  created_by   TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
);
CREATE UNIQUE INDEX members_by_name ON members (project_id, name) WHERE archived_at IS NULL;

CREATE TABLE teams (
  id          TEXT PRIMARY KEY,
  project_id  TEXT NOT NULL REFERENCES projects (id),
  name        TEXT NOT NULL,
  leader_id   TEXT REFERENCES members (id),
  created_by  TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  UNIQUE (project_id, name)
);
CREATE TABLE team_members (
  team_id    TEXT NOT NULL REFERENCES teams (id),
  member_id  TEXT NOT NULL REFERENCES members (id),
  PRIMARY KEY (team_id, member_id)
) WITHOUT ROWID;
CREATE INDEX team_members_by_member ON team_members (member_id, team_id);

ALTER TABLE sessions ADD COLUMN member_id TEXT REFERENCES members (id);
ALTER TABLE sessions ADD COLUMN tool TEXT;
ALTER TABLE sessions ADD COLUMN task_ids TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN status_source TEXT NOT NULL DEFAULT 'report';
ALTER TABLE sessions ADD COLUMN status_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN status_until INTEGER;
ALTER TABLE sessions ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN successor_id TEXT REFERENCES sessions (id);
-- Set once what lay unread in an ended session's box has gone on to someone else.
ALTER TABLE sessions ADD COLUMN mail_settled INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET status_at = updated_at, seen_at = updated_at, mail_settled = ended_at IS NOT NULL;
CREATE INDEX sessions_by_lease ON sessions (lease_until) WHERE ended_at IS NULL;
CREATE INDEX sessions_unsettled ON sessions (ended_at) WHERE ended_at IS NOT NULL AND mail_settled = 0;
CREATE INDEX sessions_by_project ON sessions (project_id, id);
CREATE INDEX sessions_live ON sessions (project_id, id) WHERE ended_at IS NULL;
CREATE INDEX sessions_of_member ON sessions (member_id) WHERE member_id IS NOT NULL AND ended_at IS NULL;

-- The last thing each source said of a session. Its status is what `domain.sessions.judge` makes of them.
CREATE TABLE session_signals (
  session_id  TEXT NOT NULL REFERENCES sessions (id),
  source      TEXT NOT NULL,
  status      TEXT NOT NULL,
  at          INTEGER NOT NULL,
  until       INTEGER,
  detail      TEXT NOT NULL,
  PRIMARY KEY (session_id, source)
) WITHOUT ROWID;

CREATE TABLE messages (
  seq             INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE,
  thread_id       TEXT NOT NULL,
  parent_id       TEXT,
  project_id      TEXT REFERENCES projects (id),
  type            TEXT NOT NULL,
  priority        INTEGER NOT NULL,
  subject         TEXT NOT NULL,
  body            TEXT,
  blob            TEXT,
  bytes           INTEGER NOT NULL,
  task_id         TEXT,
  sender          TEXT NOT NULL,
  sender_kind     TEXT NOT NULL,
  sender_title    TEXT NOT NULL,
  sender_address  TEXT,
  human           TEXT NOT NULL,
  recipients      TEXT NOT NULL,
  scope           TEXT,
  hops            INTEGER NOT NULL,
  attachments     INTEGER NOT NULL,
  created_at      INTEGER NOT NULL
);
CREATE INDEX messages_by_thread ON messages (thread_id, seq);
CREATE INDEX messages_by_sender ON messages (sender, seq);
CREATE INDEX messages_by_task ON messages (task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX messages_by_blob ON messages (blob) WHERE blob IS NOT NULL;

-- One row per recipient. A box is a session, a member, a workspace, a project or `human`.
-- `open` while the message is still to be offered there.
CREATE TABLE deliveries (
  box              TEXT NOT NULL,
  message_seq      INTEGER NOT NULL REFERENCES messages (seq),
  priority         INTEGER NOT NULL,
  type             TEXT NOT NULL,
  project_id       TEXT,
  status           TEXT NOT NULL DEFAULT 'sent',
  open             INTEGER NOT NULL DEFAULT 1,
  via              TEXT,
  by               TEXT,
  reason           TEXT,
  delivered_at     INTEGER,
  read_at          INTEGER,
  acknowledged_at  INTEGER,
  expired_at       INTEGER,
  PRIMARY KEY (box, message_seq)
) WITHOUT ROWID;
CREATE INDEX deliveries_open ON deliveries (box, priority, message_seq, type) WHERE open = 1;
CREATE INDEX deliveries_of_message ON deliveries (message_seq);

-- What one session has already been shown of a box that it shares with others.
CREATE TABLE shared_reads (
  session_id   TEXT NOT NULL,
  box          TEXT NOT NULL,
  message_seq  INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  PRIMARY KEY (session_id, box, message_seq)
) WITHOUT ROWID;
CREATE INDEX shared_reads_of_message ON shared_reads (message_seq);

CREATE TABLE thread_claims (
  thread_id  TEXT PRIMARY KEY,
  holder     TEXT NOT NULL,
  at         INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX thread_claims_by_holder ON thread_claims (holder);

CREATE TABLE attachments (
  id          TEXT PRIMARY KEY,
  message_id  TEXT NOT NULL,
  file_name   TEXT NOT NULL,
  bytes       INTEGER NOT NULL,
  sha256      TEXT NOT NULL,
  body        BLOB,
  blob        TEXT
);
CREATE INDEX attachments_of_message ON attachments (message_id, id);
CREATE INDEX attachments_by_blob ON attachments (blob) WHERE blob IS NOT NULL;

-- Words of every message, filled behind the senders' backs; `search_state` says how far.
CREATE VIRTUAL TABLE message_words USING fts5 (scope, subject, body, content = '');
CREATE TABLE search_state (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), indexed_to INTEGER NOT NULL);
INSERT INTO search_state VALUES (1, 0);

CREATE TABLE asks (
  id           TEXT PRIMARY KEY,
  project_id   TEXT NOT NULL REFERENCES projects (id),
  session_id   TEXT REFERENCES sessions (id),
  kind         TEXT NOT NULL,
  title        TEXT NOT NULL,
  text         TEXT NOT NULL,
  choices      TEXT NOT NULL,
  task_id      TEXT,
  message_id   TEXT,
  status       TEXT NOT NULL,
  answer       TEXT,
  answered_by  TEXT,
  created_at   INTEGER NOT NULL,
  answered_at  INTEGER,
  notified_at  INTEGER
);
CREATE INDEX asks_open ON asks (created_at, id) WHERE status = 'open';
CREATE INDEX asks_by_session ON asks (session_id) WHERE status = 'open';
CREATE INDEX asks_unnotified ON asks (created_at) WHERE notified_at IS NULL;
CREATE INDEX asks_by_project ON asks (project_id, id);
CREATE INDEX asks_by_message ON asks (message_id) WHERE message_id IS NOT NULL;

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

-- Mail too long for a list: its beginning has come out, the rest has not. `open = 2` in a box of one's own; in a box
-- that several look into, it is known for each of them.

CREATE INDEX deliveries_begun ON deliveries (box, priority, message_seq, type) WHERE open = 2;
ALTER TABLE shared_reads ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
CREATE INDEX shared_reads_begun ON shared_reads (session_id, box, message_seq) WHERE begun = 1;

-- When a status that rests on an observation runs out.
CREATE INDEX sessions_by_status_until ON sessions (status_until) WHERE status_until IS NOT NULL AND ended_at IS NULL;

-- Runs that go on: since when tries are counted, why one came to nothing; and the task that mends a conflict.

ALTER TABLE runs ADD COLUMN resumed_at INTEGER;
ALTER TABLE attempts ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE worktrees ADD COLUMN conflict_task_id TEXT;
CREATE INDEX worktrees_in_conflict ON worktrees (conflict_task_id) WHERE conflict_task_id IS NOT NULL;

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

-- Agents in a terminal that a person can attach to are conversations too. Who tells how such a conversation stands:
-- its runner, over the program's protocol, or the program's hooks.
ALTER TABLE talks ADD COLUMN driver TEXT NOT NULL DEFAULT 'protocol';
ALTER TABLE talks ADD COLUMN teller TEXT NOT NULL DEFAULT 'runner';

-- Where a program keeps its own record of a conversation that hooks tell of: `heard` is a place in that file.
ALTER TABLE talks ADD COLUMN record TEXT;

-- Since when it has been whose turn it is, in microseconds: what hooks told before that and comes in later is over.
ALTER TABLE talks ADD COLUMN turn_at INTEGER NOT NULL DEFAULT 0;

-- The highest permission level that a session may give to the sessions it starts. A coordinator from before gives up to
-- `edit`, every other session its own level; `full` only where the person started the session.
ALTER TABLE sessions ADD COLUMN grant_level TEXT NOT NULL DEFAULT 'plan';
UPDATE sessions SET grant_level = CASE
  WHEN mode = 'coordinate' THEN 'edit'
  WHEN parent_id IS NOT NULL AND (SELECT w.permission FROM spawns w WHERE w.session_id = sessions.id) = 'full'
    THEN 'edit'
  ELSE COALESCE((SELECT w.permission FROM spawns w WHERE w.session_id = sessions.id),
                CASE mode WHEN 'execute' THEN 'edit' ELSE 'plan' END) END;
-- The rights of whoever started a run, as JSON; NULL for a run from before.
ALTER TABLE runs ADD COLUMN rights TEXT;

-- The server records the runner that it forks. A runner that an earlier version started has only reported itself.
ALTER TABLE spawns ADD COLUMN has_older_runner INTEGER NOT NULL DEFAULT 0;
UPDATE spawns SET has_older_runner = 1 WHERE ended_at IS NULL;

-- The git directory that a checkout had when Maestro recorded it, and fingerprints of the programs that the settings of its
-- repository named then. A checkout without a repository has empty directories.
CREATE TABLE git_records (
  path        TEXT PRIMARY KEY,
  git_dir     TEXT NOT NULL,
  common_dir  TEXT NOT NULL,
  programs    TEXT  -- JSON; NULL: of an earlier version, to be recorded when the server starts
);

-- An agent may have changed its own worktree already: nothing is accepted from there.
INSERT INTO git_records (path, git_dir, common_dir, programs)
SELECT path, '', '', CASE WHEN path IN (SELECT path FROM worktrees) THEN '[]' END FROM workspaces;

-- The digest of the tool call that a hook asks leave for: two calls that read alike stay two asks.
ALTER TABLE asks ADD COLUMN call_digest TEXT;
-- The message that carries the answer to the session's mailbox.
ALTER TABLE asks ADD COLUMN answer_message_id TEXT;
CREATE INDEX asks_by_call ON asks (session_id, call_digest) WHERE call_digest IS NOT NULL;
-- Asks that a hook opened were known by their words until now.
UPDATE asks SET call_digest = 'unknown'
 WHERE status = 'open' AND kind = 'permission' AND title LIKE 'May it use %' AND text LIKE '% asks before it goes on.%';

-- The set-up command of a checkout's settings that the person took over last. Others are not run.
ALTER TABLE workspaces ADD COLUMN setup TEXT NOT NULL DEFAULT '';

-- Where the gates and set-up commands of a project run (none, bubblewrap), and the folders that they may read there (JSON).
ALTER TABLE projects ADD COLUMN sandbox TEXT NOT NULL DEFAULT 'none';
ALTER TABLE projects ADD COLUMN caches TEXT NOT NULL DEFAULT '[]';

-- Where a gate ran.
ALTER TABLE gate_results ADD COLUMN sandbox TEXT NOT NULL DEFAULT 'none';

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
CREATE INDEX conversations_parked ON conversations (parked_until) WHERE parked_until IS NOT NULL;

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
UPDATE idempotency SET response = CAST(replace(replace(CAST(response AS TEXT), '"box":', '"mailbox":'),
                                               '"words":', '"arguments":') AS BLOB)
 WHERE instr(CAST(response AS TEXT), '"box":') > 0 OR instr(CAST(response AS TEXT), '"words":') > 0;

-- The codes of an ask's choices (JSON, in the order of `choices`): the server acts on the code of a choice, not on its
-- text. Empty if the server does not act on the answer.
ALTER TABLE asks ADD COLUMN choice_codes TEXT NOT NULL DEFAULT '[]';
-- The code of the choice that the person took.
ALTER TABLE asks ADD COLUMN answer_code TEXT;
-- Open asks about the workers of an ended coordinator.
UPDATE asks SET choice_codes = (
  SELECT json_group_array(CASE choice.value
           WHEN 'resume' THEN 'resume' WHEN 'stop its workers' THEN 'stop' WHEN 'leave them' THEN 'leave'
           ELSE 'adopt:' || coalesce((SELECT s.id FROM sessions s WHERE s.project_id = asks.project_id
                                         AND s.ended_at IS NULL AND 'adopt by ' || s.name = choice.value LIMIT 1), '') END)
    FROM json_each(asks.choices) choice)
 WHERE status = 'open' AND id IN (SELECT ask_id FROM recoveries WHERE ask_id IS NOT NULL);
-- Asks about lost events.
UPDATE asks SET choice_codes = '["accept_loss"]', answer_code = CASE answer WHEN 'accept the loss' THEN 'accept_loss' END
 WHERE session_id IS NULL AND choices = '["accept the loss"]';
