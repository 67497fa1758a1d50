-- name: tables_stored
-- Return every table with pages of its own. A virtual table keeps its rows in other tables.
SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name;
