-- fragment: session
s.id, s.project_id, s.workspace_id, w.name || '/' || p.name AS address, s.name, s.mode, s.status, s.parent_id,
s.human, s.pid, s.pid_started, s.lease_until, s.created_at, s.updated_at, s.ended_at, m.name AS member, s.tool,
s.task_ids AS tasks, s.status_source, s.status_at, s.status_until, s.seen_at, s.successor_id, s.grant_level AS "grant"

-- fragment: caller
s.id AS session_id, s.project_id, s.workspace_id, w.name || '/' || p.name AS address, s.name AS title, s.mode,
s.parent_id, s.human, s.member_id, coalesce(m.allow, '[]') AS allow, coalesce(m.deny, '[]') AS deny,
s.grant_level AS "grant"

-- fragment: sessions
sessions s JOIN projects p ON p.id = s.project_id LEFT JOIN workspaces w ON w.id = s.workspace_id
           LEFT JOIN members m ON m.id = s.member_id

-- fragment: resumes
EXISTS (SELECT 1 FROM recoveries r WHERE r.session_id = s.id AND r.due_at IS NOT NULL AND r.step = 'resume')

-- name: session_insert
-- Insert a session. Only the hash of the session's token is stored.
INSERT INTO sessions (id, project_id, workspace_id, name, mode, status, parent_id, human, pid, pid_started, token_hash,
                      lease_until, created_at, updated_at, member_id, tool, task_ids, status_source, status_at, seen_at,
                      grant_level)
VALUES (:id, :project_id, :workspace_id, :name, :mode, :status, :parent_id, :human, :pid, :pid_started, :token_hash,
        :lease_until, :created_at, :updated_at, :member_id, :tool, :task_ids, :status_source, :status_at, :seen_at,
        :grant_level);

-- name: session_get
SELECT {session} FROM {sessions} WHERE s.id = :id;

-- name: session_caller
-- Return a live session with the columns of a caller.
SELECT {caller} FROM {sessions} WHERE s.id = :id AND s.ended_at IS NULL;

-- name: session_caller_ever
-- The same for a session that may have ended: a run keeps the rights of the session that started the run.
SELECT {caller} FROM {sessions} WHERE s.id = :id;

-- name: session_set_grant
-- Set the grant of a session, live or ended: a run keeps the rights of the session that started the run.
UPDATE sessions SET grant_level = :grant_level WHERE id = :id;

-- name: session_caller_by_token
-- The same by token. The token of an ended session is void.
SELECT {caller} FROM {sessions} WHERE s.token_hash = :token_hash AND s.ended_at IS NULL;

-- name: sessions_ids_after
-- Return the ids of all sessions. Ended sessions are included, because they can be resumed.
SELECT s.id FROM sessions s WHERE s.id > :after ORDER BY s.id LIMIT :limit;

-- name: session_set_token
-- Replace the token of a session. The former token is void.
UPDATE sessions SET token_hash = :token_hash WHERE id = :id;

-- name: session_rename
UPDATE sessions SET name = :name, updated_at = :at WHERE id = :id AND ended_at IS NULL;

-- name: sessions_live
-- Return a page of the live sessions of all projects.
SELECT {session} FROM {sessions} WHERE s.ended_at IS NULL AND s.id > :after ORDER BY s.id LIMIT :limit;

-- name: session_by_name
SELECT {session} FROM {sessions} WHERE s.project_id = :project_id AND s.name = :name AND s.ended_at IS NULL;

-- name: session_ended_by_name
-- Return the last session with a name that no live session has.
SELECT {session} FROM {sessions}
 WHERE s.project_id = :project_id AND s.name = :name AND s.ended_at IS NOT NULL ORDER BY s.id DESC LIMIT 1;

-- name: sessions_with_process
-- Return the process of every session, live or ended, to recognise callers by their ancestor processes.
SELECT s.id AS session_id, s.pid, s.pid_started FROM sessions s WHERE s.pid IS NOT NULL ORDER BY s.created_at, s.id;

-- name: sessions_with_runner
-- Return the runner of every session whose program has not ended: an orphan of the program is a child of the runner.
SELECT w.session_id, w.runner_pid AS pid, w.runner_started AS pid_started FROM spawns w
 WHERE w.ended_at IS NULL AND w.runner_pid IS NOT NULL ORDER BY w.created_at;

-- name: sessions_live_processes
-- Return the processes of live sessions. The server watches these processes.
SELECT s.id AS session_id, s.pid, s.pid_started FROM sessions s
 WHERE s.pid IS NOT NULL AND s.ended_at IS NULL ORDER BY s.created_at DESC LIMIT :limit;

-- name: session_route
-- Return the columns that decide where mail for a session goes.
SELECT s.id, s.project_id, s.name, s.ended_at IS NULL AS is_live, s.successor_id, s.parent_id, s.status,
       {resumes} AS resumes, s.tool
  FROM sessions s WHERE s.id = :id;

-- name: sessions_page
SELECT {session} FROM {sessions} WHERE s.project_id = :project_id AND s.id > :after ORDER BY s.id LIMIT :limit;

-- name: sessions_page_live
SELECT {session} FROM {sessions}
 WHERE s.project_id = :project_id AND s.ended_at IS NULL AND s.id > :after ORDER BY s.id LIMIT :limit;

-- name: sessions_page_by_status
SELECT {session} FROM {sessions}
 WHERE s.project_id = :project_id AND s.status = :status AND (:active = 0 OR s.ended_at IS NULL) AND s.id > :after
 ORDER BY s.id LIMIT :limit;

-- name: session_last_of_workspace
SELECT {session} FROM {sessions}
 WHERE s.project_id = :project_id AND s.workspace_id = :workspace_id ORDER BY s.id DESC LIMIT 1;

-- name: sessions_children
-- Return the live sessions under a parent.
SELECT {session} FROM {sessions}
 WHERE s.parent_id = :parent_id AND s.ended_at IS NULL AND s.id > :after ORDER BY s.id LIMIT :limit;

-- name: sessions_children_ever
SELECT {session} FROM {sessions}
 WHERE s.parent_id = :parent_id AND s.id > :after ORDER BY s.id LIMIT :limit;

-- name: sessions_count_registered
-- Count the live sessions under a parent that were registered, not spawned.
SELECT count(*) FROM (SELECT 1 FROM sessions s
                       WHERE s.parent_id = :parent_id AND s.ended_at IS NULL
                         AND NOT EXISTS (SELECT 1 FROM spawns w WHERE w.session_id = s.id)
                       LIMIT :limit) AS some;

-- name: sessions_count_live
SELECT count(*) FROM sessions WHERE ended_at IS NULL;

-- name: sessions_live_anywhere
-- Return the live sessions of all projects, and the ended sessions that will be started again.
SELECT {session} FROM {sessions} WHERE s.ended_at IS NULL OR {resumes} ORDER BY s.id LIMIT :limit;

-- name: session_ids_live
-- Return all live sessions of a project.
SELECT id, name FROM sessions WHERE project_id = :project_id AND ended_at IS NULL ORDER BY id LIMIT :limit;

-- name: session_ids_below
-- Return all live sessions below a session at any depth, also below an ended session.
WITH RECURSIVE below (id, depth) AS (
  SELECT :id, 0
  UNION
  SELECT s.id, below.depth + 1 FROM below JOIN sessions s ON s.parent_id = below.id WHERE below.depth < 64
)
SELECT DISTINCT s.id, s.name FROM below JOIN sessions s ON s.id = below.id
 WHERE s.ended_at IS NULL AND s.id <> :id ORDER BY s.id LIMIT :limit;

-- name: session_ids_siblings
SELECT id, name FROM sessions
 WHERE parent_id = :parent_id AND ended_at IS NULL AND id <> :id ORDER BY id LIMIT :limit;

-- name: session_ids_of_member
SELECT id, name FROM sessions WHERE member_id = :member_id AND ended_at IS NULL ORDER BY id LIMIT :limit;

-- name: session_ids_of_teammates
-- Return the live sessions of members that share a team with a member.
SELECT DISTINCT s.id, s.name
  FROM team_members mine JOIN team_members theirs ON theirs.team_id = mine.team_id
  JOIN sessions s ON s.member_id = theirs.member_id
 WHERE mine.member_id = :member_id AND s.ended_at IS NULL ORDER BY s.id LIMIT :limit;

-- name: sessions_due
-- Return the live sessions whose lease has run out.
SELECT {session} FROM {sessions}
 WHERE s.lease_until <= :at AND s.ended_at IS NULL ORDER BY s.lease_until LIMIT :limit;

-- name: session_next_lease
SELECT min(lease_until) FROM sessions WHERE ended_at IS NULL;

-- name: sessions_renew
-- Renew leases after signs of life. A session without a recorded process gets a longer lease.
UPDATE sessions
   SET lease_until = max(lease_until, :at + CASE WHEN pid IS NULL THEN :lease_alone ELSE :lease END), seen_at = :at
 WHERE id IN (SELECT value FROM json_each(:ids)) AND ended_at IS NULL;

-- name: session_shorten
-- Shorten the lease of a session whose process is gone.
UPDATE sessions SET lease_until = min(lease_until, :lease_until) WHERE id = :id AND ended_at IS NULL;

-- name: session_defer
-- Extend the lease of a session that still shows a sign of life.
UPDATE sessions SET lease_until = :lease_until WHERE id = :id AND ended_at IS NULL;

-- name: session_status
UPDATE sessions SET status = :status, status_source = :source, status_at = :at, status_until = :until, updated_at = :now
 WHERE id = :id AND ended_at IS NULL;

-- name: session_next_old_status
SELECT min(status_until) FROM sessions WHERE status_until IS NOT NULL AND ended_at IS NULL;

-- name: sessions_with_old_status
SELECT {session} FROM {sessions}
 WHERE s.status_until <= :at AND s.ended_at IS NULL ORDER BY s.status_until LIMIT :limit;

-- name: session_end
UPDATE sessions SET status = :status, status_source = :source, status_at = :at, status_until = NULL, ended_at = :at,
                    updated_at = :at
 WHERE id = :id AND ended_at IS NULL;

-- name: session_lost_by_token
-- Return a session with the status lost by its token: no caller has ended the session.
SELECT {session} FROM {sessions} WHERE s.token_hash = :token_hash AND s.status = 'lost' AND s.pid IS NULL;

-- name: session_revive
UPDATE sessions SET ended_at = NULL, name = :name, mail_settled = 0 WHERE id = :id AND status = 'lost';

-- name: session_restart
-- Make an ended session live again for a new start. Its new process is recorded later.
UPDATE sessions
   SET ended_at = NULL, name = :name, status = 'spawning', status_source = 'process', status_at = :at,
       status_until = NULL, pid = NULL, pid_started = NULL, lease_until = :lease_until, seen_at = :at, updated_at = :at,
       mail_settled = 0, successor_id = NULL
 WHERE id = :id AND ended_at IS NOT NULL;

-- name: signals_clear
-- Delete the signals of an earlier start: they say nothing about the present start.
DELETE FROM session_signals WHERE session_id = :session_id;

-- name: session_adopt
UPDATE sessions SET parent_id = :parent_id, updated_at = :at WHERE id = :id AND ended_at IS NULL;

-- name: session_succeed
-- Set the session that continues the work of a session.
UPDATE sessions SET successor_id = :successor_id WHERE id = :id;

-- name: sessions_unsettled
-- Return the ended sessions whose unread mail was not handed on. A session that will be started again keeps its mail.
SELECT {session} FROM {sessions}
 WHERE s.ended_at IS NOT NULL AND s.mail_settled = 0 AND NOT {resumes} ORDER BY s.ended_at LIMIT :limit;

-- name: session_settle
UPDATE sessions SET mail_settled = 1 WHERE id = :id;

-- name: signal_put
INSERT INTO session_signals (session_id, source, status, at, until, detail)
VALUES (:session_id, :source, :status, :at, :until, :detail)
ON CONFLICT (session_id, source) DO UPDATE
   SET status = excluded.status, at = excluded.at, until = excluded.until, detail = excluded.detail;

-- name: signals_of
SELECT source, status, at, until, detail FROM session_signals WHERE session_id = :session_id ORDER BY at DESC;
