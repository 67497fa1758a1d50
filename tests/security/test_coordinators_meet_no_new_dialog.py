"""Tests that usual work of a coordinator with the default grant opens no ask and meets no refusal."""

from __future__ import annotations

import json

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

# A stand-in for Claude Code: accepts any flags, works, reports, and stays like a program that waits for input.
TOOL = """#!/bin/sh
echo parsed > parser.txt
git add -A
git commit -qm "Add the parser"
maestro mail send coordinator --subject Done --message m --attach parser.txt
maestro session report complete "all tests pass"
exec sleep 1000
"""


def test_a_coordinator_spawns_a_known_tool_attaches_a_file_and_merges_without_an_ask(shop: Workshop) -> None:
    program = shop.live.home / "claude-stand-in"
    program.write_text(TOOL)
    program.chmod(0o755)
    (shop.live.home / "tools.toml").write_text(f'[claude]\nprogram = "{program}"\n')
    (shop.repo / "grammar.md").write_text("S = N V\n")
    shop.create_task("Write the parser")
    lead = shop.register_session("lead", "--mode", "coordinate")
    spawn = ("session", "spawn", "--name", "parser", "--task", "#1", "--tool", "claude", "--worktree", "--json")
    worker = json.loads(shop.call_as(lead, *spawn))
    assert (worker["permission"], worker["grant"]) == ("edit", "edit")
    letter = ("mail", "send", "parser", "--subject", "Grammar", "--message", "Read it.", "--attach", "grammar.md")
    shop.call_as(lead, *letter)
    wait_until(lambda: shop.task_status("#1") == "completed", what="the report of the worker")
    shop.call_as(lead, "worktree", "merge", "parser", "--into", "main")
    assert (shop.repo / "parser.txt").read_text() == "parsed\n"
    inbox = json.loads(shop.call_as(lead, "mail", "inbox", "--json"))["messages"]
    assert "parser.txt" in [file["file_name"] for one in inbox for file in one["attachments"]]
    assert shop.call_json("ask", "list", "--all")["asks"] == []
    shop.call_as(lead, "session", "stop", "parser")
