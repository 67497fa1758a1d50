-- name: space_usage
-- Return the number of free pages and of all pages. Without incremental vacuum the file cannot give pages back.
SELECT freelist_count, page_count, auto_vacuum = 2
FROM pragma_freelist_count, pragma_page_count, pragma_auto_vacuum;

-- name: space_release
-- Give a bounded number of pages back to the disk: `limits.released_pages_at_once`.
PRAGMA incremental_vacuum (128);
