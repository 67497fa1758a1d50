"""An agent in dave/vc: meets a bug of beads, opens an issue there, answers what is asked, and sees that it is fixed.

Started again after a crash, it asks the store what it has done, and goes on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from command import maestro, mail, register

register("finder")
if not maestro("issue", "list", "--opened", "--status", "all")["issues"]:
    issue = maestro(
        "issue", "open", "beads", "--title", "Parser crashes on an empty file", "--message-file", "trace.txt",
        "--attach", "repro.bin", "--found-in", "#1",
    )  # fmt: skip
    maestro("task", "create", "Ship the import", "--depends-on", issue["ref"])
while True:
    for message in mail():
        if message["type"] == "query":
            maestro("issue", "reply", message["task"], "--message", "1.3, and it happens every time.")
        elif "is done" in message["subject"]:
            Path("verified.txt").write_text(message["body"])
            sys.exit(0)
