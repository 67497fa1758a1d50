-- The server records the runner that it forks. A runner that an earlier version started has only reported itself.
ALTER TABLE spawns ADD COLUMN has_older_runner INTEGER NOT NULL DEFAULT 0;
UPDATE spawns SET has_older_runner = 1 WHERE ended_at IS NULL;
