"""The server is killed before or after each step of a synchronisation: the tracker gets each change exactly once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Desk, World, use

STEPS = (
    6  # a comment, the closing comment and the close of one issue; the creation, a comment and the claim of the next
)


def changes(world: World) -> int:
    """Return the number of changes in the tracker."""
    state = world.hand.folder / "standin.json"
    return int(json.loads(state.read_text())["changes"]) if state.exists() else 0


def dies_at(world: World, when: str, step: int) -> None:
    """Release the tracker, which kills the server at that step; then start the server again."""
    process = world.live.process
    assert process is not None
    world.hand.misbehave("kill", f"{when} {changes(world) + step} {process.pid}")
    world.hand.stop_misbehaving("hang")
    process.wait(30)
    world.live.start()
    world.in_step()


def hold(world: World) -> None:
    assert world.live.process is not None
    world.hand.misbehave("hang", str(world.live.process.pid))


@pytest.mark.slow
@pytest.mark.parametrize("generation", ["0.46.0", "1.0.5"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_the_tracker_gets_each_change_once_when_the_server_is_killed(
    generation: str,
    when: str,
    make_world: Callable[..., World],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(generation, tmp_path, monkeypatch)
    world = make_world()
    finder, keeper = world.vc.join("finder"), world.beads.join("keeper")
    refs = [world.open(finder, "Issue 0", "Text 0")]
    keeper.json("issue", "claim", refs[0])
    world.in_step()
    for step in range(1, STEPS + 1):
        hold(world)
        last = refs[-1]
        finder.json("issue", "reply", last, "--message", f"More about {last}")
        keeper.json("issue", "close", last, "--message", f"Done with {last}")
        refs.append(world.open(finder, f"Issue {step}", f"Text {step}"))
        finder.json("issue", "reply", refs[-1], "--message", f"First about {refs[-1]}")
        keeper.json("issue", "claim", refs[-1])
        dies_at(world, when, step)
        agree(world, refs)


def agree(world: World, refs: list[str]) -> None:
    """Assert that both places have each issue and each comment once, in the same order and with the same status."""
    found = world.hand.issues()
    there = {one["external_ref"]: one for one in found}
    assert len(there) == len(found) == len(refs)
    for place, ref in list(enumerate(refs))[-2:]:  # earlier issues were checked in earlier rounds
        shown = world.vc.issue(ref)
        one = there[f"maestro:{shown['id']}"]
        is_last = place == len(refs) - 1
        assert (shown["status"], one["status"]) == (
            ("in_progress", "in_progress") if is_last else ("completed", "closed")
        )
        said = [f"First about {ref}"] if place else []
        said += [] if is_last else [f"More about {ref}", f"Done with {ref}"]
        assert world.hand.comment_texts(one["id"]) == said
        assert [comment["body"] for comment in shown["comments"]] == [f"Text {place}", *said]


@pytest.mark.slow
def test_each_comment_of_the_tracker_arrives_once_when_the_server_is_killed(
    newest: str, make_world: Callable[..., World]
) -> None:
    world = make_world()
    finder = world.vc.join("finder")
    ref = world.open(finder)
    world.in_step()
    (there,) = world.hand.issues()
    said: list[str] = []
    for turn in range(6):
        hold(world)
        for number in range(3):
            said.append(f"Turn {turn}, comment {number}")
            world.hand.run_bd("comments", "add", there["id"], said[-1])
        said.append("Again.")  # the same text each time
        world.hand.run_bd("comments", "add", there["id"], said[-1])
        Desk(world.live, world.beads.folder).json("tracker", "sync")
        world.hand.stop_misbehaving("hang")
        before = len(world.hand.calls())
        while len(world.hand.calls()) < before + turn % 3:
            pass  # the kill follows the first, second or third call of the round
        world.live.kill()
        world.live.start()
        world.in_step()
        assert world.vc.bodies(ref)[1:] == said
    assert world.hand.comment_texts(there["id"]) == said
    assert [one["body"] for one in finder.json("mail", "inbox", "--all", "--limit", "100")["messages"]][::-1] == said
