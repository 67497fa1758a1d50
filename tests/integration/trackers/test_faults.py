"""Mail continues while a tracker hangs, fails, is missing or is late. Afterwards no change is missing or doubled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from maestro.testing.supervised import wait_until

from .conftest import World

pytestmark = pytest.mark.slow

HASTY = "tracker_seconds = 1\ntracker_call_seconds = 1\n"


def pid(world: World) -> str:
    assert world.live.process is not None
    return str(world.live.process.pid)


def troubles(world: World) -> dict[str, Callable[[], None]]:
    """Return a function for each fault. The function causes the fault, and returns a function that repairs it."""
    hand, program = world.hand, world.hand.checkout.parents[1] / "bin" / "bd"

    def gone() -> Callable[[], None]:
        away = program.with_name("bd-away")
        program.rename(away)
        return lambda: away.rename(program) and None

    def says(name: str, text: str) -> Callable[[], None]:
        hand.misbehave(name, text)
        return lambda: hand.stop_misbehaving(name)

    return {
        "hangs": lambda: says("hang", pid(world)),
        "fails": lambda: says("fail", "database is locked"),
        "is newer": lambda: says("schema", "99"),
        "is gone": gone,
        "has lost its folder": lambda: _moved(world),
    }  # type: ignore[dict-item]


def _moved(world: World) -> Callable[[], None]:
    away = world.hand.folder.with_name(".beads-away")
    world.hand.folder.rename(away)
    return lambda: away.rename(world.hand.folder) and None


@pytest.mark.parametrize("trouble", ["hangs", "fails", "is newer", "is gone", "has lost its folder"])
def test_mail_continues_while_the_tracker_has_a_fault(
    trouble: str, newest: str, make_world: Callable[..., World]
) -> None:
    world = make_world(settings=HASTY)
    finder, keeper = world.vc.join("finder"), world.beads.join("keeper")
    first = world.open(finder, "First")
    world.in_step()
    mend = troubles(world)[trouble]()
    second = world.open(finder, "Second")
    keeper.json("issue", "claim", first)
    said = []
    for number in range(5):
        one, other = (keeper, finder) if number % 2 else (finder, keeper)
        said.append(f"Word {number}")
        sent = one.json("issue", "reply", first, "--message", said[-1], "--type", "query")
        assert said[-1] in [mail["body"] for mail in other.json("mail", "wait", "--timeout", "30s")["messages"]]
        receipts = one.json("mail", "status", sent["id"])["deliveries"]
        assert "read" in [receipt["status"] for receipt in receipts]

    def troubled() -> dict[str, Any] | None:
        now = world.status()
        return now if now["failures"] >= 2 and now["behind_issues"] else None

    status = wait_until(troubled, what="two failures while changes are unsent")
    assert status["problem"] and status["retry_at"]
    keeper.json("issue", "close", first, "--message", "Done.")

    mend()  # type: ignore[operator]
    world.in_step()
    there = {one["title"]: one for one in world.hand.issues()}
    assert sorted(there) == ["First", "Second"] and there["First"]["status"] == "closed"
    assert world.hand.comment_texts(there["First"]["id"]) == [*said, "Done."]
    assert world.vc.bodies(first)[1:] == [*said, "Done."]
    assert world.vc.issue(second)["status"] == "todo"
    assert world.status()["problem"] == "" and world.status()["failures"] == 0


def test_issues_that_are_opened_while_the_tracker_is_missing_are_counted(
    newest: str, make_world: Callable[..., World]
) -> None:
    world = make_world(settings=HASTY)
    finder = world.vc.join("finder")
    world.in_step()
    troubles(world)["is gone"]()
    wait_until(lambda: world.status()["failures"], what="a failure")
    world.open(finder, "Second")
    wait_until(lambda: world.status()["behind_issues"] == 1, what="the count of the issue")


@pytest.mark.slow
@pytest.mark.parametrize("generation", ["0.46.0", "0.50.3", "1.0.5"])
def test_a_change_whose_answer_came_too_late_is_not_repeated(
    generation: str, make_world: Callable[..., World], newest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tracker makes each change, but each answer comes too late."""
    monkeypatch.setenv("STANDIN_BD", generation)
    world = make_world(settings=HASTY)
    finder, keeper = world.vc.join("finder"), world.beads.join("keeper")
    world.hand.misbehave("stall", pid(world))
    ref = world.open(finder)
    finder.json("issue", "reply", ref, "--message", "And this.")
    keeper.json("issue", "claim", ref)

    def is_there() -> bool:
        found = world.hand.issues()
        return bool(found and found[0]["comments"] and found[0]["status"] == "in_progress")

    wait_until(is_there, what="the arrival of all changes in bd")
    world.hand.stop_misbehaving("stall")
    world.in_step()
    (there,) = world.hand.issues()
    assert world.hand.comment_texts(there["id"]) == ["And this."] and there["assignee"] == "keeper"
    assert world.vc.bodies(ref)[1:] == ["And this."] and world.vc.issue(ref)["status"] == "in_progress"


def test_an_issue_that_the_tracker_refuses_does_not_delay_other_issues(
    newest: str, make_world: Callable[..., World]
) -> None:
    world = make_world()
    finder = world.vc.join("finder")
    world.hand.run_bd("create", "Someone else's", "--external-ref", "elsewhere")
    long = world.open(finder, "x" * 500)
    world.in_step()
    ref = {one["title"]: one for one in world.hand.issues()}["x" * 500]["id"]
    state = world.hand.folder / "standin.json"
    state.write_text(state.read_text().replace(f'"{ref}"', '"bd-gone"'))  # as after a deletion in bd
    finder.json("issue", "reply", long, "--message", "Nobody hears this.")
    world.open(finder, "Another")
    wait_until(
        lambda: any(one["title"] == "Another" for one in world.hand.issues()), what="the arrival of the other issue"
    )
    (untold,) = wait_until(lambda: world.status()["unsynced"], what="the report about the refused issue")
    assert (untold["issue"], untold["ref"]) == (long, ref) and "not" in untold["problem"]
    assert world.vc.issue(long)["status"] == "todo"


def test_a_round_makes_no_call_for_each_issue(newest: str, make_world: Callable[..., World]) -> None:
    """A round without changes makes one list call. A round with changes makes one more call."""
    world = make_world(settings="tracker_seconds = 3600\n")
    for number in range(30):
        world.hand.run_bd("create", f"Issue {number}")
    world.in_step()
    assert len(world.beads.json("issue", "list", "--limit", "100")["issues"]) == 30
    world.in_step()
    before = len(world.hand.calls())
    world.in_step()
    assert [one[0] for one in world.hand.calls()[before:]] == ["list"]
    for ref in [one["id"] for one in world.hand.run_bd("list", "--limit", "0")][:10]:
        world.hand.run_bd("comments", "add", ref, "News")
    before = len(world.hand.calls())
    world.in_step()
    assert [one[0] for one in world.hand.calls()[before:]] == ["list", "show"]
