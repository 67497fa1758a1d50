"""Which workflows there are: those of the package, and a project's own in `.maestro/templates/`, which come first.

Reads files and knows their folder; who chooses a session's mode and strategy, and from where, it does not know.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain.sessions import Mode
from maestro.domain.templates import PACKAGED, Template, serves, template_name
from maestro.prompts import sources
from maestro.system.small_files import read_small

FOLDER = ".maestro/templates"  # below a project's directory
_ENDING = ".md"


@dataclass(frozen=True)
class Library:
    """Every template by its name. One that is broken stands in the way of whoever wants it, and of nobody else."""

    templates: Mapping[str, Template]
    broken: Mapping[str, errors.Invalid]

    def listing(self) -> list[Template]:
        """All of them, coordinators' first, in the order of their names."""
        order = list(Mode)
        return sorted(self.templates.values(), key=lambda found: (order.index(found.mode), found.name))

    def get(self, name: str) -> Template:
        """A template by its name or another word for it."""
        found = self._find(name)
        if found is None:
            raise errors.NotFound(
                f"There is no template {name!r}.",
                hint=f"There are: {', '.join(self.templates)}.",
                data={"name": name},
            )
        return found

    def choose(self, mode: Mode, strategy: str = "") -> Template:
        """The template for a mode and strategy; without a strategy, that of the mode's default."""
        named = self._find(template_name(mode, strategy))
        if named is not None and serves(named, mode):
            return named
        fitting = [found for found in self.listing() if found.strategy == strategy and serves(found, mode)]
        if len(fitting) > 1:
            names = [found.name for found in fitting]
            raise errors.Ambiguous(
                f"{len(names)} templates are for {mode} {strategy}: {', '.join(names)}.",
                hint="Say which one: --template NAME",
                data={"templates": names},
            )
        if not fitting:
            raise errors.Invalid(
                f"There is no strategy {strategy!r} for {mode}.",
                hint=f"There are: {', '.join(self.strategies(mode))}.",
                data={"mode": mode, "strategy": strategy},
            )
        return fitting[0]

    def strategies(self, mode: Mode) -> list[str]:
        """The strategies that a mode has."""
        return sorted({found.strategy for found in self.templates.values() if serves(found, mode)})

    def _find(self, name: str) -> Template | None:
        if name in self.broken:
            raise self.broken[name]
        if name in self.templates:
            return self.templates[name]
        return next((found for found in self.templates.values() if name in found.aliases), None)


@cache
def packaged() -> Library:
    """The templates that came with the program."""
    folder = files("maestro.prompts") / "templates"
    found = {}
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(_ENDING):
            name = file.name.removesuffix(_ENDING)
            text = file.read_text(encoding="utf-8")
            found[name] = sources.template(text, file=file.name, name=name, source=PACKAGED)
    return Library(found, {})


def load(folder: Path | None) -> Library:
    """The package's templates with a project's own over and beside them."""
    own = _files(folder) if folder is not None else []
    if not own:
        return packaged()
    found = dict(packaged().templates)
    broken: dict[str, errors.Invalid] = {}
    for path in own:
        name = path.name.removesuffix(_ENDING)
        one = _remembered(str(path), name, _stamp(path))
        if isinstance(one, Template):
            found[name] = one
        else:
            found.pop(name, None)
            broken[name] = one
    return Library(found, broken)


@lru_cache(limits.templates_remembered_max)
def _remembered(path: str, name: str, stamp: tuple[int, ...]) -> Template | errors.Invalid:
    """Return a template, or what is wrong with it. A file that has not changed is not read again."""
    try:
        return _read(Path(path), name)
    except errors.Invalid as error:
        return error


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(_ENDING))
    except OSError:
        return []  # most projects have none
    if len(names) > limits.templates_max:
        raise errors.Invalid(
            f"{folder} holds {len(names)} templates, more than {limits.templates_max}.", data={"file": str(folder)}
        )
    return [folder / name for name in names]


def _read(path: Path, name: str) -> Template:
    content = read_small(str(path))
    file = str(path)
    if content is None:
        sources.refuse(file, 1, "This is no file that can be read.")
    if len(content) > limits.template_bytes_max:
        sources.refuse(file, 1, f"The template is longer than {limits.template_bytes_max} bytes.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        sources.refuse(file, content.count(b"\n", 0, error.start) + 1, "This is not UTF-8.")
    return sources.template(text, file=file, name=name, source=file)
