"""`make docs` writes the files whose content has changed, and does not touch the other files."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.docs import __main__ as program
from maestro.docs.generate import generated_files


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_missing_file_is_written(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.main()
    for name, text in generated_files().items():
        assert (repository / name).read_text(encoding="utf-8") == text
    assert capsys.readouterr().out.count("wrote ") == len(generated_files())


def test_only_a_changed_file_is_written_again(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.main()
    capsys.readouterr()
    (repository / "docs/reference/errors.md").write_text("by hand\n")
    kept = repository / "docs/reference/events.md"
    before = kept.stat().st_mtime_ns
    program.main()
    assert capsys.readouterr().out == "wrote docs/reference/errors.md\n"
    assert kept.stat().st_mtime_ns == before
