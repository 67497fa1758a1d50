"""Every bound in one place, with its unit last in the name."""

from __future__ import annotations

# Requests
body_bytes_max = 24 * 1024 * 1024  # a document of the largest size, in base 64
frame_bytes_max = 1024 * 1024
stdin_bytes_max = 16 * 1024 * 1024
http_header_bytes_max = 64 * 1024
http_drop_seconds_max = 5  # that the rest of a refused body is read, so that its sender sees the answer
idempotency_key_chars_max = 200
idempotency_days_kept = 7
http_head_seconds_max = 10  # for a whole head; and for a connection to show a caller
http_strangers_max = 512  # connections that have not shown a caller; the oldest is closed for a new one
http_strangers_files_divisor = 4  # at most this part of the files that the server may open
http_log_line_seconds = 60  # between two lines in the log about the same fault of clients

# The writer: one transaction takes at most this many callers; more wait for the next.
write_batch_max = 256
quick_batch_max = 64
quick_jobs_at_once_max = 8  # on the event loop: more would keep readers waiting
write_answers_at_once_max = 16
write_queue_max = 20_000
routes_remembered_max = 10_000
readers_max = 2

# Sizes on disk
released_pages_at_once = 128  # of the database file, in one transaction; as in sql/sqlite/space.sql
free_pages_kept = 256  # for the rows that come next
free_pages_kept_divisor = 10  # or this part of all pages
compact_at_start_bytes_max = 64 * 1024 * 1024  # a larger database is compacted by hand: a start must be quick
log_bytes_max = 4 * 1024 * 1024  # of a log of the server or of a runner, and of its one old log

# Text
title_chars_max = 500
description_chars_max = 200_000
description_chars_in_lists = 1_000  # the whole text comes with one task
reason_chars_max = 20_000
report_chars_max = 200_000
name_chars_max = 64
command_chars_max = 4_000

# Quotas of sessions. Runs of 200 workers stay far below each; one session that makes things in a loop does not.
sessions_per_parent_default = 256  # live sessions that one session registered; spawned ones have bounds of their own
sessions_per_minute_default = 300  # that one family registers
asks_per_session_default = 20  # open questions of one session
asks_per_parent_default = 256  # open questions of all sessions with the same parent
asks_per_minute_default = 300  # of one family
tasks_per_minute_default = 600  # of one family: a large plan is made at once, 1,000 tasks in 3 s are not
project_bytes_per_day_default = 2 * 1024**3  # 200 workers store 10 MiB each

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
blobs_verified_max = 20_000  # files whose checked state is remembered

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
mail_per_minute_default = 120  # from one session to one mailbox
mail_per_minute_of_family_default = 1_200  # from a session and all below it to one mailbox: 50 workers send 24 each
mail_per_minute_of_project_default = 3_000  # from all sessions of a project to one mailbox
rates_remembered_max = 100_000
families_remembered_max = 100_000  # sessions whose top-most parent is known
critical_refusal_seconds = 60  # between two tool calls that critical mail of agents refuses, for each recipient
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
storage_retry_seconds = 1  # before the end of a session is stored again that a full disk refused
runner_restarts_max = 3  # of one that ended before its agent ran
runner_restart_seconds = 1  # before the second; then twice as long each time
resume_after_seconds = (0, 2, 10)  # a session that ended by accident is started again, so often, each time later
resume_forgotten_seconds = 600  # who ran this long has all of these tries again
starts_parallel_max = 8  # of sessions that were found without their program, at once
resume_look_seconds = 1  # while its last runner has not ended, or whoever is above it is not there yet
found_sessions_max = 500
sessions_in_tree_max = 20_000
ancestry_depth_max = 64
descriptors_reserved = 32  # that new connections leave to the server's own files and programs
refusal_log_seconds = 1  # between two lines about requests that the server refused for the same cause
large_body_bytes = 1024 * 1024  # of a request, after which free memory is given back to the system
stop_seconds_max = 10
socket_check_seconds = 0.5  # how often the server looks whether its socket file is still there

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
templates_remembered_max = 1_000  # files of all projects
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
record_threads_max = 4  # that read such records; a read that hangs keeps its thread
record_seconds_max = 5  # until a hook's answer no longer waits for such a read
hook_hold_seconds_max = 24 * 3600 - 60  # that a request for permission is held; programs wait a day
hook_status_seconds = 240  # before the same word about a status is stored anew
hook_firing_seconds = 60  # between two notes that the same hook fired
hook_problem_chars_max = 300
hook_sessions_remembered_max = 10_000
hook_nowhere_seconds = 30  # before a directory without a project is looked at again

# Care of data
mark_milliseconds = 900  # between a commit and the mark beside the database
check_after_start_seconds = 600  # before the first full check of a server's life
check_pause_seconds = 0.02  # of the slow check, between two tables or files
damage_lines_max = 5  # named in one message

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
git_config_bytes_max = 512 * 1024  # of one file of a repository's configuration, which is read without git
git_config_files_max = 32  # of one repository, with the files that they include
git_config_settings_max = 20_000
git_config_cached_max = 1_000  # repositories whose configuration is remembered until a file of it changes
worktree_record_bytes_max = 16 * 1024 * 1024  # of what Maestro notes beside git's own files about a worktree
git_output_bytes_max = 32 * 1024 * 1024  # of one command; more is refused, never cut
git_error_chars_max = 2_000
remotes_max = 200  # of one checkout
remote_chars_max = 4_500  # a line of `git remote -v`
links_max = 200  # other projects that one checkout names
link_chars_max = 4_000
checkout_settings_bytes_max = 64 * 1024
toml_key_parts_max = 8  # of one dotted key, in files that a checkout brings
toml_depth_max = 16
toml_word_chars_max = 200  # a bare key, a number or a date
toml_marks_max = 8_000  # dots, commas, brackets, equal signs and ends of lines: each costs the parser time
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
sandbox_start_seconds_max = 30  # for bubblewrap to make an empty sandbox
sandbox_caches_max = 20  # folders that a project shows to its sandbox
gates_parallel_max = 2  # tasks whose gates run at once
gate_output_bytes_max = 256 * 1024
