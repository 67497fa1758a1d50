-- Where a program keeps its own record of a conversation that hooks tell of: `heard` is a place in that file.
ALTER TABLE talks ADD COLUMN record TEXT;
