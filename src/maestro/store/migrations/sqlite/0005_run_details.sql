-- Runs that go on: since when tries are counted, why one came to nothing; and the task that mends a conflict.

ALTER TABLE runs ADD COLUMN resumed_at INTEGER;
ALTER TABLE attempts ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE worktrees ADD COLUMN conflict_task_id TEXT;
CREATE INDEX worktrees_in_conflict ON worktrees (conflict_task_id) WHERE conflict_task_id IS NOT NULL;
