-- name: space_usage
-- Return the number of free pages and of all pages. Without incremental vacuum the file cannot give pages back.
SELECT freelist_count AS free, page_count AS total, auto_vacuum = 2 AS can_shrink
FROM pragma_freelist_count, pragma_page_count, pragma_auto_vacuum;

-- name: space_release
-- Give one page back to the disk. Python's sqlite3 runs a pragma without columns for one step only: with a larger
-- number, only the first page would be given back.
PRAGMA incremental_vacuum (1);
