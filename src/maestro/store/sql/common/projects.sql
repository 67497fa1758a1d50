-- fragment: project
p.id, p.key, p.name, p.stages, p.created_at, p.inbound, p.replies_reopen, p.sandbox, p.caches

-- fragment: workspace
w.id, w.project_id, w.name, w.name || '/' || p.name AS address, w.path, w.created_at

-- name: project_insert
-- Insert a project.
INSERT INTO projects (id, key, name, stages, created_at) VALUES (:id, :key, :name, :stages, :created_at);

-- name: project_get
-- Return a project by its id.
SELECT {project} FROM projects p WHERE p.id = :id;

-- name: project_by_name
-- Return a project by its short name.
SELECT {project} FROM projects p WHERE p.name = :name;

-- name: project_by_key
-- Return a project by any of its present and former keys.
SELECT {project} FROM project_keys k JOIN projects p ON p.id = k.project_id WHERE k.key = :key;

-- name: project_page
-- Return a page of projects, ordered by name.
SELECT {project} FROM projects p WHERE p.name > :after ORDER BY p.name LIMIT :limit;

-- name: project_key_add
-- Add a key. A key that leads to a project already stays as it is.
INSERT INTO project_keys (key, project_id) VALUES (:key, :project_id) ON CONFLICT (key) DO NOTHING;

-- name: project_change
-- Update the key, name, stages and rules of a project.
UPDATE projects SET key = :key, name = :name, stages = :stages, inbound = :inbound, replies_reopen = :replies_reopen,
       sandbox = :sandbox, caches = :caches
 WHERE id = :id;

-- name: workspace_insert
-- Insert a workspace.
INSERT INTO workspaces (id, project_id, name, path, created_at) VALUES (:id, :project_id, :name, :path, :created_at);

-- name: workspace_get
-- Return a workspace by its id.
SELECT {workspace} FROM workspaces w JOIN projects p ON p.id = w.project_id WHERE w.id = :id;

-- name: workspace_by_path
-- Return the workspace at a path.
SELECT {workspace} FROM workspaces w JOIN projects p ON p.id = w.project_id WHERE w.path = :path;

-- name: workspaces_of_project
-- Return all workspaces of a project.
SELECT {workspace} FROM workspaces w JOIN projects p ON p.id = w.project_id
 WHERE w.project_id = :project_id ORDER BY w.name LIMIT :limit;

-- name: workspace_name_taken
-- Test whether a workspace of a project has a name.
SELECT 1 FROM workspaces WHERE project_id = :project_id AND name = :name;

-- name: workspace_move
-- Assign a workspace to another project, after the remote of its checkout has changed.
UPDATE workspaces SET project_id = :project_id, name = :name WHERE id = :id;

-- name: project_key_drop
-- Delete a key that was used only until a better key was known.
DELETE FROM project_keys WHERE key = :key AND project_id = :project_id;

-- name: project_by_local_path
-- Return the project with a key of first commit and path.
SELECT {project} FROM workspaces w JOIN projects p ON p.id = w.project_id
 WHERE p.key LIKE 'root:%' AND substr(p.key, length(p.key) - length(:path)) = ':' || :path LIMIT 1;

-- name: workspace_by_name
-- Return a workspace of a project by its short name.
SELECT {workspace} FROM workspaces w JOIN projects p ON p.id = w.project_id
 WHERE w.project_id = :project_id AND w.name = :name;

-- name: workspace_accept_setup
-- Record the set-up command that the person accepted for a checkout.
UPDATE workspaces SET setup = :setup WHERE id = :id AND setup <> :setup;

-- name: workspace_setup
-- Return the set-up command that the person accepted for a checkout.
SELECT setup FROM workspaces WHERE id = :id;

-- name: project_accepts_setup
-- Test whether the person accepted a set-up command for a checkout of a project.
SELECT 1 FROM workspaces WHERE project_id = :project_id AND setup = :setup LIMIT 1;
