-- The set-up command of a checkout's settings that the person took over last. Others are not run.
ALTER TABLE workspaces ADD COLUMN setup TEXT NOT NULL DEFAULT '';
