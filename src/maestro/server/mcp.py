"""What the MCP surface is given of others: answers as the command would print them, and whom events are for."""

from __future__ import annotations

import re
from typing import Any

from maestro.prompts.calls import as_tools
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.style import View, finish

_PLAIN = View()
# Where a renderer itself says what to call next; all else in an answer is someone's words, and stays as it is.
_NEXT = re.compile(r"(?m)^  (?:… cut short; the whole of it: |.*take it with: )maestro .*$")


def words(answer: Any) -> str:
    """An answer as text for a model: no colours, and tools where the command would name commands."""
    rendered = answers.render(answer, _PLAIN)
    out = rendered.out.decode(errors="replace") if isinstance(rendered.out, bytes) else rendered.out
    notes = "".join(f"{as_tools(note)}\n" for note in rendered.notes)
    return finish(_NEXT.sub(lambda found: as_tools(found[0]), out) + notes)
