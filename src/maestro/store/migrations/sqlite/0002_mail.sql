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
