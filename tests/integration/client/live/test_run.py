"""`maestro run` updates a picture in a terminal, or prints a line for each change, also after a server restart."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable

import pytest

from maestro.testing.console import Console
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

Sit = Callable[..., Console]
WAIT = "while [ ! -e go ]; do sleep 0.02; done"


@pytest.fixture
def graph(shop: Workshop) -> Workshop:
    """Create two tasks below a third task; the second task depends on the first."""
    shop.create_task("Everything")
    shop.create_task("First", "--parent", "#1")
    shop.create_task("Second", "--parent", "#1", "--depends-on", "#2")
    return shop


@pytest.fixture
def watch(sit: Sit) -> Sit:
    """Start commands on terminals without colours, because colour codes would divide the expected texts."""
    return functools.partial(sit, NO_COLOR="1")


def run_of(shop: Workshop) -> str:
    return str(wait_until(lambda: shop.call_json("run", "list")["runs"], what="the start of the run")[0]["id"])


def test_a_run_is_drawn_in_place_until_its_end(graph: Workshop, watch: Sit) -> None:
    console = watch("run", "#1", "--", "sh", "-c", WAIT, columns=90, rows=20)
    assert b"\x1b[?1049h" in console.wait_for_output("● #2".encode())
    console.wait_for_output("← #2".encode())
    (graph.repo / "go").touch()
    console.wait_for_output(b"2/2 done")
    assert console.wait_for_exit() == 0
    left = console.shown.partition(b"\x1b[?1049l")[2]
    assert b"completed" in left and "✓ #3".encode() in left, "the last picture stays on the screen"
    assert console.modes() == console.before


def test_the_view_shows_the_running_time_and_fits_a_new_window_size(graph: Workshop, watch: Sit) -> None:
    console = watch("run", "#1", "--", "sh", "-c", WAIT, columns=90, rows=20)
    console.wait_for_output(b"0:01")
    console.wait_for_output(b"0:02")
    console.resize(40, 9)
    console.wait_for_output(b"\x1b[H")
    frame = console.wait_for_output(b"\x1b[J")
    lines = frame.decode().rpartition("\x1b[H")[2].split("\r\n")
    assert len(lines) <= 9
    console.type_keys(b"\x03")
    assert console.wait_for_exit() == 0


def test_ctrl_c_leaves_the_run_running_and_names_the_command_to_return(graph: Workshop, watch: Sit) -> None:
    console = watch("run", "#1", "--", "sh", "-c", WAIT)
    console.wait_for_output("● #2".encode())
    console.type_keys(b"\x03")
    assert console.wait_for_exit() == 0
    run_id = run_of(graph)
    assert f"maestro run show {run_id} --follow".encode() in console.shown
    assert console.modes() == console.before
    assert graph.call_json("run", "show", run_id)["status"] == "running"
    again = watch("run", "show", run_id, "--follow")
    again.wait_for_output("● #2".encode())
    (graph.repo / "go").touch()
    again.wait_for_output(b"2/2 done")
    assert again.wait_for_exit() == 0


def test_the_view_survives_a_restart_of_the_server(graph: Workshop, watch: Sit) -> None:
    console = watch("run", "#1", "--", "sh", "-c", WAIT)
    console.wait_for_output("● #2".encode())
    graph.live.kill()
    console.wait_for_output(b"no server has answered")
    graph.live.start()
    console.wait_for_output(b"Ctrl-C leaves")
    (graph.repo / "go").touch()
    console.wait_for_output(b"2/2 done")
    assert console.wait_for_exit() == 0


def test_without_a_terminal_each_change_is_a_line(graph: Workshop) -> None:
    running = graph.live.start_command("run", "#1", "--", "sh", "-c", WAIT, cwd=graph.repo)
    assert running.stdout is not None
    lines = [running.stdout.readline().decode().strip()]
    run_id = run_of(graph)
    graph.live.kill()
    graph.live.start()
    (graph.repo / "go").touch()
    out, err = running.communicate(timeout=60)
    lines += out.decode().splitlines()
    assert running.returncode == 0, err
    assert lines[0].startswith(run_id) and lines[-1].startswith(f"{run_id}  completed")
    assert len(lines) == len(set(lines)), "no line is printed twice"
    assert [line.split("  ")[:2] for line in lines if "vc#" in line[:3]][-1] == ["vc#3", "completed"]
    assert "\x1b" not in out.decode()


def test_the_exit_code_is_the_result_of_the_run(shop: Workshop) -> None:
    shop.create_task("Hopeless")
    words = ("run", "#1", "--attempts", "1", "--", "false")
    assert shop.live.run_command(*words, cwd=shop.repo).returncode == 1
    run_id = run_of(shop)
    shown = shop.live.run_command("run", "show", run_id, cwd=shop.repo)
    assert shown.returncode == 0 and b"failed" in shown.stdout, "run show without --follow succeeds"
    told = shop.live.run_command("run", "show", run_id, "--follow", "--json", cwd=shop.repo)
    assert told.returncode == 1 and json.loads(told.stdout)["status"] == "failed"


def test_an_unknown_run_is_refused(shop: Workshop, watch: Sit) -> None:
    assert "There is no run" in shop.run_maestro("run", "show", "run_x", "--follow", exits=6)
