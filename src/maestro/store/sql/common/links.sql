-- fragment: link
l.name, l.project_id, p.name AS project, p.key, l.source, l.remote, l.path, w.name || '/' || o.name AS of

-- fragment: links
project_links l JOIN projects p ON p.id = l.project_id JOIN workspaces w ON w.id = l.workspace_id
                JOIN projects o ON o.id = w.project_id

-- name: link_put
INSERT INTO project_links (workspace_id, name, project_id, source, remote, path)
VALUES (:workspace_id, :name, :project_id, :source, :remote, :path)
ON CONFLICT (workspace_id, name) DO UPDATE
   SET project_id = excluded.project_id, source = excluded.source, remote = excluded.remote, path = excluded.path;

-- name: link_drop
DELETE FROM project_links WHERE workspace_id = :workspace_id AND name = :name;

-- name: links_of_workspace
SELECT {link} FROM {links} WHERE l.workspace_id = :workspace_id ORDER BY l.name LIMIT :limit;

-- name: links_of_project
SELECT {link} FROM {links} WHERE w.project_id = :project_id ORDER BY l.name, w.name LIMIT :limit;

-- name: links_to_project
SELECT {link} FROM {links} WHERE l.project_id = :project_id ORDER BY o.name, w.name, l.name LIMIT :limit;

-- name: link_find
-- Return the project that a name means. The checkout itself comes before other checkouts of the project.
SELECT l.project_id FROM workspaces w JOIN project_links l ON l.workspace_id = w.id
 WHERE l.name = :name AND (w.id = :workspace_id OR w.project_id = :project_id)
 ORDER BY w.id = :workspace_id DESC, w.id LIMIT 1;

-- name: link_exists
SELECT 1 FROM workspaces w JOIN project_links l ON l.workspace_id = w.id
 WHERE w.project_id = :project_id AND l.project_id = :other_id AND l.source <> :beside LIMIT 1;
