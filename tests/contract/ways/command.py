"""The way through the installed command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec

from maestro.operations import projects
from maestro.operations.base import Operation
from maestro.testing.live import LiveServer
from ways.base import plain, rebuilt


class CommandWay:
    """Calls operations with the installed command."""

    shows_as, is_out_at_once, offers_again = "read", True, False

    def __init__(self, live: LiveServer, folder: Path) -> None:
        self.live = live
        self.person = live.token
        self.folder = folder

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any:
        if operation is projects.INIT:
            words, cwd = ["init", "--name", fields["name"]], fields["path"]
        else:
            words, cwd = self.words(operation, fields), str(self.folder)
        words += ["--json", *(["--idempotency-key", key] if key else [])]
        rest = fields.get(operation.command.rest_field, []) if operation.command else []
        words += ["--", *rest] if rest else []
        done = await asyncio.to_thread(self.live.run_command, *words, cwd=cwd, env={"MAESTRO_TOKEN": token})
        if done.returncode != 0 and not done.stdout:
            raise rebuilt(json.loads(done.stderr.splitlines()[-1]), exit_code=done.returncode)
        return json.loads(done.stdout)

    def words(self, operation: Operation, fields: dict[str, Any]) -> list[str]:
        """Return the words that express a request on the command line."""
        assert operation.command is not None
        words = operation.command.command_path.split()
        for name in operation.command.positional:
            if name in fields:
                value = fields[name]
                words.append(",".join(value) if isinstance(value, list) else str(plain(value)))
        for info in msgspec.structs.fields(operation.request):
            if info.name in fields and info.name not in (*operation.command.positional, operation.command.rest_field):
                words += self.flag(info, fields[info.name])
        return words

    def flag(self, info: msgspec.structs.FieldInfo, value: Any) -> list[str]:
        extra = _extra(info.type)
        name = "--" + extra.get("flag", info.name.replace("_", "-"))
        if isinstance(value, bool):
            return [name] if value else []
        if isinstance(value, bytes):
            file = self.folder / "content.bin"
            file.write_bytes(value)
            return [name, str(file)]
        if isinstance(value, list):
            return [word for item in value for word in (name, self.item(item))]
        return [name, str(plain(value))]

    def item(self, value: Any) -> str:
        """Return the value of a repeated flag. Write a file and return its path if the value is a file."""
        if not isinstance(value, dict):
            return str(value)
        file = self.folder / value["file_name"]
        file.write_bytes(value["content"])
        return str(file)


def _extra(kind: Any) -> dict[str, Any]:
    found = msgspec.inspect.type_info(kind)
    if isinstance(found, msgspec.inspect.UnionType):
        for part in found.types:
            if isinstance(part, msgspec.inspect.Metadata) and part.extra:
                return part.extra
    return (found.extra or {}) if isinstance(found, msgspec.inspect.Metadata) else {}
