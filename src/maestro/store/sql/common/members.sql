-- fragment: member_without_identity
m.id, m.project_id, m.name, m.role, m.avatar, '@' || m.name AS mail_id, m.skills, m.model, m.tool, m.permission,
m.allow, m.deny, m.archived_at IS NOT NULL AS archived, m.created_by, m.created_at, m.updated_at

-- fragment: member
{member_without_identity}, m.identity

-- fragment: member_in_list
{member_without_identity},
CASE WHEN length(m.identity) > :identity_chars THEN substr(m.identity, 1, :identity_chars) || '…' ELSE m.identity END
  AS identity

-- name: member_insert
-- Insert a member.
INSERT INTO members (id, project_id, name, role, identity, avatar, skills, model, tool, permission, allow, deny,
                     created_by, created_at, updated_at)
VALUES (:id, :project_id, :name, :role, :identity, :avatar, :skills, :model, :tool, :permission, :allow, :deny,
        :created_by, :created_at, :updated_at);

-- name: member_get
SELECT {member} FROM members m WHERE m.id = :id;

-- name: member_by_name
SELECT {member} FROM members m WHERE m.project_id = :project_id AND m.name = :name AND m.archived_at IS NULL;

-- name: member_edit
-- Update a member. An archived member stays as it was.
UPDATE members
   SET name = :name, role = :role, identity = :identity, avatar = :avatar, skills = :skills, model = :model,
       tool = :tool, permission = :permission, allow = :allow, deny = :deny, updated_at = :updated_at
 WHERE id = :id AND archived_at IS NULL;

-- name: member_archive
-- Archive a member and free its name.
UPDATE members SET archived_at = :at, updated_at = :at WHERE id = :id AND archived_at IS NULL;

-- name: member_page
-- Return a page of a project's members, ordered by name.
SELECT {member_in_list} FROM members m
 WHERE m.project_id = :project_id AND m.archived_at IS NULL AND (m.name, m.id) > (:after_name, :after_id)
 ORDER BY m.name, m.id LIMIT :limit;

-- name: member_page_archived
-- The same with archived members, which may share a name.
SELECT {member_in_list} FROM members m
 WHERE m.project_id = :project_id AND (m.name, m.id) > (:after_name, :after_id)
 ORDER BY m.name, m.id LIMIT :limit;

-- name: members_of_team
-- Return the members of a team by name, without archived members.
SELECT {member_in_list} FROM team_members tm JOIN members m ON m.id = tm.member_id
 WHERE tm.team_id = :team_id AND m.archived_at IS NULL ORDER BY m.name LIMIT :limit;

-- name: member_open_tasks
-- Count the unfinished tasks that name a member.
SELECT count(*) FROM tasks
 WHERE project_id = :project_id AND member = :name AND status NOT IN ('completed', 'failed', 'cancelled');
