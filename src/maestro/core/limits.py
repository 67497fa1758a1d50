"""All limits, intervals and time limits of Maestro. A name ends with its unit, or with `max`, `min` or `default`."""

from __future__ import annotations

# Requests
body_bytes_max = 24 * 1024 * 1024  # the largest document in base 64
stdin_bytes_max = 16 * 1024 * 1024
http_header_bytes_max = 64 * 1024
# For the rest of a refused body: a sender reads the answer only after the whole body.
refused_body_read_seconds_max = 5
idempotency_key_chars_max = 200
idempotency_days_kept = 7
http_head_seconds_max = 10  # until the head of a request is complete; and until a connection identifies its caller
http_unidentified_connections_max = 512  # connections without an identified caller; a new one closes the oldest
http_unidentified_files_divisor = 4  # at most this part of the server's open files
http_log_line_seconds = 60  # between two log lines about the same client error

# The writer: one transaction runs the writes of at most this many callers; more callers wait for the next one.
write_batch_max = 256
quick_batch_max = 64
quick_jobs_at_once_max = 8  # on the event loop, because more would delay readers
write_answers_at_once_max = 16
write_queue_max = 20_000
routes_remembered_max = 10_000
readers_max = 2

# Sizes on disk
released_pages_at_once = 128  # pages of the database file in one transaction
free_pages_kept = 256  # free pages stay in the file for the next rows
free_pages_kept_divisor = 10  # or this part of all pages, if more
compact_at_start_bytes_max = 64 * 1024 * 1024  # a larger database needs a command, because a start must be quick
log_bytes_max = 4 * 1024 * 1024  # of a log of the server or of a runner, and of the one old log

# Text
title_chars_max = 500
description_chars_max = 200_000
description_chars_in_lists = 1_000  # `task show` returns the whole text
reason_chars_max = 20_000
report_chars_max = 200_000
name_chars_max = 64
command_chars_max = 4_000

# Quotas of sessions. A run of 200 workers stays far below each quota; a session that creates objects in a loop does
# not.
sessions_per_parent_default = 256  # live sessions that one session registered; spawned sessions have their own limits
sessions_per_minute_default = 300  # sessions that one family registers
asks_per_session_default = 20  # open questions of one session
asks_per_parent_default = 256  # open questions of all sessions with the same parent
asks_per_minute_default = 300  # of one family
tasks_per_minute_default = 600  # of one family: enough for a large plan, but not for 1,000 tasks in 3 s
project_bytes_per_day_default = 2 * 1024**3  # 200 workers store 10 MiB each

# Tasks
task_list_items_max = 50  # acceptance lines or gates of one task
dependencies_of_one_task_max = 1_000
reference_ids_max = 200  # ids in one list argument
task_depth_max = 32
stages_max = 20
cycle_names_shown_max = 20
blockers_shown_max = 20
task_lease_seconds_default = 600
lease_seconds_min = 5
lease_seconds_max = 24 * 3600
page_items_default = 50
page_items_max = 500
tree_items_max = 5_000

# Documents. A document larger than `inline_bytes_max` becomes a file beside the database.
inline_bytes_max = 16 * 1024
document_bytes_max = 16 * 1024 * 1024
documents_of_one_task_max = 500
blobs_verified_max = 20_000  # files that the server remembers as checked

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
inbox_body_chars_max = 20_000  # a longer body is cut, and the message stays unread until the whole body is shown
inbox_chars_max = 200_000  # all bodies of one inbox page together
recipients_max = 100  # addresses in one message
broadcast_recipients_max = 20_000
attachments_max = 20
attachment_bytes_max = 8 * 1024 * 1024
attachments_bytes_max = 16 * 1024 * 1024  # of one message
thread_messages_shown_max = 500
gather_milliseconds_default = 500
gather_seconds_max = 60
wait_messages_max = 100
mail_hops_max = 24  # quick answers in a row between two agents
mail_hop_seconds = 90
mail_per_minute_default = 120  # from one session to one mailbox
mail_per_minute_of_family_default = 1_200  # from a session and all below it to one mailbox: 50 workers send 24 each
mail_per_minute_of_project_default = 3_000  # from all sessions of a project to one mailbox
rates_remembered_max = 100_000
families_remembered_max = 100_000  # sessions whose top-most parent the server remembers
critical_refusal_seconds = 60  # between two tool calls of a recipient that an agent's critical mail refuses
search_terms_max = 32
search_index_rows_max = 500  # in one transaction
search_index_seconds = 1  # without new mail, before the background job indexes messages
search_unindexed_messages_max = 20_000  # messages that are not indexed; with more, the job does not wait for a pause

# Members, teams, asks
role_chars_max = 200
identity_chars_max = 50_000
identity_chars_in_lists = 1_000  # `member show` returns the whole text
avatar_chars_max = 64
skills_max = 50
skill_chars_max = 200
skill_text_chars_max = 20_000  # in the prompt of a program that cannot get the skill's file
model_chars_max = 200
member_operations_max = 200  # allowed or denied operations of one member
team_members_max = 200
choices_max = 20
notification_seconds_max = 10  # one attempt of a channel
notification_hold_seconds = 5  # the reason of a notification must hold for this time
notification_gap_seconds = 60  # between two notifications about one session, other than asks
notification_pauses_seconds = (5, 30, 120, 600, 3600, 4 * 3600)  # before each further attempt of a webhook
notification_days = 7  # how long finished notifications are kept
notifications_in_round_max = 20

# Sessions
session_lease_seconds = 120
presence_online_seconds_max = 120  # since the last sign of life of an agent that counts as online
agent_tasks_shown_max = 20  # held tasks of one agent in a list of agents
session_lease_without_process_seconds = 900  # of a session without a process, which only renews its lease
session_grace_seconds = 10  # after the end of the session's process
sleep_grace_seconds = 90  # after the machine slept, or the server did not run
presence_store_seconds = 20  # between two stored signs of life
status_valid_seconds = 600  # how long a status report counts without another sign of life
processes_watched_max = 4096
session_tasks_max = 100
runner_answer_seconds_max = 10
runner_event_text_chars_max = 20_000  # of one text in a conversation event
runner_event_items_max = 20  # of one list in a conversation event, each item as long as a subject
runner_report_attempts_max = 30  # failures on one report before the server drops the report
prompt_accepted_seconds = 2  # for an agent's terminal to accept a typed prompt
run_tasks_moving_max = 100  # tasks of a large run in one step
spawn_depth_max = 4  # levels of coordinators below coordinators
spawns_of_one_coordinator_max = 32  # live at once
spawns_of_one_project_max = 256
push_confirm_seconds = 60  # until a push must have reached the model; later the push is repeated
push_attempts_max = 3
push_messages_max = 20  # messages in one push
allow_patterns_max = 100  # patterns of one session
parked_seconds_default = 300  # if a provider names no end of its rate limit
parked_seconds_max = 7 * 24 * 3600
report_tail_chars_max = 4_000
stop_grace_seconds = 10
spawn_answer_seconds = 1  # how long a spawn waits for the report that the program runs
storage_retry_seconds = 1  # before the next attempt to store the end of a session on a full disk
runner_restarts_max = 3  # of a runner that ended before its agent ran
runner_restart_seconds = 1  # before the second start; then twice as long each time
resume_delays_seconds = (0, 2, 10)  # before each attempt to resume a session that ended by accident
resume_attempts_forgotten_seconds = 600  # a session gets all attempts again after running for this time
starts_parallel_max = 8  # sessions without a program that the server starts at once
resume_check_seconds = 1  # while the session's last runner has not ended, or its coordinator does not run yet
found_sessions_max = 500
sessions_in_tree_max = 20_000
ancestry_depth_max = 64
descriptors_reserved = 32  # descriptors for the server's own files and programs, which new connections do not get
refusal_log_seconds = 1  # between two log lines about requests refused for the same cause
large_body_bytes = 1024 * 1024  # after a request of this size the server gives free memory back to the system
stop_seconds_max = 10
socket_check_seconds = 0.5  # between two checks that the server's socket file exists

# Prompts. Both prompts together fit into one argument of a program, which Linux limits to 128 KiB.
system_prompt_bytes_max = 48_000
task_prompt_bytes_max = 80_000
prompt_text_chars_max = 8_000  # one description, directive or identity; a command shows the whole text
prompt_line_chars_max = 500  # a title, an acceptance line, a gate
prompt_items_max = 20  # of one list inside a task
prompt_entries_max = 200  # tasks, siblings, members, commands
roster_identity_chars_max = 1_000
template_bytes_max = 16 * 1024
templates_max = 100
templates_remembered_max = 1_000  # files of all projects
template_phases_max = 20

# MCP
mcp_progress_seconds = 12  # between two progress notifications during a wait
mcp_stalled_seconds = 30  # before a client that reads no output is disconnected
mcp_never_listening_seconds_max = 900  # of a client that never listened, before its MCP session ends
mcp_no_longer_listening_seconds_max = 120  # of a client that no longer listens, before its MCP session ends
mcp_reap_seconds = 30
mcp_line_bytes_max = 32 * 1024 * 1024

# Hooks. Programs cut the output of a hook at about 10,000 characters and put the rest into a file.
hook_body_bytes_max = 24 * 1024 * 1024  # a payload contains the output of a tool call
hook_text_bytes_max = 8_000
hook_message_bytes_max = 4_000  # of one message; a command shows the rest
hook_messages_max = 10
prompt_read_chars_max = 1_000  # read from a prompt for its beginning
window_ask_poll_seconds = 0.5  # between two looks at the record of a program with an open dialog
window_ask_settle_seconds = 0.1  # a program may complete its record after its dialog opened
held_ask_settle_seconds = 0.5  # the same for a program whose hook waits beside its dialog
prompt_beginning_chars_max = 80  # kept of the last prompt, to tell windows apart
hook_answers_max = 200  # kept answers of one session whose reading is not confirmed
hook_stops_in_a_row_max = 8  # stops in a row that mail prevents
transcript_bytes_max = 64 * 1024 * 1024  # of a program's transcript, in one read
transcript_threads_max = 4  # threads for reads of transcripts; a hanging read keeps its thread
transcript_read_seconds_max = 5  # how long a hook's answer waits for the read of a transcript
hook_hold_seconds_max = 24 * 3600 - 60  # how long a hook holds a permission request; programs wait a day
hook_status_seconds = 240  # before the same status report is stored again
hook_firing_seconds = 60  # between two stored firings of the same hook
hook_problem_chars_max = 300
hook_sessions_remembered_max = 10_000
hook_unknown_directory_seconds = 30  # before a directory without a project is checked again

# Care of data
mark_milliseconds = 900  # between a commit and the update of the mark file beside the database
check_after_start_seconds = 600  # after the server's start, before the first full check
check_pause_seconds = 0.02  # between two tables or files of the slow check
damage_lines_max = 5  # damaged records named in one message

# Background jobs: how much one round may do.
job_pace_seconds = 0.25
job_batch_rows_max = 500

# Worktrees
worktree_git_seconds_max = 60
worktree_checkout_seconds_max = 900  # long, for many files, or for filters that fetch files
worktree_attempts_max = 5  # of `git worktree`, which fails while other processes add and remove worktrees
worktree_retry_milliseconds = 50
worktree_kept_seconds = 30  # after the end of a session whose run goes on, before its worktree is removed
worktree_walk_entries_max = 200_000
worktree_names_max = 500  # files or commits in one answer
names_in_message_max = 5
git_lock_milliseconds = 5_000
git_config_bytes_max = 512 * 1024  # of one configuration file of a repository, which Maestro reads without git
git_config_files_max = 32  # of one repository, with included files
git_config_settings_max = 20_000
git_config_cached_max = 1_000  # repositories with a cached configuration, valid until a configuration file changes
worktree_record_bytes_max = 16 * 1024 * 1024  # of Maestro's record of a worktree, beside git's own files
git_output_bytes_max = 32 * 1024 * 1024  # of one git command; longer output is an error, it is never cut
git_error_chars_max = 2_000
remotes_max = 200  # of one checkout
remote_chars_max = 4_500  # a line of `git remote -v`
links_max = 200  # other projects in the settings of a checkout
link_chars_max = 4_000
checkout_settings_bytes_max = 64 * 1024
toml_key_parts_max = 8  # of one dotted key, in the settings files of a checkout
toml_depth_max = 16
toml_token_chars_max = 200  # a bare key, a number or a date
toml_marks_max = 8_000  # dots, commas, brackets, equal signs and line ends; each costs the parser time
copy_patterns_max = 50
copy_pattern_chars_max = 1_000
copy_files_max = 500
copy_bytes_max = 64 * 1024 * 1024
setup_seconds_default = 600
setup_seconds_max = 24 * 3600
setup_files_max = 2_000  # new files of the set-up command that git does not ignore and that do not count as work
setup_lines_shown_max = 10
setup_output_bytes_max = 64 * 1024
diff_bytes_max = 1024 * 1024
diff_file_bytes_max = 4 * 1024 * 1024
diff_untracked_files_max = 50
merge_seconds_max = 300
merge_attempts_max = 5
merge_message_chars_max = 20_000
author_chars_max = 255
conflict_files_max = 50
conflict_bytes_max = 8 * 1024  # of one file
conflict_read_bytes_max = 1024 * 1024
conflict_chars_max = 100_000  # of all files together, in a task

# Trackers
tracker_seconds_default = 30  # between two reads of all issues
tracker_call_seconds_default = 30  # for one call of the tracker's program
tracker_retry_seconds_min = 2  # after the first failure; the time doubles with each further one
tracker_retry_seconds_max = 300
tracker_output_bytes_max = 64 * 1024 * 1024
tracker_issues_per_call_max = 50  # issues that one call reads
tracker_reads_per_round_max = 200  # issues that a round reads in addition to the necessary reads
tracker_writes_per_round_max = 200  # issues that one round writes
tracker_issues_max = 10_000  # issues in a list; a note says that the list leaves out the rest
tracker_refusals_max = 5  # refused issues in one round, before the tracker counts as broken
tracker_text_chars_max = 20_000  # of one written text, which must fit into an argument of a program
trackers_at_once_max = 4  # projects whose trackers are synchronised at the same time

# Gates and set-up commands
command_grace_seconds = 2  # between SIGTERM and SIGKILL

# Runs
run_parallel_default = 4
run_parallel_max = 64
run_attempts_default = 2
run_attempts_max = 16
run_tasks_max = 5_000
story_events_max = 50_000  # events on one exported page
run_note_chars_max = 500
run_check_seconds = 60  # a live run is checked at least this often
run_grace_seconds = 5  # for a program that still runs after the end of its task
gate_seconds_max = 1_800
sandbox_start_seconds_max = 30  # for bubblewrap to start an empty sandbox
sandbox_caches_max = 20  # folders that a project's sandbox may read
gates_parallel_max = 2  # tasks whose gates run at the same time
gate_output_bytes_max = 256 * 1024
