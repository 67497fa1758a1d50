-- Rows of another table as one JSON text: a column for the decoder of a list.

-- fragment: attachments_of_message_as_json
-- `|| ''` makes a plain text: SQLite would put a JSON value into the page of messages without quotes.
(SELECT json_group_array(json_object('id', a.id, 'message_id', a.message_id, 'file_name', a.file_name,
                                     'bytes', a.bytes, 'sha256', a.sha256)) || ''
   FROM (SELECT {attachment} FROM attachments a WHERE a.message_id = m.id ORDER BY a.id) AS a)

-- fragment: members_of_team_as_json
(SELECT json_group_array(named.name)
   FROM (SELECT m.name FROM team_members tm JOIN members m ON m.id = tm.member_id
          WHERE tm.team_id = t.id AND m.archived_at IS NULL ORDER BY m.name) AS named)
