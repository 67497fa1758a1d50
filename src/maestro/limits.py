"""Every bound in one place, with its unit last in the name."""

from __future__ import annotations

# Requests
body_bytes_max = 24 * 1024 * 1024  # a document of the largest size, in base 64
frame_bytes_max = 1024 * 1024
stdin_bytes_max = 16 * 1024 * 1024
http_header_bytes_max = 64 * 1024
idempotency_key_chars_max = 200
idempotency_days_kept = 7

# The writer: one transaction takes at most this many callers; more wait for the next.
write_batch_max = 256
quick_batch_max = 64
quick_jobs_at_once_max = 8  # on the event loop: more would keep readers waiting
write_answers_at_once_max = 16
write_queue_max = 20_000
routes_remembered_max = 10_000
readers_max = 2

# Text
title_chars_max = 500
description_chars_max = 200_000
description_chars_in_lists = 1_000  # the whole text comes with one task
reason_chars_max = 20_000
report_chars_max = 200_000
name_chars_max = 64
command_chars_max = 4_000

# Tasks
task_list_items_max = 50  # acceptance lines or gates of one task
dependencies_of_one_task_max = 1_000
reference_ids_max = 200  # ids in one list argument
task_depth_max = 32
stages_max = 20
cycle_names_shown_max = 20
blockers_shown_max = 20
lease_seconds_default = 600
lease_seconds_min = 5
lease_seconds_max = 24 * 3600
page_items_default = 50
page_items_max = 500
tree_items_max = 5_000

# Documents: what is larger than the first goes into a file beside the database.
inline_bytes_max = 16 * 1024
document_bytes_max = 16 * 1024 * 1024
documents_of_one_task_max = 500

# Events and waiting
feed_page_events_max = 500
feed_queue_events_max = 1_000
snapshot_tasks_max = 1_000
sse_ping_seconds = 15
wait_seconds_default = 600
wait_seconds_max = 24 * 3600
wait_ids_max = 100

# Mail
subject_chars_max = 500
message_chars_max = 200_000
inbox_body_chars_max = 20_000  # a longer body is cut, and stays unread until it is shown whole
inbox_chars_max = 200_000  # bodies of one inbox page together
recipients_max = 100  # written in one message
broadcast_recipients_max = 20_000
attachments_max = 20
attachment_bytes_max = 8 * 1024 * 1024
attachments_bytes_max = 16 * 1024 * 1024  # of one message
thread_messages_shown_max = 500
gather_milliseconds_default = 500
gather_seconds_max = 60
wait_messages_max = 100
mail_hops_max = 24  # answers within moments of each other, back and forth
mail_hop_seconds = 90
mail_per_minute_default = 120  # from one session to one box
search_terms_max = 32
search_index_rows_max = 500  # in one go
search_index_seconds = 1  # without new mail, before upkeep takes words in
search_behind_max = 20_000  # messages; with more, it does not wait for a pause

# Members, teams, asks
role_chars_max = 200
identity_chars_max = 50_000
identity_chars_in_lists = 1_000  # the whole text comes with one member
avatar_chars_max = 64
skills_max = 50
skill_chars_max = 200
skill_text_chars_max = 20_000  # in a prompt, of a program that cannot be given the file
model_chars_max = 200
member_operations_max = 200  # allowed, or denied, to one member
team_members_max = 200
choices_max = 20
webhook_seconds_max = 10

# Sessions
session_lease_seconds = 120
session_lease_alone_seconds = 900  # without a process of its own nothing else would speak for it
session_grace_seconds = 10  # after its process is gone
sleep_grace_seconds = 90  # after the machine slept, or the server was away
presence_seconds = 20  # how often signs of life are stored
status_seconds = 600  # how long a word about a status counts by itself
processes_watched_max = 4096
session_tasks_max = 100
runner_answer_seconds_max = 10
runner_word_chars_max = 20_000  # of one text that it tells of a conversation
runner_word_items_max = 20  # of a list in that, each as long as a subject
runner_report_tries_max = 30  # that the server fails over, before what comes after it has its turn
prompt_taken_seconds = 2  # by an agent's terminal
run_tasks_moving_max = 100  # of a large run, looked at in one step
spawn_depth_max = 4  # coordinators below coordinators
spawns_of_one_coordinator_max = 32  # live at once
spawns_of_one_project_max = 256
wake_confirm_seconds = 60  # for a push to come to the model, before it is tried again
wake_tries_max = 3
wake_messages_max = 20  # in one push
allow_patterns_max = 100  # of one session
parked_seconds_default = 300  # where a provider names no end of its limit
parked_seconds_max = 7 * 24 * 3600
report_tail_chars_max = 4_000
stop_grace_seconds = 10
spawn_answer_seconds = 1  # how long a spawn waits to hear that the program runs
runner_restarts_max = 3  # of one that ended before its agent ran
runner_restart_seconds = 1  # before the second; then twice as long each time
resume_after_seconds = (0, 2, 10)  # a session that ended by accident is started again, so often, each time later
resume_forgotten_seconds = 600  # who ran this long has all of these tries again
starts_parallel_max = 8  # of sessions that were found without their program, at once
resume_look_seconds = 1  # while its last runner has not ended, or whoever is above it is not there yet
found_sessions_max = 500
sessions_in_tree_max = 20_000
ancestry_depth_max = 64
stop_seconds_max = 10

# Prompts: both together fit into one argument of a program, which Linux bounds at 128 KiB.
system_prompt_bytes_max = 48_000
task_prompt_bytes_max = 80_000
prompt_text_chars_max = 8_000  # one description, directive or identity; the whole of it is a call away
prompt_line_chars_max = 500  # a title, an acceptance line, a gate
prompt_items_max = 20  # of a list inside one task
prompt_entries_max = 200  # tasks, siblings, members, commands
roster_identity_chars_max = 1_000
template_bytes_max = 16 * 1024
templates_max = 100
template_phases_max = 20

# MCP
mcp_progress_seconds = 12  # between two words that a wait goes on
mcp_stalled_seconds = 30  # that a client may leave unread what it is told
mcp_silent_seconds_max = 900  # of a client that never listened
mcp_unheard_seconds_max = 120  # of one that listened and no longer does
mcp_reap_seconds = 30
mcp_line_bytes_max = 32 * 1024 * 1024

# Hooks. Programs cut what a hook says at about 10,000 characters and put the rest into a file.
hook_body_bytes_max = 24 * 1024 * 1024  # a payload carries what a tool printed
hook_text_bytes_max = 8_000
hook_letter_bytes_max = 4_000  # of one message; the rest of it is a call away
hook_letters_max = 10
hook_answers_max = 200  # kept of one session until they are known to be read
hook_stops_in_a_row_max = 8  # that mail keeps an agent from stopping
transcript_bytes_max = 64 * 1024 * 1024  # of a program's record of a conversation, in one look
hook_hold_seconds_max = 24 * 3600 - 60  # that a request for permission is held; programs wait a day
hook_status_seconds = 240  # before the same word about a status is stored anew
hook_firing_seconds = 60  # between two notes that the same hook fired
hook_problem_chars_max = 300
hook_sessions_remembered_max = 10_000
hook_nowhere_seconds = 30  # before a directory without a project is looked at again

# Upkeep: how much one round may do.
upkeep_pace_seconds = 0.25
upkeep_batch_rows_max = 500

# Worktrees
worktree_git_seconds_max = 60
worktree_checkout_seconds_max = 900  # many files, or filters that fetch them
worktree_tries_max = 5  # of `git worktree`, while others add and remove theirs
worktree_retry_milliseconds = 50
tidy_seconds = 30  # after the end of a session whose run goes on
worktree_walk_entries_max = 200_000
worktree_names_max = 500  # files or commits in one answer
names_in_message_max = 5
git_lock_milliseconds = 5_000
git_output_bytes_max = 32 * 1024 * 1024  # of one command; more is refused, never cut
links_max = 200  # other projects that one checkout names
link_chars_max = 4_000
checkout_settings_bytes_max = 64 * 1024
copy_patterns_max = 50
copy_pattern_chars_max = 1_000
copy_files_max = 500
copy_bytes_max = 64 * 1024 * 1024
setup_seconds_default = 600
setup_seconds_max = 24 * 3600
setup_files_max = 2_000  # that it makes and git does not ignore, told from work
setup_lines_shown_max = 10
setup_output_bytes_max = 64 * 1024
diff_bytes_max = 1024 * 1024
diff_file_bytes_max = 4 * 1024 * 1024
diff_untracked_files_max = 50
merge_seconds_max = 300
merge_tries_max = 5
merge_message_chars_max = 20_000
author_chars_max = 255
conflict_files_max = 50
conflict_bytes_max = 8 * 1024  # of one file
conflict_read_bytes_max = 1024 * 1024
conflict_chars_max = 100_000  # of all of them, in a task

# Trackers
tracker_seconds_default = 30  # between two looks at all of its issues
tracker_call_seconds_default = 30  # that one call of its program may take
tracker_retry_seconds_min = 2  # after the first failure; then twice as long each time
tracker_retry_seconds_max = 300
tracker_output_bytes_max = 64 * 1024 * 1024
tracker_look_max = 50  # issues in one call
tracker_looks_max = 200  # issues that one round looks at besides those that must be
tracker_steps_max = 200  # issues that one round tells about
tracker_issues_max = 10_000  # that are listed; of more, the rest is left out and said so
tracker_refusals_max = 5  # of different issues in one round, before it counts as broken
tracker_text_chars_max = 20_000  # of one text that is told: it must fit into an argument
trackers_at_once_max = 4  # projects whose trackers are asked at the same time

# Commands that people wrote down: gates, set-up
command_grace_seconds = 2  # between being asked to end and being ended

# Runs
run_parallel_default = 4
run_parallel_max = 64
run_attempts_default = 2
run_attempts_max = 16
run_tasks_max = 5_000
story_moments_max = 50_000  # on one exported page
run_note_chars_max = 500
run_look_seconds = 60  # a live run is looked at at least this often
run_grace_seconds = 5  # for a program that stays after its task is done
gate_seconds_max = 1_800
gates_parallel_max = 2  # tasks whose gates run at once
gate_output_bytes_max = 256 * 1024
