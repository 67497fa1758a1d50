-- name: git_record_put
INSERT INTO git_records (path, git_dir, common_dir, programs) VALUES (:path, :git_dir, :common_dir, :programs)
ON CONFLICT (path) DO UPDATE
   SET git_dir = excluded.git_dir, common_dir = excluded.common_dir, programs = excluded.programs;

-- name: git_record_drop
DELETE FROM git_records WHERE path = :path;

-- name: git_records_page
SELECT path, git_dir, common_dir, programs FROM git_records WHERE path > :after ORDER BY path LIMIT :limit;

-- name: git_record_get
SELECT path, git_dir, common_dir, programs FROM git_records WHERE path = :path;
