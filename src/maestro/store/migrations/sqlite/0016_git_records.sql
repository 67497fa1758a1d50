-- The git directory that a checkout had when Maestro recorded it, and fingerprints of the programs that the settings of its
-- repository named then. A checkout without a repository has empty directories.
CREATE TABLE git_records (
  path        TEXT PRIMARY KEY,
  git_dir     TEXT NOT NULL,
  common_dir  TEXT NOT NULL,
  programs    TEXT  -- JSON; NULL: of an earlier version, to be recorded when the server starts
);

-- An agent may have changed its own worktree already: nothing is accepted from there.
INSERT INTO git_records (path, git_dir, common_dir, programs)
SELECT path, '', '', CASE WHEN path IN (SELECT path FROM worktrees) THEN '[]' END FROM workspaces;
