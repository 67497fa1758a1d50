-- fragment: worktree
w.session_id, w.project_id, w.repository, w.path, w.branch, w.base_commit, w.merges_into, w.merged_into, w.merged_at,
w.removed_at, w.created_at, w.conflict_task_id

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

-- name: worktree_conflicts
-- Its branch could not be merged; a task is to mend that.
UPDATE worktrees SET conflict_task_id = :task_id WHERE session_id = :session_id;

-- name: worktree_mended_by
-- Whose branch a task is to mend.
SELECT {worktree} FROM worktrees w WHERE w.conflict_task_id = :task_id LIMIT 1;

-- name: worktree_removed
UPDATE worktrees SET removed_at = :at WHERE session_id = :session_id;
