-- fragment: team
t.id, t.project_id, t.name, l.name, t.created_by, t.created_at

-- fragment: teams
teams t LEFT JOIN members l ON l.id = t.leader_id

-- name: team_insert
-- A new team, without its members.
INSERT INTO teams (id, project_id, name, leader_id, created_by, created_at)
VALUES (:id, :project_id, :name, :leader_id, :created_by, :created_at);

-- name: team_get
SELECT {team} FROM {teams} WHERE t.id = :id;

-- name: team_by_name
SELECT {team} FROM {teams} WHERE t.project_id = :project_id AND t.name = :name;

-- name: team_page
-- A project's teams by name, from after a name on.
SELECT {team} FROM {teams} WHERE t.project_id = :project_id AND t.name > :after ORDER BY t.name LIMIT :limit;

-- name: team_member_names
-- Who is in each of some teams, by name; the archived are out of sight here too.
SELECT tm.team_id, m.name FROM team_members tm JOIN members m ON m.id = tm.member_id
 WHERE tm.team_id IN (SELECT value FROM json_each(:ids)) AND m.archived_at IS NULL ORDER BY m.name;

-- name: team_has
SELECT 1 FROM team_members WHERE team_id = :team_id AND member_id = :member_id;

-- name: team_join
-- A member that is in the team already stays in it.
INSERT INTO team_members (team_id, member_id) VALUES (:team_id, :member_id)
    ON CONFLICT (team_id, member_id) DO NOTHING;

-- name: team_leave
DELETE FROM team_members WHERE team_id = :team_id AND member_id = :member_id;

-- name: team_lead
-- Gives a team another leader, or none.
UPDATE teams SET leader_id = :leader_id WHERE id = :id;

-- name: teams_of_member
-- The teams that a member is in.
SELECT {team} FROM team_members tm JOIN teams t ON t.id = tm.team_id LEFT JOIN members l ON l.id = t.leader_id
 WHERE tm.member_id = :member_id ORDER BY t.name LIMIT :limit;

-- name: teams_led
-- The teams that a member leads.
SELECT {team} FROM {teams} WHERE t.leader_id = :leader_id ORDER BY t.name;
