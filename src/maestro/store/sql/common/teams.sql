-- fragment: team
t.id, t.project_id, t.name, l.name AS leader, {members_of_team_as_json} AS members, t.created_by, t.created_at

-- fragment: teams
teams t LEFT JOIN members l ON l.id = t.leader_id

-- name: team_insert
-- Insert a team without members.
INSERT INTO teams (id, project_id, name, leader_id, created_by, created_at)
VALUES (:id, :project_id, :name, :leader_id, :created_by, :created_at);

-- name: team_get
SELECT {team} FROM {teams} WHERE t.id = :id;

-- name: team_by_name
SELECT {team} FROM {teams} WHERE t.project_id = :project_id AND t.name = :name;

-- name: team_page
-- Return a page of a project's teams, ordered by name.
SELECT {team} FROM {teams} WHERE t.project_id = :project_id AND t.name > :after ORDER BY t.name LIMIT :limit;

-- name: team_has
SELECT 1 FROM team_members WHERE team_id = :team_id AND member_id = :member_id;

-- name: team_join
-- Add a member to a team. A member of the team stays a member.
INSERT INTO team_members (team_id, member_id) VALUES (:team_id, :member_id)
    ON CONFLICT (team_id, member_id) DO NOTHING;

-- name: team_leave
DELETE FROM team_members WHERE team_id = :team_id AND member_id = :member_id;

-- name: team_lead
-- Set or remove the leader of a team.
UPDATE teams SET leader_id = :leader_id WHERE id = :id;

-- name: teams_of_member
-- Return the teams of a member.
SELECT {team} FROM team_members tm JOIN teams t ON t.id = tm.team_id LEFT JOIN members l ON l.id = t.leader_id
 WHERE tm.member_id = :member_id ORDER BY t.name LIMIT :limit;

-- name: teams_led
-- Return the teams that a member leads.
SELECT {team} FROM {teams} WHERE t.leader_id = :leader_id ORDER BY t.name;
