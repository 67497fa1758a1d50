"""The completion scripts are valid in their shells and offer the words of the grammar."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli import shells
from maestro.surfaces.cli.grammar import COMMON_FLAGS, Grammar
from maestro.surfaces.cli.local_commands import Shell

GRAMMAR = Grammar(REGISTRY)


@pytest.mark.parametrize("shell", Shell)
def test_a_completion_script_is_valid_in_its_shell(shell: Shell) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n"], input=shells.completion_script(shell, GRAMMAR), text=True, check=True, timeout=30)


@pytest.mark.parametrize("shell", Shell)
def test_a_completion_script_contains_every_command_and_flag(shell: Shell) -> None:
    script = shells.completion_script(shell, GRAMMAR)
    dashes = "-l " if shell is Shell.FISH else "--"
    for spec in GRAMMAR.specs:
        if spec.hidden:
            continue
        assert all(word in script for word in spec.words.split())
        assert all(f"{dashes}{name}" in script for name in [*spec.flags, *COMMON_FLAGS])
    assert "critical" in script and "maestro __complete" in script


def bash(words: list[str]) -> str:
    return (
        f"{shells.completion_script(Shell.BASH, GRAMMAR)}\n"
        f"COMP_WORDS=({quoted(['maestro', *words])}); COMP_CWORD={len(words)}; _maestro\n"
        'for word in "${COMPREPLY[@]}"; do echo "$word"; done'
    )


def zsh(words: list[str]) -> str:
    """Return a script that replaces the completion functions of zsh, which work only in an interactive shell."""
    return (
        "compdef() { }\n"
        'compadd() { if [[ $1 == -a ]]; then print -l -- ${(P)2}; else shift; print -l -- "$@"; fi }\n'
        "_describe() { local word; for word in ${(P)2}; do print -- ${word%%:*}; done }\n"
        f"{shells.completion_script(Shell.ZSH, GRAMMAR)}\n"
        f"words=({quoted(['maestro', *words])}); CURRENT={len(words) + 1}; _maestro"
    )


def fish(words: list[str]) -> str:
    return f"{shells.completion_script(Shell.FISH, GRAMMAR)}\ncomplete -C {quoted([' '.join(['maestro', *words])])}"


def quoted(words: list[str]) -> str:
    return " ".join(f"'{word}'" for word in words)


def offered(shell: Shell, words: list[str], tmp_path: Path) -> set[str]:
    """Return the words that a shell offers for the last word."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    server = tmp_path / "maestro"
    server.write_text("#!/bin/sh\nprintf 'vc#3\\tA task\\n'\n")
    server.chmod(0o755)
    written = {Shell.BASH: bash, Shell.ZSH: zsh, Shell.FISH: fish}[shell](words)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    flags = ["-f"] if shell is Shell.ZSH else []
    done = subprocess.run(
        [program, *flags], input=written, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return {line.split("\t")[0] for line in done.stdout.splitlines() if line.startswith(words[-1])}


@pytest.mark.parametrize("shell", Shell)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sess"], {"session"}),
        (["task", "re"], {"ready", "release", "reject", "reopen", "report"}),
        (["task", "docs", ""], {"add", "list", "show"}),
        (["task", "create", "--dep"], {"--depends-on"}),
        (["task", "create", "x", "--priority", "h"], {"high"}),
        (["--json", "task", "list", "--status", "in"], {"in_progress", "in_review"}),
        (["task", "show", ""], {"vc#3"}),
        (["task", "report", "pro"], {"progress"}),
        (["completion", "z"], {"zsh"}),
        (["up", "--f"], {"--foreground"}),
    ],
)
def test_a_shell_offers_the_possible_next_words(
    shell: Shell, words: list[str], expected: set[str], tmp_path: Path
) -> None:
    assert offered(shell, words, tmp_path) == expected
