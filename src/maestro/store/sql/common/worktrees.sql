-- fragment: worktree
w.session_id, w.project_id, w.repository, w.path, w.branch, w.base_commit, w.merges_into, w.merged_into, w.merged_at,
w.removed_at, w.created_at

-- name: worktree_insert
INSERT INTO worktrees (session_id, project_id, repository, path, branch, base_commit, merges_into, created_at)
VALUES (:session_id, :project_id, :repository, :path, :branch, :base_commit, :merges_into, :created_at);

-- name: worktree_get
SELECT {worktree} FROM worktrees w WHERE w.session_id = :session_id;

-- name: worktrees_of_project
SELECT {worktree} FROM worktrees w
 WHERE w.project_id = :project_id AND w.removed_at IS NULL AND w.session_id > :after ORDER BY w.session_id LIMIT :limit;

-- name: worktree_merged
UPDATE worktrees SET merged_into = :into, merged_at = :at WHERE session_id = :session_id;

-- name: worktree_removed
UPDATE worktrees SET removed_at = :at WHERE session_id = :session_id;
