-- fragment: git_record
r.path, r.git_dir, r.common_dir, r.programs

-- name: git_record_put
INSERT INTO git_records (path, git_dir, common_dir, programs) VALUES (:path, :git_dir, :common_dir, :programs)
ON CONFLICT (path) DO UPDATE
   SET git_dir = excluded.git_dir, common_dir = excluded.common_dir, programs = excluded.programs;

-- name: git_record_drop
DELETE FROM git_records WHERE path = :path;

-- name: git_records_page
SELECT {git_record} FROM git_records r WHERE r.path > :after ORDER BY r.path LIMIT :limit;

-- name: git_record_get
SELECT {git_record} FROM git_records r WHERE r.path = :path;
