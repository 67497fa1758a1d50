"""Add Maestro's entries to the text of a settings file, and remove them. All other text stays the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maestro.client.connect import toml_text
from maestro.client.connect.entries import Format, Target, is_ours
from maestro.text import jsonc
from maestro.text.jsonc import Document, Edits, Node

_HOOKS = "hooks"
_BYTE_ORDER_MARK = "\ufeff"


class LeftAlone(Exception):
    """A settings file that Maestro does not change; the message is the reason."""


def merged(target: Target, text: str, *, owned: Any = None) -> tuple[str, list[str]]:
    """Return a file's text with Maestro's entries, and notes for the person. `owned` is Maestro's own MCP entry."""
    bare = without(target, text, owned=owned)
    notes: list[str] = []
    if target.mcp is not None and (foreign := _find_mcp_entry(target, bare)) is not None:
        if foreign != target.mcp:
            name = target.mcp_keys[-1]
            notes.append(f"{target.path} already has another MCP server {name!r}: this entry is not changed")
        target = Target(target.path, target.format, hooks=target.hooks)
    merged_text = _add_to_toml(target, bare) if target.format is Format.TOML else _add_to_json(target, bare)
    return (text if _is_same_data(target, text, merged_text) else merged_text), notes


def without(target: Target, text: str, *, owned: Any = None) -> str:
    """Return a file's text without Maestro's hooks, and without the MCP entry if the entry equals `owned`."""
    if target.format is Format.TOML:
        return _remove_from_toml(target, text, owned)
    return _remove_from_json(target, text, owned)


def present(target: Target, text: str) -> tuple[set[str], Any]:
    """Return the events whose hooks call Maestro, and the MCP entry under Maestro's name."""
    if target.format is Format.TOML:
        return set(), _find_mcp_entry(target, text)
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        return set(), None
    data = _parse_json(text).root.data()
    hooks = data.get(_HOOKS) if isinstance(data, dict) else None
    events = hooks if isinstance(hooks, dict) else {}
    ours = {event for event, groups in events.items() if any(map(is_ours, _all_commands(groups)))}
    return ours, _find_mcp_entry(target, text)


def commands(text: str) -> list[str]:
    """Return the commands of Maestro's hooks in a file's text."""
    data = _parse_json(text).root.data() if text.strip(_BYTE_ORDER_MARK + " \t\r\n") else {}
    hooks = data.get(_HOOKS) if isinstance(data, dict) else None
    events = hooks if isinstance(hooks, dict) else {}
    return [command for groups in events.values() for command in _all_commands(groups) if is_ours(command)]


def _all_commands(groups: Any) -> list[Any]:
    lists = [group.get(_HOOKS) for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    hooks = [hook for hook_list in lists if isinstance(hook_list, list) for hook in hook_list]
    return [hook.get("command") for hook in hooks if isinstance(hook, dict)]


def _is_same_data(target: Target, text: str, merged_text: str) -> bool:
    """Return whether both texts hold the same data: in that case not even spaces may change."""
    if target.format is Format.TOML:
        return toml_text.read(text) == toml_text.read(merged_text)
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        return False
    return bool(_parse_json(text).root.data() == _parse_json(merged_text).root.data())


def _find_mcp_entry(target: Target, text: str) -> Any:
    if target.format is Format.TOML:
        return toml_text.find(_parse_toml(text), target.mcp_keys)
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        return None
    data = _parse_json(text).root.data()
    return toml_text.find(data, target.mcp_keys) if target.mcp_keys else None


# JSON


def _parse_json(text: str) -> Document:
    try:
        document = Document(text.removeprefix(_BYTE_ORDER_MARK))
    except jsonc.Unreadable as error:
        raise LeftAlone(f"the file cannot be read: {error}") from None
    if document.root.members is None:
        raise LeftAlone("the file does not hold a JSON object")
    return document


def _add_to_json(target: Target, text: str) -> str:
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        text = "{}\n"
    document = _parse_json(text)
    edits = Edits(document)
    if target.hooks:
        _add_hooks(edits, document.root, target.hooks)
    if target.mcp is not None:
        _add_under(edits, document.root, target.mcp_keys, dict(target.mcp))
    return mark + edits.text()


def _add_hooks(edits: Edits, root: Node, hooks_to_add: Mapping[str, list[dict[str, Any]]]) -> None:
    hooks = _child_node(root, _HOOKS)
    if hooks is None:
        edits.add(root, dict(hooks_to_add), _HOOKS)
        return
    if hooks.members is None:
        raise LeftAlone('"hooks" in the file is not an object')
    for event, groups in hooks_to_add.items():
        node = _child_node(hooks, event)
        if node is None:
            edits.add(hooks, groups, event)
        elif node.items is None:
            raise LeftAlone(f'{event!r} under "hooks" in the file is not a list')
        else:
            for group in groups:
                edits.add(node, group)


def _add_under(edits: Edits, root: Node, keys: tuple[str, ...], value: dict[str, Any]) -> None:
    section, name = keys
    node = _child_node(root, section)
    if node is None:
        edits.add(root, {name: value}, section)
    elif node.members is None:
        raise LeftAlone(f"{section!r} in the file is not an object")
    else:
        edits.add(node, value, name)


def _child_node(node: Node, key: str) -> Node | None:
    if key in node.repeated:
        raise LeftAlone(f"the file has the key {key!r} twice")
    entry = (node.members or {}).get(key)
    return entry.node if entry is not None else None


def _remove_from_json(target: Target, text: str, owned: Any) -> str:
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        return text
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    document = _parse_json(text)
    edits = Edits(document)
    is_changed = _remove_hooks(edits, document.root)
    if owned is not None and target.mcp_keys:
        is_changed |= _remove_mcp(edits, document.root, target.mcp_keys, owned)
    return mark + edits.text() if is_changed else text


def _remove_mcp(edits: Edits, root: Node, keys: tuple[str, ...], owned: Any) -> bool:
    section, name = keys
    node = _child_node(root, section)
    if node is None or _child_node(node, name) is None or node.members is None or root.members is None:
        return False
    if node.members[name].node.data() != owned:
        return False  # the person has changed the entry, and owns it now
    if len(node.members) == 1:
        edits.remove(root, root.members[section])
    else:
        edits.remove(node, node.members[name])
    return True


def _remove_hooks(edits: Edits, root: Node) -> bool:
    """Remove Maestro's commands, and the groups and events that become empty; return whether the text changes."""
    hooks = _child_node(root, _HOOKS)
    if hooks is None or hooks.members is None or root.members is None:
        return False
    emptied = [event for event, entry in hooks.members.items() if _is_only_ours(entry.node)]
    touched = [event for event, entry in hooks.members.items() if any(map(is_ours, _all_commands(entry.node.data())))]
    for event in touched:
        _child_node(hooks, event)  # refuse a file that has the event twice
    if touched and len(emptied) == len(hooks.members):
        edits.remove(root, root.members[_HOOKS])
        return True
    for event in touched:
        if event in emptied:
            edits.remove(hooks, hooks.members[event])
        else:
            _remove_groups(edits, hooks.members[event].node)
    return bool(touched)


def _is_only_ours(node: Node) -> bool:
    return bool(node.items) and all(_is_our_group(entry.node) for entry in node.items or ())


def _is_our_group(node: Node) -> bool:
    group_commands = _all_commands([node.data()])
    return bool(group_commands) and all(map(is_ours, group_commands))


def _remove_groups(edits: Edits, groups: Node) -> None:
    for entry in groups.items or ():
        if _is_our_group(entry.node):
            edits.remove(groups, entry)
        elif any(map(is_ours, _all_commands([entry.node.data()]))):
            inside = entry.node.members[_HOOKS].node if entry.node.members else entry.node
            for hook in inside.items or ():
                if is_ours((hook.node.data() or {}).get("command")):
                    edits.remove(inside, hook)


# TOML


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return toml_text.read(text)
    except toml_text.Unreadable as error:
        raise LeftAlone(f"the file cannot be read: {error}") from None


def _add_to_toml(target: Target, text: str) -> str:
    if target.mcp is None:
        return text
    try:
        return toml_text.add(text, target.mcp_keys, target.mcp)
    except toml_text.Unreadable as error:
        raise LeftAlone(f"the file cannot be changed: {error}") from None


def _remove_from_toml(target: Target, text: str, owned: Any) -> str:
    if owned is None or toml_text.find(_parse_toml(text), target.mcp_keys) != owned:
        return text
    try:
        return toml_text.remove(text, target.mcp_keys)
    except toml_text.Unreadable as error:
        raise LeftAlone(f"the file cannot be changed: {error}") from None
