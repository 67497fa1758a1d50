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
