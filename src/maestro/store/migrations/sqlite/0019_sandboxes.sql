-- Where the gates and set-up commands of a project run (none, bubblewrap), and the folders that they may read there (JSON).
ALTER TABLE projects ADD COLUMN sandbox TEXT NOT NULL DEFAULT 'none';
ALTER TABLE projects ADD COLUMN caches TEXT NOT NULL DEFAULT '[]';

-- Where a gate ran.
ALTER TABLE gate_results ADD COLUMN sandbox TEXT NOT NULL DEFAULT 'none';
