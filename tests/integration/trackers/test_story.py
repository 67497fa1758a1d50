"""Issues for a project that keeps its issues in Beads are synchronised in both directions, each change once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from maestro.testing.beads import REAL
from maestro.testing.supervised import wait_until

from .conftest import World

pytestmark = pytest.mark.slow


def test_an_issue_that_a_session_opens_is_created_and_continued_in_bd(
    generation: str, make_world: Callable[..., World]
) -> None:
    world = make_world(is_real=generation == REAL)
    finder, keeper = world.vc.join("finder"), world.beads.join("keeper")
    ref = world.open(finder, "Parser crashes", "On an empty file.")
    waits = finder.json("task", "create", "Ship it", "--depends-on", ref)
    (there,) = wait_until(world.hand.issues, what="the issue in bd")
    assert there["title"] == "Parser crashes" and there["description"].startswith("On an empty file.")
    assert "Opened by dave/vc of vc" in there["description"]

    keeper.json("issue", "claim", ref)
    keeper.json("issue", "reply", ref, "--message", "Which version?", "--type", "query")
    finder.json("issue", "reply", ref, "--message", "1.3")
    world.in_step()
    (there,) = world.hand.issues()
    assert (there["status"], there["assignee"]) == ("in_progress", "keeper")
    assert world.hand.comment_texts(there["id"]) == ["Which version?", "1.3"]

    world.hand.run_bd("comments", "add", there["id"], "I can reproduce it.", actor="alice")
    world.in_step()
    (mail,) = [one for one in finder.json("mail", "inbox")["messages"] if one["body"] == "I can reproduce it."]
    assert (mail["sender"]["kind"], mail["sender"]["name"], mail["task"]) == ("tracker", "alice", ref)
    finder.json("mail", "reply", mail["id"], "--message", "Thanks.")

    keeper.json("issue", "close", ref, "--message", "Fixed in 1.4.")
    world.in_step()
    (there,) = world.hand.issues()
    assert there["status"] == "closed"
    assert world.hand.comment_texts(there["id"]) == [
        "Which version?", "1.3", "I can reproduce it.", "Thanks.", "Fixed in 1.4.",
    ]  # fmt: skip
    assert finder.json("task", "show", waits["ref"])["ready"]
    assert world.vc.bodies(ref) == [
        "On an empty file.", "Which version?", "1.3", "I can reproduce it.", "Thanks.", "Fixed in 1.4.",
    ]  # fmt: skip


def test_changes_of_an_issue_in_bd_are_made_in_maestro(generation: str, make_world: Callable[..., World]) -> None:
    world = make_world(is_real=generation == REAL)
    finder = world.vc.join("finder")
    ref = world.open(finder)
    (there,) = wait_until(world.hand.issues, what="the issue in bd")
    world.in_step()

    world.hand.run_bd("update", there["id"], "--claim", actor="alice")
    world.hand.run_bd("update", there["id"], "--title", "Crash on empty files")
    world.in_step()
    shown = world.vc.issue(ref)
    assert (shown["status"], shown["holder"], shown["title"]) == (
        "in_progress", "tracker:alice", "Crash on empty files",
    )  # fmt: skip

    world.hand.run_bd("update", there["id"], "--status", "blocked")
    world.in_step()
    assert world.vc.issue(ref)["status"] == "blocked"
    world.hand.run_bd("close", there["id"], "--reason", "Fixed by alice.")
    world.in_step()
    assert world.vc.issue(ref)["status"] == "completed"
    texts = [one["body"] for one in finder.json("mail", "inbox")["messages"]]
    assert len(texts) == 1 and texts[0]

    world.hand.run_bd("reopen", there["id"])
    world.in_step()
    assert world.vc.issue(ref)["status"] == "todo"
    assert world.hand.comment_texts(there["id"]) == []  # texts of the server itself are not sent to the tracker


def test_an_issue_that_was_created_in_bd_appears_in_maestro_without_mail(
    generation: str, make_world: Callable[..., World]
) -> None:
    world = make_world(is_real=generation == REAL)
    keeper = world.beads.join("keeper")
    made = world.hand.run_bd("create", "Of alice's own", "-d", "Text", "-p", "1")
    world.hand.run_bd("comments", "add", made["id"], "A note", actor="alice")
    world.hand.run_bd("create", "For the machine", "-t", "message")
    world.in_step()
    (mine,) = keeper.json("issue", "list")["issues"]
    assert (mine["title"], mine["priority"], mine["opener"]) == ("Of alice's own", "high", "tracker:alice")
    assert world.beads.bodies(mine["ref"]) == ["Text", "A note"]
    assert keeper.json("mail", "inbox")["messages"] == []
    waits = world.vc.json("task", "create", "Wait", "--depends-on", mine["ref"])
    keeper.json("issue", "claim", mine["ref"])
    keeper.json("issue", "reply", mine["ref"], "--message", "On it.")
    keeper.json("issue", "close", mine["ref"])
    world.in_step()
    (there,) = [one for one in world.hand.issues() if one["id"] == made["id"]]
    assert there["status"] == "closed" and "On it." in world.hand.comment_texts(made["id"])
    assert world.vc.json("task", "show", waits["ref"])["ready"]
    assert len(keeper.json("issue", "list", "--status", "all")["issues"]) == 1


def test_an_earlier_claim_in_bd_takes_precedence_over_a_claim_in_maestro(
    generation: str, make_world: Callable[..., World]
) -> None:
    """The session that claimed later loses its claim and gets a notice."""
    world = make_world(is_real=generation == REAL, settings="tracker_seconds = 3600\ntracker_call_seconds = 60\n")
    keeper = world.beads.join("keeper")
    ref = world.open(world.vc.join("finder"))
    (there,) = wait_until(world.hand.issues, what="the issue in bd")
    world.in_step()
    world.hand.run_bd("update", there["id"], "--claim", actor="alice")
    keeper.json("issue", "claim", ref)  # the server does not know the claim of alice yet
    wait_until(lambda: world.vc.issue(ref)["holder"] == "tracker:alice", what="alice's claim")
    (there,) = world.hand.issues()
    assert there["assignee"] == "alice"
    told = [one["subject"] for one in keeper.json("mail", "inbox", "--all")["messages"]]
    assert f"{ref} is no longer yours" in told
    # After a release in bd, a claim of keeper appears in bd too.
    world.hand.run_bd("update", there["id"], "--status", "open", "--assignee", "")
    world.in_step()
    keeper.json("issue", "claim", ref)
    world.in_step()
    assert world.hand.issues()[0]["assignee"] == "keeper"
    keeper.json("task", "release", ref)
    world.in_step()
    assert world.hand.issues()[0]["status"] == "open"


def test_a_session_that_claims_an_issue_with_bd_holds_the_issue_in_maestro(
    newest: str, make_world: Callable[..., World]
) -> None:
    world = make_world()
    keeper = world.beads.join("keeper")
    ref = world.open(world.vc.join("finder"))
    (there,) = wait_until(world.hand.issues, what="the issue in bd")
    world.hand.run_bd("update", there["id"], "--claim", actor="keeper")
    world.in_step()
    assert world.vc.issue(ref)["holder"] == keeper.json("whoami")["session"]["id"]
