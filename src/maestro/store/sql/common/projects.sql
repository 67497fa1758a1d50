-- fragment: project
p.id, p.key, p.name, p.stages, p.created_at, p.inbound, p.replies_reopen, p.sandbox, p.caches

-- fragment: workspace
w.id, w.project_id, w.name, p.name, w.path, w.created_at

-- name: project_insert
-- A new project.
INSERT INTO projects (id, key, name, stages, created_at) VALUES (:id, :key, :name, :stages, :created_at);

-- name: project_get
-- One project by its id.
SELECT {project} FROM projects p WHERE p.id = :id;

-- name: project_by_name
-- One project by its short name.
SELECT {project} FROM projects p WHERE p.name = :name;

-- name: project_by_key
-- One project by any key it has ever had.
SELECT {project} FROM project_keys k JOIN projects p ON p.id = k.project_id WHERE k.key = :key;

-- name: project_page
-- Projects by name, from after a name on.
SELECT {project} FROM projects p WHERE p.name > :after ORDER BY p.name LIMIT :limit;

-- name: project_key_add
-- Remembers a key; a key that already leads somewhere stays as it is.
INSERT INTO project_keys (key, project_id) VALUES (:key, :project_id) ON CONFLICT (key) DO NOTHING;

-- name: project_change
-- Gives a project its present key, name, stages and rules.
UPDATE projects SET key = :key, name = :name, stages = :stages, inbound = :inbound, replies_reopen = :replies_reopen,
       sandbox = :sandbox, caches = :caches
 WHERE id = :id;

-- name: workspace_insert
-- A new checkout.
INSERT INTO workspaces (id, project_id, name, path, created_at) VALUES (:id, :project_id, :name, :path, :created_at);

-- name: workspace_get
-- One workspace by its id.
SELECT {workspace} FROM workspaces w JOIN projects p ON p.id = w.project_id WHERE w.id = :id;

-- name: workspace_by_path
-- The workspace at a path.
SELECT {workspace} FROM workspaces w JOIN projects p ON p.id = w.project_id WHERE w.path = :path;

-- name: workspaces_of_project
-- Every workspace of a project.
SELECT {workspace} FROM workspaces w JOIN projects p ON p.id = w.project_id
 WHERE w.project_id = :project_id ORDER BY w.name LIMIT :limit;

-- name: workspace_name_taken
-- Whether a name is in use among a project's workspaces.
SELECT 1 FROM workspaces WHERE project_id = :project_id AND name = :name;

-- name: workspace_move
-- A checkout whose remote changed belongs to another project from now on.
UPDATE workspaces SET project_id = :project_id, name = :name WHERE id = :id;

-- name: project_key_drop
-- Forgets a key that meant something only as long as nothing better was known.
DELETE FROM project_keys WHERE key = :key AND project_id = :project_id;

-- name: project_by_local_path
-- A project whose key is its first commit and this path.
SELECT {project} FROM workspaces w JOIN projects p ON p.id = w.project_id
 WHERE p.key LIKE 'root:%' AND substr(p.key, length(p.key) - length(:path)) = ':' || :path LIMIT 1;

-- name: workspace_by_name
-- A project's checkout by its short name.
SELECT {workspace} FROM workspaces w JOIN projects p ON p.id = w.project_id
 WHERE w.project_id = :project_id AND w.name = :name;

-- name: workspace_accept_setup
-- The person took over the set-up command of a checkout's settings.
UPDATE workspaces SET setup = :setup WHERE id = :id AND setup <> :setup;

-- name: workspace_setup
-- The set-up command that the person took over in a checkout.
SELECT setup FROM workspaces WHERE id = :id;

-- name: project_accepts_setup
-- Whether the person took over a set-up command in one of a project's checkouts.
SELECT 1 FROM workspaces WHERE project_id = :project_id AND setup = :setup LIMIT 1;
