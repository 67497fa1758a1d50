-- fragment: worktree
w.session_id, w.project_id, w.repository, w.path, w.branch, w.base_commit, w.merges_into, w.merged_into, w.merged_at,
w.removed_at, w.created_at, w.conflict_task_id

-- name: worktree_insert
-- Insert a worktree, or replace the removed worktree of a session that is started again.
INSERT OR REPLACE INTO worktrees (session_id, project_id, repository, path, branch, base_commit, merges_into, created_at)
VALUES (:session_id, :project_id, :repository, :path, :branch, :base_commit, :merges_into, :created_at);

-- name: worktree_get
SELECT {worktree} FROM worktrees w WHERE w.session_id = :session_id;

-- name: worktrees_of_project
SELECT {worktree} FROM worktrees w
 WHERE w.project_id = :project_id AND w.removed_at IS NULL AND w.session_id > :after ORDER BY w.session_id LIMIT :limit;

-- name: worktrees_done_with
-- Return the worktrees of finally ended sessions: merged into the branch of the run, or with a program that never ran
-- (127: not found). While the run goes on, only those of sessions that ended before a time.
SELECT {worktree} FROM worktrees w JOIN sessions s ON s.id = w.session_id JOIN spawns p ON p.session_id = s.id
  LEFT JOIN runs r ON r.id = p.run_id
 WHERE w.removed_at IS NULL AND w.session_id > :after AND s.ended_at IS NOT NULL AND NOT {resumes}
   AND (s.ended_at < :before OR ifnull(r.status, '') <> 'running')
   AND ((:merged AND w.merged_at IS NOT NULL AND w.merges_into IS NOT NULL)
     OR (s.status = 'failed' AND ifnull(p.exit_code, 127) = 127 AND p.exit_signal IS NULL))
 ORDER BY w.session_id LIMIT :limit;

-- name: worktree_merged
UPDATE worktrees SET merged_into = :into, merged_at = :at WHERE session_id = :session_id;

-- name: worktree_conflicts
-- Set the task that resolves the merge conflict of a worktree's branch.
UPDATE worktrees SET conflict_task_id = :task_id WHERE session_id = :session_id;

-- name: worktree_mended_by
-- Return the worktree whose merge conflict a task resolves.
SELECT {worktree} FROM worktrees w WHERE w.conflict_task_id = :task_id LIMIT 1;

-- name: worktree_removed
UPDATE worktrees SET removed_at = :at WHERE session_id = :session_id;
