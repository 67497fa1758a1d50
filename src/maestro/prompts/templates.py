"""Load templates of workflows: templates of the package, and of a project's `.maestro/templates/`, which win.

The module reads files. The caller chooses the mode and the strategy of a session.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

from maestro.core import errors, limits
from maestro.domain.sessions import SessionMode
from maestro.domain.templates import PACKAGED_SOURCE, WorkflowTemplate, serves_mode, template_name
from maestro.prompts import template_files
from maestro.system.small_files import read_small

FOLDER = ".maestro/templates"  # below a project's directory
_ENDING = ".md"


@dataclass(frozen=True)
class TemplateLibrary:
    """All templates by name. A broken template of a project raises an error only when a caller asks for it."""

    templates: Mapping[str, WorkflowTemplate]
    broken: Mapping[str, errors.Invalid]

    def list_templates(self) -> list[WorkflowTemplate]:
        """Return all templates by mode, coordinators' first, then by name."""
        order = list(SessionMode)
        return sorted(self.templates.values(), key=lambda template: (order.index(template.mode), template.name))

    def get_template(self, name: str) -> WorkflowTemplate:
        """Return a template by its name or an alias."""
        found = self._find(name)
        if found is None:
            raise errors.NotFound(
                f"The template {name!r} does not exist.",
                hint=f"Known templates: {', '.join(self.templates)}.",
                data={"name": name},
            )
        return found

    def choose_template(self, mode: SessionMode, strategy: str = "") -> WorkflowTemplate:
        """Return the template for a mode and strategy. An empty strategy means the mode's default."""
        named = self._find(template_name(mode, strategy))
        if named is not None and serves_mode(named, mode):
            return named
        fitting = [
            template
            for template in self.list_templates()
            if template.strategy == strategy and serves_mode(template, mode)
        ]
        if len(fitting) > 1:
            names = [template.name for template in fitting]
            raise errors.Ambiguous(
                f"{len(names)} templates match {mode} {strategy}: {', '.join(names)}.",
                hint="Name the template: --template NAME",
                data={"templates": names},
            )
        if not fitting:
            raise errors.Invalid(
                f"The mode {mode} has no strategy {strategy!r}.",
                hint=f"Known strategies: {', '.join(self.strategies_of_mode(mode))}.",
                data={"mode": mode, "strategy": strategy},
            )
        return fitting[0]

    def strategies_of_mode(self, mode: SessionMode) -> list[str]:
        """Return the strategies of a mode."""
        return sorted({template.strategy for template in self.templates.values() if serves_mode(template, mode)})

    def _find(self, name: str) -> WorkflowTemplate | None:
        if name in self.broken:
            raise self.broken[name]
        if name in self.templates:
            return self.templates[name]
        return next((template for template in self.templates.values() if name in template.aliases), None)


@cache
def packaged_templates() -> TemplateLibrary:
    """Return the templates of the package."""
    folder = files("maestro.prompts") / "templates"
    found = {}
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(_ENDING):
            name = file.name.removesuffix(_ENDING)
            text = file.read_text(encoding="utf-8")
            found[name] = template_files.parse_template(text, file=file.name, name=name, source=PACKAGED_SOURCE)
    return TemplateLibrary(found, {})


def load_templates(folder: Path | None) -> TemplateLibrary:
    """Return the package's templates together with the templates in a project's folder, which win."""
    own = _template_files(folder) if folder is not None else []
    if not own:
        return packaged_templates()
    found = dict(packaged_templates().templates)
    broken: dict[str, errors.Invalid] = {}
    for path in own:
        name = path.name.removesuffix(_ENDING)
        result = _read_cached(str(path), name, _file_stamp(path))
        if isinstance(result, WorkflowTemplate):
            found[name] = result
        else:
            found.pop(name, None)
            broken[name] = result
    return TemplateLibrary(found, broken)


@lru_cache(limits.templates_remembered_max)
def _read_cached(path: str, name: str, stamp: tuple[int, ...]) -> WorkflowTemplate | errors.Invalid:
    """Return a template, or the error of a broken template. The cache avoids reading an unchanged file again."""
    try:
        return _read_template(Path(path), name)
    except errors.Invalid as error:
        return error


def _file_stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _template_files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(_ENDING))
    except OSError:
        return []  # most projects have no templates
    if len(names) > limits.templates_max:
        raise errors.Invalid(
            f"{folder} has {len(names)} templates; at most {limits.templates_max} are allowed.",
            data={"file": str(folder)},
        )
    return [folder / name for name in names]


def _read_template(path: Path, name: str) -> WorkflowTemplate:
    content = read_small(str(path))
    file = str(path)
    if content is None:
        template_files.refuse_file(file, 1, "The file cannot be read.")
    if len(content) > limits.template_bytes_max:
        template_files.refuse_file(file, 1, f"The template has more than {limits.template_bytes_max} bytes.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        template_files.refuse_file(file, content.count(b"\n", 0, error.start) + 1, "The file is not UTF-8.")
    return template_files.parse_template(text, file=file, name=name, source=file)
