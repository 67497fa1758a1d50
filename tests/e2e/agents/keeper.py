"""An agent in beads: is told at once what came in, reads it with its files, claims it, asks, fixes, closes.

With `--dies` it does nothing more once it has claimed: it waits to be killed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from command import maestro, mail, raw, register

me = register("keeper")
Path(f"unread-{me['name']}.txt").write_text(str(me["unread"]))
while True:
    for message in mail():
        ref = message["task"]
        issue = maestro("issue", "show", ref)
        if issue["holder"] is None:
            maestro("issue", "claim", ref)
            if "--dies" in sys.argv:
                signal.pause()
            for file in issue["comments"][0]["attachments"]:
                Path(file["file_name"]).write_bytes(raw("mail", "attachment", file["id"]).stdout)
            maestro("issue", "reply", ref, "--type", "query", "--message", "Which version?")
        elif "1.3" in message["body"]:
            Path("parser.txt").write_text("an empty file is no file\n")
            subprocess.run(["git", "add", "parser.txt"], check=True)
            subprocess.run(["git", "commit", "-q", "-m", "Do not crash on an empty file"], check=True)
            maestro("issue", "close", ref, "--message", "Fixed: an empty file is no file.")
            sys.exit(0)
