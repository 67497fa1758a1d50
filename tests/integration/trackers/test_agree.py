"""After random simultaneous changes in both places, and kills of the server, Maestro and the tracker agree."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.testing.supervised import wait_until

from .conftest import World, use

STEPS = 40
STATES = {
    "todo": "open", "in_progress": "in_progress", "in_review": "in_progress", "blocked": "blocked",
    "completed": "closed", "failed": "closed", "cancelled": "closed",
}  # fmt: skip


class Crowd:
    """A finder in vc, a keeper in beads, and alice, who uses only bd."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world, self.chance = world, chance
        self.said: list[str] = []
        self.made = 0
        self.tokens = {"person": world.live.token}
        for name, desk in (("finder", world.vc), ("keeper", world.beads)):
            made = desk.json("session", "register", "--name", name, "--mode", "coordinate")
            self.tokens[name] = made["token"]

    def ask(self, who: str, verb: str, route: str, **body: Any) -> Any:
        """Send a request; return the answer. A refusal is normal, because another actor may have been faster."""
        headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        given: dict[str, Any] = {"params": body} if verb == "GET" else {"json": body}
        answer = httpx.request(verb, f"{self.world.live.url}{route}", headers=headers, timeout=60, **given)
        assert answer.status_code < 500, answer.text
        return answer.json()

    def issues(self) -> list[dict[str, Any]]:
        found = self.ask("person", "GET", "/api/issues", project="beads", status="all", limit=100)["issues"]
        return list(found)

    def word(self) -> str:
        self.said.append(f"Word {len(self.said)}")
        return self.said[-1]

    def act(self) -> None:
        getattr(self, self.chance.choice(["here", "here", "there", "there", "trouble"]))()

    def here(self) -> None:
        what = self.chance.choice(["open", "reply", "reply", "claim", "close", "reopen", "release", "block"])
        found = self.issues()
        if what == "open" or not found:
            self.ask("finder", "POST", "/api/issues", to="beads", title=f"Issue {len(found)}", message="Text")
            return
        one = self.chance.choice(found)
        if what == "reply":
            who = self.chance.choice(["finder", "keeper"])
            word = self.word()
            answer = self.ask(who, "POST", f"/api/issues/{one['id']}/reply", message=word)
            if "code" in answer:
                self.said.remove(word)  # the reply was refused
        elif what in ("release", "block"):
            reason = {"reason": "r"} if what == "block" else {}
            self.ask("keeper", "POST", f"/api/tasks/{one['id']}/{what}", **reason)
        else:
            self.ask("keeper", "POST", f"/api/issues/{one['id']}/{what}")

    def there(self) -> None:
        hand, found = self.world.hand, self.world.hand.run_bd("list", "--limit", "0")
        what = self.chance.choice(["create", "comment", "comment", "claim", "close", "reopen", "blocked", "open"])
        if what == "create" or not found:
            self.made += 1
            hand.run_bd("create", f"Alice's {self.made}")
            self.world.in_step()  # an issue that is closed before the first read is not imported
            return
        ref = self.chance.choice(found)["id"]
        if what == "comment":
            hand.run_bd("comments", "add", ref, self.word())
        elif what == "claim":
            hand.try_bd("update", ref, "--claim")
        elif what in ("blocked", "open"):
            hand.run_bd("update", ref, "--status", what, "--assignee", "")
        else:
            hand.try_bd(what, ref)

    def trouble(self) -> None:
        hand = self.world.hand
        what = self.chance.choice(["kill", "sync", "in step", "fail"])
        if what == "kill":
            self.world.live.kill()
            self.world.live.start()
        elif what == "sync":
            self.ask("person", "POST", "/api/tracker/sync", project="beads")
        elif what == "in step":
            self.world.in_step()
        else:
            hand.misbehave("fail", "locked")
            self.here()
            hand.stop_misbehaving("fail")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generation", "seed"),
    [
        ("0.46.0", 1),
        ("0.50.3", 2),
        ("1.0.5", 3),
        ("1.0.5", 4),
    ],
)
def test_maestro_and_the_tracker_agree_after_random_changes_in_both_places(
    generation: str,
    seed: int,
    make_world: Callable[..., World],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(generation, tmp_path, monkeypatch)
    world = make_world()
    crowd = Crowd(world, random.Random(seed))
    for _ in range(STEPS):
        crowd.act()
    world.in_step()
    wait_until(lambda: differences(crowd) == [], what=f"agreement: {differences(crowd)}")
    heard_here = Counter[str]()
    heard_there = Counter[str]()
    for one in crowd.issues():
        shown = crowd.ask("person", "GET", f"/api/issues/{one['id']}")
        heard_here.update(said["body"] for said in shown["comments"] if said["body"].startswith("Word "))
    for one in world.hand.issues():
        heard_there.update(text for text in world.hand.comment_texts(one["id"]) if text.startswith("Word "))
    assert heard_here == heard_there == Counter(crowd.said)


def differences(crowd: Crowd) -> list[str]:
    """Return the issues that exist in one place only, or differ in status or holder."""
    there = {one["title"]: one for one in crowd.world.hand.issues()}
    here = {one["title"]: one for one in crowd.issues()}
    wrong = [f"{title} is on one side" for title in there.keys() ^ here.keys()]
    for title in there.keys() & here.keys():
        one, other = here[title], there[title]
        if STATES[one["status"]] != other["status"]:
            wrong.append(f"{title}: {one['status']} {one['holder']}, {other['status']} {other.get('assignee')}")
        elif one["status"] == "in_progress" and not is_of(one["holder"], other.get("assignee")):
            wrong.append(f"{title}: {one['holder']} and {other.get('assignee')}")
    return wrong


def is_of(holder: str, assignee: str | None) -> bool:
    return holder == f"tracker:{assignee or 'someone'}" or (holder.startswith("ses_") and assignee == "keeper")
