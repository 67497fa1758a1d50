"""Gates and set-up commands end with all their processes: when cancelled, over time, or after a server's death."""

from __future__ import annotations

from pathlib import Path

from maestro.system.processes import Process, find_process
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

# Starts two processes, one of which leaves the process group. Each process writes its pid.
HANGS = "setsid sh -c 'echo $$ >> pids; exec sleep 1000' & echo $$ >> pids; exec sleep 1000"


def started(path: Path, many: int = 2) -> list[Process]:
    """Return the processes that have written their pids."""

    def look() -> list[str] | None:
        found = path.read_text().split() if path.exists() else []
        return found if len(found) >= many else None

    found = [find_process(int(pid)) for pid in wait_until(look, what="the start of all processes")]
    return [one for one in found if one is not None]


def is_there(process: Process) -> bool:
    """Return whether a process runs. A process that only waits to be reaped does not run."""
    now = find_process(process.pid)
    return now is not None and now.started == process.started and not now.has_ended


def gone(processes: list[Process]) -> None:
    wait_until(lambda: not [one for one in processes if is_there(one)], what="the end of every process")


def test_cancelling_a_task_ends_its_gate(shop: Workshop) -> None:
    shop.create_task("Parser", "--gate", HANGS)
    shop.spawn_session("--task", "#1", "--", "true")
    there = started(shop.repo / "pids")
    shop.run_maestro("task", "cancel", "#1")
    gone(there)


def test_a_gate_over_its_time_limit_ends_with_the_processes_that_left_its_group(shop: Workshop) -> None:
    shop.run_maestro("config", "set", "gate_seconds", "1")
    shop.live.stop()
    shop.live.start()
    shop.create_task("Parser", "--gate", HANGS)
    shop.spawn_session("--task", "#1", "--", "true")
    there = started(shop.repo / "pids")
    gone(there)
    wait_until(lambda: shop.task_status("#1") == "failed", what="the verdict of the gate")


def test_a_server_ends_the_gate_of_the_killed_server_and_runs_the_gate_again(shop: Workshop) -> None:
    shop.create_task("Parser", "--gate", HANGS)
    shop.spawn_session("--task", "#1", "--", "true")
    before = started(shop.repo / "pids")
    shop.live.kill()
    assert all(is_there(one) for one in before)
    shop.live.start()
    after = [one for one in started(shop.repo / "pids", many=4) if is_there(one)]
    assert len(after) == 2
    assert not [one for one in before if is_there(one)]
    shop.run_maestro("task", "cancel", "#1")
    gone(after)


def hang_in_set_up(shop: Workshop) -> Path:
    """Configure a set-up command that hangs; return the file with the pids of its processes."""
    pids = shop.live.home / "pids"
    (shop.repo / ".maestro").mkdir()
    (shop.repo / ".maestro" / "config.toml").write_text(
        f"[worktree]\nsetup = '''{HANGS.replace('pids', str(pids))}'''\n"
    )
    return pids


def test_a_hanging_set_up_command_does_not_delay_the_spawn_and_can_be_stopped(shop: Workshop) -> None:
    pids = hang_in_set_up(shop)
    shop.create_task("Parser")
    made = shop.spawn_session("--task", "#1", "--name", "parser", "--worktree", "--", "true")
    assert made["status"] == "spawning"
    there = started(pids)
    assert "stopped" in shop.run_maestro("session", "stop", "parser")
    gone(there)
    assert shop.show_session("parser")["status"] == "stopped"
    assert shop.call_json("task", "show", "#1")["ready"]
    assert "never retrieved" not in (shop.live.home / "server.log").read_text()


def test_a_session_that_is_ended_during_its_set_up_never_starts_a_program(shop: Workshop) -> None:
    pids = hang_in_set_up(shop)
    shop.spawn_session("--name", "parser", "--worktree", "--", "touch", str(shop.live.home / "never"))
    there = started(pids)
    shop.run_maestro("session", "end", "parser", "--status", "stopped")
    gone(there)
    assert not (shop.live.home / "never").exists()


def test_stopping_a_run_ends_its_set_up_commands(shop: Workshop) -> None:
    pids = hang_in_set_up(shop)
    shop.create_task("Parser")
    run = shop.start_run("#1", "--worktree", "--", "true")
    there = started(pids)
    shop.run_maestro("run", "stop", run)
    gone(there)
    wait_until(lambda: shop.call_json("task", "show", "#1")["ready"], what="the release of the task")
