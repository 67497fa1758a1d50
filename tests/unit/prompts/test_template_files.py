"""A template file is parsed into fields and phases, and an invalid file is refused with file and line."""

from __future__ import annotations

import pytest

from maestro.core import limits
from maestro.core.errors import Invalid
from maestro.domain.sessions import SessionMode
from maestro.domain.templates import WorkflowPhase, WorkflowTemplate
from maestro.prompts import template_files

GOOD = """---
name: execute-tdd
# how this team works
mode: execute
strategy: tdd
summary: "Tests first."
phases: red → green
aliases: execute-tests-first
---

Never the other way around.

## red

Write a test that fails.

```sh
## this is code
```

### A heading of its own

## green
Let it pass: {{session.report kind=progress text=TEXT}}
"""


def read(text: str, *, name: str = "execute-tdd") -> WorkflowTemplate:
    return template_files.parse_template(text, file="x.md", name=name, source="x.md")


def test_a_valid_template_is_parsed_with_its_fields_and_phases() -> None:
    found = read(GOOD)
    assert (found.name, found.mode, found.strategy, found.summary) == (
        "execute-tdd",
        SessionMode.EXECUTE,
        "tdd",
        "Tests first.",
    )
    assert found.intro == "Never the other way around."
    assert [phase.name for phase in found.phases] == ["red", "green"]
    assert "## this is code" in found.phases[0].text and "### A heading" in found.phases[0].text
    assert found.phases[1] == WorkflowPhase("green", "Let it pass: {{session.report kind=progress text=TEXT}}")
    assert found.aliases == ("execute-tests-first",)


def test_windows_line_ends_and_old_names_of_modes_are_accepted() -> None:
    found = read(GOOD.replace("mode: execute", "mode: worker").replace("\n", "\r\n"))
    assert found.mode is SessionMode.EXECUTE
    assert found.phases == read(GOOD).phases


@pytest.mark.parametrize(
    ("change", "line", "why"),
    [
        (("---\nname", "name"), 1, "must begin with"),
        (("strategy: tdd", "strategy"), 5, "Expected a field"),
        (("strategy: tdd", "tactics: tdd"), 5, "field is unknown"),
        (("strategy: tdd", "mode: execute"), 5, "twice"),
        (("strategy: tdd\n", ""), 8, "lacks strategy"),
        (("strategy: tdd", "strategy: Very good"), 5, "name is not valid"),
        (("mode: execute", "mode: dance"), 4, "mode is unknown"),
        (('summary: "Tests first."', "summary:"), 6, "summary"),
        (("red → green", "red, green, blue"), 7, "blue has no heading"),
        (("red → green", "red"), 23, "not listed in `phases`"),
        (("red → green", "red, red"), 7, "different names"),
        (("red → green", "red, Green!"), 7, "different names"),
        (("## green", "## blue"), 23, "phase green"),
        (("Let it pass: {{session.report kind=progress text=TEXT}}", ""), 23, "has no text"),
        (("session.report", "session.sing"), 24, "not a call"),
        (("name: execute-tdd", "name: execute-bdd"), 2, "the file's name"),
    ],
)
def test_an_error_in_a_template_is_reported_with_file_and_line(change: tuple[str, str], line: int, why: str) -> None:
    with pytest.raises(Invalid, match=why) as caught:
        read(GOOD.replace(*change, 1))
    assert caught.value.data == {"file": "x.md", "line": line}
    assert f"x.md, line {line}:" in caught.value.message


def test_front_matter_without_an_end_is_refused() -> None:
    with pytest.raises(Invalid, match="does not end") as caught:
        read(GOOD.partition("aliases")[0].rstrip())
    assert caught.value.data["line"] == 7


def test_a_template_that_is_too_long_for_the_prompt_is_refused() -> None:
    with pytest.raises(Invalid, match="too long"):
        read(GOOD + "&" * (limits.template_bytes_max // 4))


def test_a_workflow_with_too_many_phases_is_refused() -> None:
    names = [f"phase{number}" for number in range(limits.template_phases_max + 1)]
    with pytest.raises(Invalid, match="at most"):
        read(GOOD.replace("red → green", ", ".join(names)))


def test_the_refusal_of_a_template_quotes_no_text_of_the_file() -> None:
    with pytest.raises(Invalid) as caught:
        read("-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n")
    assert "OPENSSH" not in str(caught.value.as_dict())
