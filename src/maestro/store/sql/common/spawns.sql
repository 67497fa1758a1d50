-- fragment: spawn
w.session_id, w.tool, w.arguments, w.model, w.permission, w.strategy, w.template, w.directory, w.run_id, w.runner_pid,
w.runner_started, w.exit_code, w.exit_signal, w.tail, w.created_at, w.ended_at, w.epoch, w.has_older_runner

-- name: spawn_insert
-- Insert a spawn. The row is written before the program starts.
INSERT INTO spawns (session_id, tool, arguments, model, permission, strategy, template, directory, manifest, run_id,
                    created_at)
VALUES (:session_id, :tool, :arguments, :model, :permission, :strategy, :template, :directory, :manifest, :run_id,
        :created_at);

-- name: spawn_get
SELECT {spawn} FROM spawns w WHERE w.session_id = :session_id;

-- name: spawn_manifest
SELECT manifest FROM spawns WHERE session_id = :session_id;

-- name: spawns_live
-- Return the spawns without a recorded end of the program.
SELECT {spawn} FROM spawns w WHERE w.ended_at IS NULL AND w.created_at > :after ORDER BY w.created_at LIMIT :limit;

-- name: spawns_dismissed
-- Return running programs without work: the attempt or the run of the session has ended, or the session is recorded
-- as ended. Left out: sessions that were started again by hand, and lost sessions, which may call again.
SELECT session_id, run_id, outcome, ended_at FROM (
  SELECT w.session_id, w.run_id, a.outcome, a.ended_at, w.created_at
    FROM spawns w JOIN attempts a ON a.session_id = w.session_id JOIN runs r ON r.id = a.run_id
   WHERE w.ended_at IS NULL AND w.epoch = 1 AND (a.outcome IS NOT NULL OR r.status <> 'running')
  UNION ALL
  SELECT w.session_id, NULL, NULL, s.ended_at, w.created_at
    FROM spawns w JOIN sessions s ON s.id = w.session_id
   WHERE w.ended_at IS NULL AND s.ended_at IS NOT NULL AND s.status <> 'lost') AS over
 ORDER BY created_at LIMIT :limit;

-- name: spawn_runner
-- Record the runner that the server forked for the present start of a session.
UPDATE spawns SET runner_pid = :runner_pid, runner_started = :runner_started, has_older_runner = 0
 WHERE session_id = :session_id AND epoch = :epoch AND ended_at IS NULL;

-- name: spawn_runner_completed
-- Complete the record of a runner that an earlier version of the server started.
UPDATE spawns SET runner_pid = :runner_pid, runner_started = :runner_started
 WHERE session_id = :session_id AND epoch = :epoch AND has_older_runner = 1 AND ended_at IS NULL;

-- name: spawn_ended
-- Record how the program of the present start ended. Only the first report counts.
UPDATE spawns SET exit_code = :exit_code, exit_signal = :exit_signal, tail = :tail, ended_at = :ended_at
 WHERE session_id = :session_id AND epoch = :epoch AND ended_at IS NULL;

-- name: spawn_restart
-- Reset a spawn for a new start. The runner of an earlier start no longer counts.
UPDATE spawns SET epoch = epoch + 1, manifest = :manifest, runner_pid = NULL, runner_started = NULL,
                  has_older_runner = 0, exit_code = NULL, exit_signal = NULL, tail = NULL, ended_at = NULL
 WHERE session_id = :session_id;

-- name: spawns_below
-- Count the live spawned sessions of a coordinator.
SELECT count(*) FROM sessions s JOIN spawns w ON w.session_id = s.id
 WHERE s.parent_id = :parent_id AND s.ended_at IS NULL;

-- name: spawns_in_project
SELECT count(*) FROM sessions s JOIN spawns w ON w.session_id = s.id
 WHERE s.project_id = :project_id AND s.ended_at IS NULL;

-- name: session_process
-- Set the process of a session.
UPDATE sessions SET pid = :pid, pid_started = :pid_started WHERE id = :id AND ended_at IS NULL;
