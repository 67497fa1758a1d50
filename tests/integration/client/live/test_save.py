"""`timeline export` writes one complete page, in which a title cannot become markup."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from maestro.testing.workshop import Workshop

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)> \"'&amp; \u202e"


class Page(HTMLParser):
    """Parse a page into its tags, their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def told(shop: Workshop) -> tuple[Workshop, str]:
    """Complete a run with a gate, an artifact and titles that contain markup. Return the workshop and the run id."""
    shop.create_task("Everything " + HOSTILE)
    shop.create_task("First " + HOSTILE, "--parent", "#1", "--gate", "true")
    shop.create_task("Second", "--parent", "#1", "--depends-on", "#2")
    (shop.repo / "n.md").write_text("made\n")
    script = f"maestro task docs add $MAESTRO_TASK_IDS '{HOSTILE.replace(chr(39), '')}' --file n.md; echo done"
    return shop, shop.run_to_end("#1", "--", "sh", "-c", script)["id"]


def test_the_page_of_a_run_shows_all_its_steps_and_escapes_markup(told: tuple[Workshop, str]) -> None:
    shop, run_id = told
    assert shop.run_maestro("timeline", "export", run_id, "run.html").strip() == str(shop.repo / "run.html")
    page = Page((shop.repo / "run.html").read_text())
    for part in ("completed", "vc#2", "vc#3", "run.started", "task.completed", "gate passed", "artifact", "n.md"):
        assert part in page.text
    assert "<script>alert(1)</script>" in page.text, "the markup is text of the page"
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "a", "base", "form"}
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") or name in ("src", "href") for name in attributes), (tag, attributes)
    policies = [found["content"] for tag, found in page.tags if found.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert "\u202e" not in page.text


def test_a_task_and_a_session_are_exported_also_to_standard_output(told: tuple[Workshop, str]) -> None:
    shop, run_id = told
    shop.run_maestro("timeline", "export", "#2", "task.html")
    assert "First" in Page((shop.repo / "task.html").read_text()).text
    session = shop.call_json("session", "list", "--status", "completed")["sessions"][0]["name"]
    assert session in Page(shop.run_maestro("timeline", "export", session, "-")).text
    shop.run_maestro("timeline", "export", "flag.html", "--run", run_id)
    assert (shop.repo / "flag.html").exists()
    story = shop.call_json("timeline", "export", run_id, "-")
    assert (story["kind"], story["status"], len(story["tasks"])) == ("run", "completed", 2)


def test_a_failed_export_leaves_no_file(told: tuple[Workshop, str]) -> None:
    shop, run_id = told
    assert "No such file" in shop.run_maestro("timeline", "export", run_id, "no/where.html", exits=1)
    assert "There is no run" in shop.run_maestro("timeline", "export", "run_x", "x.html", exits=6)
    shop.run_maestro("timeline", "export", "only.html", exits=2)
    assert not [path for path in shop.repo.iterdir() if "html" in path.name]
