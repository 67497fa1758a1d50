"""The completion scripts: they parse in their shells, and bash offers what the grammar has."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli import shells
from maestro.surfaces.cli.grammar import EVERYWHERE, Grammar
from maestro.surfaces.cli.own import Shell

GRAMMAR = Grammar(REGISTRY)


@pytest.mark.parametrize("shell", Shell)
def test_a_script_parses(shell: Shell) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n"], input=shells.script(shell, GRAMMAR), text=True, check=True, timeout=30)


@pytest.mark.parametrize("shell", Shell)
def test_a_script_knows_every_command_and_flag(shell: Shell) -> None:
    script = shells.script(shell, GRAMMAR)
    dashes = "-l " if shell is Shell.FISH else "--"
    for spec in GRAMMAR.specs:
        if spec.hidden:
            continue
        assert all(word in script for word in spec.words.split())
        assert all(f"{dashes}{name}" in script for name in [*spec.flags, *EVERYWHERE])
    assert "critical" in script and "maestro __complete" in script


def offered(*words: str) -> list[str]:
    """What bash would offer for the last word."""
    quoted = " ".join(f"'{word}'" for word in ("maestro", *words))
    program = (
        "maestro() { printf 'vc#3\\tA task\\n'; }\n"
        f"{shells.script(Shell.BASH, GRAMMAR)}\n"
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _maestro\n"
        'for word in "${COMPREPLY[@]}"; do echo "$word"; done'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
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
        (["task", "report", "pro"], {"progress", "vc#3"}),
        (["completion", "z"], {"zsh"}),
        (["up", "--f"], {"--foreground"}),
    ],
)
def test_bash_offers_what_comes_next(words: list[str], expected: set[str]) -> None:
    assert set(offered(*words)) == expected
