"""A settings file's text with Maestro's entries, and without them. All of anyone else's stays as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maestro.client.connect import toml_text
from maestro.client.connect.entries import Format, Target, is_ours
from maestro.text import jsonc
from maestro.text.jsonc import Document, Edits, Node

_HOOKS = "hooks"
_MARK = "\ufeff"


class LeftAlone(Exception):
    """A file that is not changed, and why."""


def merged(target: Target, text: str, *, owned: Any = None) -> tuple[str, list[str]]:
    """A file's text with our entries, and what the person should know. `owned` is the MCP entry that is ours."""
    bare = without(target, text, owned=owned)
    notes: list[str] = []
    if target.mcp is not None and (theirs := _mcp(target, bare)) is not None:
        if theirs != target.mcp:
            notes.append(f"{target.path} has an MCP server {target.mcp_keys[-1]!r} already: it stays as it is")
        target = Target(target.path, target.format, hooks=target.hooks)
    made = _toml_with(target, bare) if target.format is Format.TOML else _json_with(target, bare)
    return (text if _same(target, text, made) else made), notes


def without(target: Target, text: str, *, owned: Any = None) -> str:
    """A file's text without what is ours: our hooks, and the MCP entry if it is the one that we wrote."""
    if target.format is Format.TOML:
        return _toml_without(target, text, owned)
    return _json_without(target, text, owned)


def present(target: Target, text: str) -> tuple[set[str], Any]:
    """The events that call us, and the MCP entry there is."""
    if target.format is Format.TOML:
        return set(), _mcp(target, text)
    if not text.strip(_MARK + " \t\r\n"):
        return set(), None
    data = _document(text).root.data()
    hooks = data.get(_HOOKS) if isinstance(data, dict) else None
    events = hooks if isinstance(hooks, dict) else {}
    return {event for event, groups in events.items() if any(is_ours(one) for one in _commands(groups))}, _mcp(
        target, text
    )


def commands(text: str) -> list[str]:
    """Our hooks' commands as they stand in a file."""
    data = _document(text).root.data() if text.strip(_MARK + " \t\r\n") else {}
    hooks = data.get(_HOOKS) if isinstance(data, dict) else None
    found = [one for groups in (hooks if isinstance(hooks, dict) else {}).values() for one in _commands(groups)]
    return [one for one in found if is_ours(one)]


def _commands(groups: Any) -> list[Any]:
    found = [group.get(_HOOKS) for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    hooks = [hook for one in found if isinstance(one, list) for hook in one]
    return [hook.get("command") for hook in hooks if isinstance(hook, dict)]


def _same(target: Target, text: str, made: str) -> bool:
    """Whether nothing would be said that is not said already: then not even spaces change."""
    if target.format is Format.TOML:
        return toml_text.read(text) == toml_text.read(made)
    if not text.strip(_MARK + " \t\r\n"):
        return False
    return bool(_document(text).root.data() == _document(made).root.data())


def _mcp(target: Target, text: str) -> Any:
    if target.format is Format.TOML:
        return toml_text.find(_toml(text), target.mcp_keys)
    if not text.strip(_MARK + " \t\r\n"):
        return None
    found = _document(text).root.data()
    return toml_text.find(found, target.mcp_keys) if target.mcp_keys else None


# JSON


def _document(text: str) -> Document:
    try:
        document = Document(text.removeprefix(_MARK))
    except jsonc.Unreadable as error:
        raise LeftAlone(f"it cannot be read: {error}") from None
    if document.root.members is None:
        raise LeftAlone("it is not an object")
    return document


def _json_with(target: Target, text: str) -> str:
    mark = _MARK if text.startswith(_MARK) else ""
    if not text.strip(_MARK + " \t\r\n"):
        text = "{}\n"
    document = _document(text)
    edits = Edits(document)
    if target.hooks:
        _add_hooks(edits, document.root, target.hooks)
    if target.mcp is not None:
        _add_under(edits, document.root, target.mcp_keys, dict(target.mcp))
    return mark + edits.text()


def _add_hooks(edits: Edits, root: Node, wanted: Mapping[str, list[dict[str, Any]]]) -> None:
    hooks = _below(root, _HOOKS)
    if hooks is None:
        edits.add(root, dict(wanted), _HOOKS)
        return
    if hooks.members is None:
        raise LeftAlone('its "hooks" is not an object')
    for event, groups in wanted.items():
        node = _below(hooks, event)
        if node is None:
            edits.add(hooks, groups, event)
        elif node.items is None:
            raise LeftAlone(f'its "hooks" has {event!r}, which is not a list')
        else:
            for group in groups:
                edits.add(node, group)


def _add_under(edits: Edits, root: Node, keys: tuple[str, ...], value: dict[str, Any]) -> None:
    section, name = keys
    node = _below(root, section)
    if node is None:
        edits.add(root, {name: value}, section)
    elif node.members is None:
        raise LeftAlone(f"its {section!r} is not an object")
    else:
        edits.add(node, value, name)


def _below(node: Node, key: str) -> Node | None:
    if key in node.repeated:
        raise LeftAlone(f"it has {key!r} twice")
    entry = (node.members or {}).get(key)
    return entry.node if entry is not None else None


def _json_without(target: Target, text: str, owned: Any) -> str:
    if not text.strip(_MARK + " \t\r\n"):
        return text
    mark = _MARK if text.startswith(_MARK) else ""
    document = _document(text)
    edits = Edits(document)
    changed = _cut_hooks(edits, document.root)
    if owned is not None and target.mcp_keys:
        changed |= _cut_mcp(edits, document.root, target.mcp_keys, owned)
    return mark + edits.text() if changed else text


def _cut_mcp(edits: Edits, root: Node, keys: tuple[str, ...], owned: Any) -> bool:
    section, name = keys
    node = _below(root, section)
    if node is None or _below(node, name) is None or node.members is None or root.members is None:
        return False
    if node.members[name].node.data() != owned:
        return False  # someone has changed it: then it is theirs
    if len(node.members) == 1:
        edits.remove(root, root.members[section])
    else:
        edits.remove(node, node.members[name])
    return True


def _cut_hooks(edits: Edits, root: Node) -> bool:
    """Takes out our commands, and around them what held nothing else."""
    hooks = _below(root, _HOOKS)
    if hooks is None or hooks.members is None or root.members is None:
        return False
    emptied = [event for event, entry in hooks.members.items() if _is_only_ours(entry.node)]
    touched = [event for event, entry in hooks.members.items() if any(map(is_ours, _commands(entry.node.data())))]
    for event in touched:
        _below(hooks, event)  # that it stands there once
    if touched and len(emptied) == len(hooks.members):
        edits.remove(root, root.members[_HOOKS])
        return True
    for event in touched:
        if event in emptied:
            edits.remove(hooks, hooks.members[event])
        else:
            _cut_groups(edits, hooks.members[event].node)
    return bool(touched)


def _is_only_ours(node: Node) -> bool:
    return bool(node.items) and all(_is_our_group(entry.node) for entry in node.items or ())


def _is_our_group(node: Node) -> bool:
    found = _commands([node.data()])
    return bool(found) and all(map(is_ours, found))


def _cut_groups(edits: Edits, groups: Node) -> None:
    for entry in groups.items or ():
        if _is_our_group(entry.node):
            edits.remove(groups, entry)
        elif any(map(is_ours, _commands([entry.node.data()]))):
            inside = entry.node.members[_HOOKS].node if entry.node.members else entry.node
            for hook in inside.items or ():
                if is_ours((hook.node.data() or {}).get("command")):
                    edits.remove(inside, hook)


# TOML


def _toml(text: str) -> dict[str, Any]:
    try:
        return toml_text.read(text)
    except toml_text.Unreadable as error:
        raise LeftAlone(f"it cannot be read: {error}") from None


def _toml_with(target: Target, text: str) -> str:
    if target.mcp is None:
        return text
    try:
        return toml_text.add(text, target.mcp_keys, target.mcp)
    except toml_text.Unreadable as error:
        raise LeftAlone(f"it cannot be changed: {error}") from None


def _toml_without(target: Target, text: str, owned: Any) -> str:
    if owned is None or toml_text.find(_toml(text), target.mcp_keys) != owned:
        return text
    try:
        return toml_text.remove(text, target.mcp_keys)
    except toml_text.Unreadable as error:
        raise LeftAlone(f"it cannot be changed: {error}") from None
