"""The grant of a caller limits the permission level, the grant and the program of the sessions that it starts."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from maestro.core import errors
from maestro.domain import grants
from maestro.domain.callers import SERVER_CALLER, Caller, Role, person_caller, unidentified_caller
from maestro.domain.members import Permission
from maestro.domain.sessions import SessionMode
from maestro.tools.registry import Tool

PLAN, EDIT, FULL = Permission.PLAN, Permission.EDIT, Permission.FULL
DANA = person_caller("dana")


def session(grant: Permission, role: Role = Role.COORDINATOR, **fields: frozenset[str]) -> Caller:
    return Caller(role, "ses_1", session_id="ses_1", title="lead", grant=grant, **fields)  # type: ignore[arg-type]


# The grant of a child without a named grant, by the starter's grant (row) and the child's mode and level (column).
DEFAULTS = """
starter  coordinate/plan  coordinate/edit  coordinate/full  execute/plan  execute/edit  execute/full  plan/plan
plan     plan             plan             plan             plan          plan          plan          plan
edit     edit             edit             edit             plan          edit          edit          plan
full     edit             edit             edit             plan          edit          full          plan
person   edit             edit             edit             plan          edit          full          plan
"""


def rows() -> list[tuple[str, str, str]]:
    head, *lines = (line.split() for line in DEFAULTS.strip().splitlines())
    return [(line[0], child, cell) for line in lines for child, cell in zip(head[1:], line[1:], strict=True)]


@pytest.mark.parametrize(("starter", "child", "expected"), rows())
def test_the_default_grant_of_a_child_depends_on_the_starter_and_on_mode_and_level(
    starter: str, child: str, expected: str
) -> None:
    caller = DANA if starter == "person" else session(Permission(starter))
    mode, level = child.split("/")
    assert grants.child_grant(caller, None, mode=SessionMode(mode), level=Permission(level)) == expected


@pytest.mark.parametrize(
    ("own", "wanted", "mode"), list(itertools.product(grants.LEVELS, grants.LEVELS, SessionMode))
)
def test_a_child_gets_the_wanted_grant_only_up_to_the_grant_of_its_starter(
    own: Permission, wanted: Permission, mode: SessionMode
) -> None:
    if grants.LEVELS.index(wanted) <= grants.LEVELS.index(own):
        assert grants.child_grant(session(own), wanted, mode=mode, level=PLAN) is wanted
    else:
        with pytest.raises(errors.NotPermitted, match=f"has the grant {own}"):
            grants.child_grant(session(own), wanted, mode=mode, level=PLAN)
    assert grants.child_grant(DANA, wanted, mode=mode, level=PLAN) is wanted


@pytest.mark.parametrize(("own", "level"), list(itertools.product(grants.LEVELS, grants.LEVELS)))
def test_a_session_gives_permission_levels_only_up_to_its_grant(own: Permission, level: Permission) -> None:
    grants.require_level(DANA, level)
    if grants.LEVELS.index(level) <= grants.LEVELS.index(own):
        grants.require_level(session(own), level)
        return
    with pytest.raises(errors.NotPermitted) as refused:
        grants.require_level(session(own), level)
    assert str(refused.value) == f"Session lead has the grant {own}, so it may not give the permission level {level}."
    assert refused.value.hint.endswith(f"maestro session grant ses_1 {level}")


@pytest.mark.parametrize("own", grants.LEVELS)
@pytest.mark.parametrize("tool", Tool)
@pytest.mark.parametrize("words", [(), ("--dangerously-skip-permissions",)])
def test_starting_a_program_or_passing_arguments_needs_the_grant_full(
    own: Permission, tool: Tool, words: tuple[str, ...]
) -> None:
    grants.require_program(DANA, tool, words)
    if own is FULL or (tool is not Tool.COMMAND and not words):
        grants.require_program(session(own), tool, words)
    else:
        with pytest.raises(errors.NotPermitted, match=r"may not (start a program|pass arguments)"):
            grants.require_program(session(own), tool, words)


@pytest.mark.parametrize("own", grants.LEVELS)
def test_setting_gates_needs_the_grant_edit(own: Permission) -> None:
    grants.require_gates(DANA)
    grants.require_gates(SERVER_CALLER)
    if own is not PLAN:
        grants.require_gates(session(own))
        return
    with pytest.raises(errors.NotPermitted, match="has the grant plan, so it may not set gates"):
        grants.require_gates(session(own))


def test_a_session_below_the_grant_full_passes_on_only_its_own_patterns() -> None:
    for caller in (DANA, session(FULL)):
        grants.require_patterns(caller, ["shell:*"], [])
    grants.require_patterns(session(EDIT), ["shell:git *"], ["shell:git *", "edit:*"])
    with pytest.raises(errors.NotPermitted, match=r"allow 'shell:\*' without asking"):
        grants.require_patterns(session(EDIT), ["shell:git *", "shell:*"], ["shell:git *"])


@pytest.mark.parametrize("caller", [DANA, SERVER_CALLER])
def test_the_person_and_the_server_have_the_grant_full(caller: Caller) -> None:
    assert grants.grant_of(caller) is FULL
    assert grants.grant_of(unidentified_caller()) is PLAN


@pytest.mark.parametrize(("mode", "given"), list(itertools.product(SessionMode, (None, *grants.LEVELS))))
def test_the_usual_level_is_the_level_of_the_member_or_of_the_mode(
    mode: SessionMode, given: Permission | None
) -> None:
    usual = {SessionMode.EXECUTE: EDIT, SessionMode.COORDINATE: PLAN, SessionMode.PLAN: PLAN}
    assert grants.usual_level(mode, given) is (given or usual[mode])


@pytest.mark.parametrize(("first", "second"), list(itertools.product(grants.LEVELS, grants.LEVELS)))
def test_narrowing_a_caller_keeps_the_rights_that_both_callers_have(first: Permission, second: Permission) -> None:
    starter = session(first, allow=frozenset({"config.set", "mail.broadcast"}), deny=frozenset({"task.cancel"}))
    heir = session(second, allow=frozenset({"config.set", "server.stop"}), deny=frozenset({"task.delete"}))
    heir = msgspec.structs.replace(heir, name="ses_2", session_id="ses_2")
    narrowed = grants.narrow_caller(heir, grants.rights_of(starter))
    assert narrowed.allow == {"config.set"} and narrowed.deny == {"task.cancel", "task.delete"}
    assert narrowed.grant is grants.lower_level(first, second)
    assert (narrowed.name, narrowed.session_id, narrowed.role) == ("ses_2", "ses_2", Role.COORDINATOR)


@pytest.mark.parametrize(("own", "kept"), list(itertools.product(Role, Role)))
def test_narrowing_a_caller_keeps_the_lower_role(own: Role, kept: Role) -> None:
    order = [Role.NOBODY, Role.WORKER, Role.COORDINATOR, Role.PERSON]
    rights = grants.Rights(role=kept, allow=[], deny=[], grant=FULL)
    expected = order[min(order.index(own), order.index(kept))]
    assert grants.narrow_caller(session(FULL, own), rights).role is expected
