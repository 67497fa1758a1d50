"""Add Maestro's entries to the text of a settings file, and remove them. All other text stays the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maestro.client.connect import toml_text
from maestro.client.connect.entries import is_maestro_hook
from maestro.text import jsonc
from maestro.text.jsonc import JsoncDocument, JsoncEdits, JsoncNode
from maestro.tools.connect_support import SettingsFormat, SettingsTarget

_HOOKS = "hooks"
_BYTE_ORDER_MARK = "\ufeff"


class NotChangeable(Exception):
    """A settings file that Maestro does not change; the message is the reason."""


def add_entries(target: SettingsTarget, text: str, *, owned: Any = None) -> tuple[str, list[str]]:
    """Return a file's text with Maestro's entries, and notes for the person. `owned` is Maestro's own MCP entry."""
    bare = remove_entries(target, text, owned=owned)
    notes: list[str] = []
    if target.mcp is not None and (foreign := _find_mcp_entry(target, bare)) is not None:
        if foreign != target.mcp:
            name = target.mcp_keys[-1]
            notes.append(f"{target.path} already has another MCP server {name!r}: this entry is not changed")
        target = SettingsTarget(target.path, target.format, hooks=target.hooks)
    merged_text = _add_to_toml(target, bare) if target.format is SettingsFormat.TOML else _add_to_json(target, bare)
    return (text if _is_same_data(target, text, merged_text) else merged_text), notes


def remove_entries(target: SettingsTarget, text: str, *, owned: Any = None) -> str:
    """Return a file's text without Maestro's hooks, and without the MCP entry if the entry equals `owned`."""
    if target.format is SettingsFormat.TOML:
        return _remove_from_toml(target, text, owned)
    return _remove_from_json(target, text, owned)


def present_entries(target: SettingsTarget, text: str) -> tuple[set[str], Any]:
    """Return the events whose hooks call Maestro, and the MCP entry under Maestro's name."""
    if target.format is SettingsFormat.TOML:
        return set(), _find_mcp_entry(target, text)
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        return set(), None
    data = _parse_json(text).root.to_value()
    hooks = data.get(_HOOKS) if isinstance(data, dict) else None
    events = hooks if isinstance(hooks, dict) else {}
    ours = {event for event, groups in events.items() if any(map(is_maestro_hook, _all_commands(groups)))}
    return ours, _find_mcp_entry(target, text)


def hook_commands(text: str) -> list[str]:
    """Return the commands of Maestro's hooks in a file's text."""
    data = _parse_json(text).root.to_value() if text.strip(_BYTE_ORDER_MARK + " \t\r\n") else {}
    hooks = data.get(_HOOKS) if isinstance(data, dict) else None
    events = hooks if isinstance(hooks, dict) else {}
    return [command for groups in events.values() for command in _all_commands(groups) if is_maestro_hook(command)]


def _all_commands(groups: Any) -> list[Any]:
    lists = [group.get(_HOOKS) for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    hooks = [hook for hook_list in lists if isinstance(hook_list, list) for hook in hook_list]
    return [hook.get("command") for hook in hooks if isinstance(hook, dict)]


def _is_same_data(target: SettingsTarget, text: str, merged_text: str) -> bool:
    """Return whether both texts hold the same data: in that case not even spaces may change."""
    if target.format is SettingsFormat.TOML:
        return toml_text.parse_toml(text) == toml_text.parse_toml(merged_text)
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        return False
    return bool(_parse_json(text).root.to_value() == _parse_json(merged_text).root.to_value())


def _find_mcp_entry(target: SettingsTarget, text: str) -> Any:
    if target.format is SettingsFormat.TOML:
        return toml_text.find_value(_parse_toml(text), target.mcp_keys)
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        return None
    data = _parse_json(text).root.to_value()
    return toml_text.find_value(data, target.mcp_keys) if target.mcp_keys else None


# JSON


def _parse_json(text: str) -> JsoncDocument:
    try:
        document = JsoncDocument(text.removeprefix(_BYTE_ORDER_MARK))
    except jsonc.JsoncUnreadable as error:
        raise NotChangeable(f"the file cannot be read: {error}") from None
    if document.root.members is None:
        raise NotChangeable("the file does not hold a JSON object")
    return document


def _add_to_json(target: SettingsTarget, text: str) -> str:
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        text = "{}\n"
    document = _parse_json(text)
    edits = JsoncEdits(document)
    if target.hooks:
        _add_hooks(edits, document.root, target.hooks)
    if target.mcp is not None:
        _add_under(edits, document.root, target.mcp_keys, dict(target.mcp))
    return mark + edits.apply_edits()


def _add_hooks(edits: JsoncEdits, root: JsoncNode, hooks_to_add: Mapping[str, list[dict[str, Any]]]) -> None:
    hooks = _child_node(root, _HOOKS)
    if hooks is None:
        edits.add_value(root, dict(hooks_to_add), _HOOKS)
        return
    if hooks.members is None:
        raise NotChangeable('"hooks" in the file is not an object')
    for event, groups in hooks_to_add.items():
        node = _child_node(hooks, event)
        if node is None:
            edits.add_value(hooks, groups, event)
        elif node.items is None:
            raise NotChangeable(f'{event!r} under "hooks" in the file is not a list')
        else:
            for group in groups:
                edits.add_value(node, group)


def _add_under(edits: JsoncEdits, root: JsoncNode, keys: tuple[str, ...], value: dict[str, Any]) -> None:
    section, name = keys
    node = _child_node(root, section)
    if node is None:
        edits.add_value(root, {name: value}, section)
    elif node.members is None:
        raise NotChangeable(f"{section!r} in the file is not an object")
    else:
        edits.add_value(node, value, name)


def _child_node(node: JsoncNode, key: str) -> JsoncNode | None:
    if key in node.repeated:
        raise NotChangeable(f"the file has the key {key!r} twice")
    entry = (node.members or {}).get(key)
    return entry.node if entry is not None else None


def _remove_from_json(target: SettingsTarget, text: str, owned: Any) -> str:
    if not text.strip(_BYTE_ORDER_MARK + " \t\r\n"):
        return text
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    document = _parse_json(text)
    edits = JsoncEdits(document)
    is_changed = _remove_hooks(edits, document.root)
    if owned is not None and target.mcp_keys:
        is_changed |= _remove_mcp(edits, document.root, target.mcp_keys, owned)
    return mark + edits.apply_edits() if is_changed else text


def _remove_mcp(edits: JsoncEdits, root: JsoncNode, keys: tuple[str, ...], owned: Any) -> bool:
    section, name = keys
    node = _child_node(root, section)
    if node is None or _child_node(node, name) is None or node.members is None or root.members is None:
        return False
    if node.members[name].node.to_value() != owned:
        return False  # the person has changed the entry, and owns it now
    if len(node.members) == 1:
        edits.remove_entry(root, root.members[section])
    else:
        edits.remove_entry(node, node.members[name])
    return True


def _remove_hooks(edits: JsoncEdits, root: JsoncNode) -> bool:
    """Remove Maestro's commands, and the groups and events that become empty; return whether the text changes."""
    hooks = _child_node(root, _HOOKS)
    if hooks is None or hooks.members is None or root.members is None:
        return False
    emptied = [event for event, entry in hooks.members.items() if _is_only_ours(entry.node)]
    touched = [
        event
        for event, entry in hooks.members.items()
        if any(map(is_maestro_hook, _all_commands(entry.node.to_value())))
    ]
    for event in touched:
        _child_node(hooks, event)  # refuse a file that has the event twice
    if touched and len(emptied) == len(hooks.members):
        edits.remove_entry(root, root.members[_HOOKS])
        return True
    for event in touched:
        if event in emptied:
            edits.remove_entry(hooks, hooks.members[event])
        else:
            _remove_groups(edits, hooks.members[event].node)
    return bool(touched)


def _is_only_ours(node: JsoncNode) -> bool:
    return bool(node.items) and all(_is_our_group(entry.node) for entry in node.items or ())


def _is_our_group(node: JsoncNode) -> bool:
    group_commands = _all_commands([node.to_value()])
    return bool(group_commands) and all(map(is_maestro_hook, group_commands))


def _remove_groups(edits: JsoncEdits, groups: JsoncNode) -> None:
    for entry in groups.items or ():
        if _is_our_group(entry.node):
            edits.remove_entry(groups, entry)
        elif any(map(is_maestro_hook, _all_commands([entry.node.to_value()]))):
            inside = entry.node.members[_HOOKS].node if entry.node.members else entry.node
            for hook in inside.items or ():
                if is_maestro_hook((hook.node.to_value() or {}).get("command")):
                    edits.remove_entry(inside, hook)


# TOML


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return toml_text.parse_toml(text)
    except toml_text.UneditableToml as error:
        raise NotChangeable(f"the file cannot be read: {error}") from None


def _add_to_toml(target: SettingsTarget, text: str) -> str:
    if target.mcp is None:
        return text
    try:
        return toml_text.add_table(text, target.mcp_keys, target.mcp)
    except toml_text.UneditableToml as error:
        raise NotChangeable(f"the file cannot be changed: {error}") from None


def _remove_from_toml(target: SettingsTarget, text: str, owned: Any) -> str:
    if owned is None or toml_text.find_value(_parse_toml(text), target.mcp_keys) != owned:
        return text
    try:
        return toml_text.remove_table(text, target.mcp_keys)
    except toml_text.UneditableToml as error:
        raise NotChangeable(f"the file cannot be changed: {error}") from None
