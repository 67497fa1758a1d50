-- The codes of an ask's choices (JSON, in the order of `choices`): the server acts on the code of a choice, not on its
-- text. Empty if the server does not act on the answer.
ALTER TABLE asks ADD COLUMN choice_codes TEXT NOT NULL DEFAULT '[]';
-- The code of the choice that the person took.
ALTER TABLE asks ADD COLUMN answer_code TEXT;
-- Open asks about the workers of an ended coordinator.
UPDATE asks SET choice_codes = (
  SELECT json_group_array(CASE choice.value
           WHEN 'resume' THEN 'resume' WHEN 'stop its workers' THEN 'stop' WHEN 'leave them' THEN 'leave'
           ELSE 'adopt:' || coalesce((SELECT s.id FROM sessions s WHERE s.project_id = asks.project_id
                                         AND s.ended_at IS NULL AND 'adopt by ' || s.name = choice.value LIMIT 1), '') END)
    FROM json_each(asks.choices) choice)
 WHERE status = 'open' AND id IN (SELECT ask_id FROM recoveries WHERE ask_id IS NOT NULL);
-- Asks about lost events.
UPDATE asks SET choice_codes = '["accept_loss"]', answer_code = CASE answer WHEN 'accept the loss' THEN 'accept_loss' END
 WHERE session_id IS NULL AND choices = '["accept the loss"]';
