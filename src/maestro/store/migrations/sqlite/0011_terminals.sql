-- Agents in a terminal that a person can attach to are conversations too. Who tells how such a conversation stands:
-- its runner, over the program's protocol, or the program's hooks.
ALTER TABLE talks ADD COLUMN driver TEXT NOT NULL DEFAULT 'protocol';
ALTER TABLE talks ADD COLUMN teller TEXT NOT NULL DEFAULT 'runner';
