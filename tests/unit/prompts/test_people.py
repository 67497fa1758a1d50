"""Prompts describe personas, team, coordinator, directive, siblings and the earlier start of a session."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from maestro.domain.manifests import LastStart, ManifestDirective, SiblingSession, UnreadMessage
from maestro.domain.messages import MessageType, SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.sessions import SessionMode, SessionStatus
from maestro.prompts.compose import system_prompt, task_prompt
from maestro.prompts.templates import packaged_templates
from maestro.testing.manifests import make_link, make_manifest, make_member


def test_a_coordinator_sees_all_details_of_its_team() -> None:
    roster = (make_member(0), make_member(1, model=None, agent_tool=None))
    text = system_prompt(
        make_manifest(SessionMode.COORDINATE, roster=roster),
        packaged_templates().choose_template(SessionMode.COORDINATE),
    )
    members = ET.fromstring(text).find("team_members")
    assert members is not None and members.attrib == {"count": "2"}
    first, second = members
    assert (first.tag, list(first.attrib)) == ("team_member", ["id", "name", "role"])
    assert [child.tag for child in first] == ["identity", "avatar", "mail_id", "model", "agent_tool"]
    assert [child.tag for child in second] == ["identity", "avatar", "mail_id"]


def test_a_worker_sees_only_the_mail_addresses_of_its_team() -> None:
    text = system_prompt(make_manifest(), packaged_templates().choose_template(SessionMode.EXECUTE))
    members = ET.fromstring(text).findall("team_members/team_member")
    assert [[child.tag for child in member] for member in members] == [["mail_id"]] * 3


def test_the_task_prompt_of_a_worker_has_its_coordinator_and_directive() -> None:
    found = ET.fromstring(task_prompt(make_manifest()))
    coordinator, directive = found.find("coordinator"), found.find("coordinator_directive")
    assert coordinator is not None and directive is not None
    assert list(coordinator.attrib)[:2] == ["session_id", "team_member_id"]
    assert directive.get("from") == "boss" and "Do not touch" in (directive.text or "")
    order = [child.tag for child in found]
    assert order.index("coordinator_directive") < order.index("tasks"), (
        "The directive does not stand before the tasks that it explains."
    )


def test_a_session_with_two_members_has_both_personas() -> None:
    text = system_prompt(
        make_manifest(members=(make_member(0), make_member(1))),
        packaged_templates().choose_template(SessionMode.EXECUTE),
    )
    assert [persona.get("name") for persona in ET.fromstring(text).findall("personas/persona")] == ["ada", "grace"]


def test_a_persona_without_an_identity_has_no_identity_element() -> None:
    text = system_prompt(
        make_manifest(members=(make_member(0, identity="", skills=()),)),
        packaged_templates().choose_template(SessionMode.EXECUTE),
    )
    persona = ET.fromstring(text).find("personas/persona")
    assert persona is not None and [child.tag for child in persona] == ["avatar", "mail_id"]
    assert [child.text for child in persona] == ["🛠", "@ada"]


def directive_from(message_id: str | None, text: str = "x" * 9_000) -> ET.Element:
    """Return the directive element of a task prompt."""
    directive = ManifestDirective(
        subject="Go", text=text, sender="boss", sender_kind=SenderKind.SESSION, message_id=message_id
    )
    found = ET.fromstring(task_prompt(make_manifest(directive=directive))).find("coordinator_directive")
    assert found is not None
    return found


def test_a_cut_directive_names_the_call_that_reads_the_whole_message() -> None:
    assert directive_from("msg_1").get("read_all") == "maestro mail show msg_1"
    assert directive_from(None).get("read_all") == "maestro mail inbox --all"


def test_a_short_directive_is_complete_and_names_its_sender() -> None:
    directive = directive_from("msg_1", "Only the reader.")
    assert directive.text == "Only the reader."
    assert directive.attrib == {"subject": "Go", "from": "boss", "sender": "session", "message_id": "msg_1"}


def resumption(**fields: object) -> ET.Element:
    """Return the element about the earlier start of a resumed session."""
    resumed = LastStart(status=SessionStatus.LOST, ended_at="2026-03-01T12:00:00Z", **fields)  # type: ignore[arg-type]
    found = ET.fromstring(task_prompt(make_manifest(resumed=resumed))).find("resumed")
    assert found is not None
    return found


def test_the_prompt_of_a_resumed_session_without_mail_has_only_the_instruction() -> None:
    found = resumption()
    assert found.attrib == {"ended_as": "lost", "ended_at": "2026-03-01T12:00:00Z"}
    assert [child.tag for child in found] == ["how"]


def test_the_prompt_of_a_resumed_session_has_the_unread_count_and_the_last_output() -> None:
    found = resumption(unread=7, last_output="the runner is gone")
    assert [child.tag for child in found] == ["how", "unread", "last_output"]
    unread = found.find("unread")
    assert unread is not None and unread.get("count") == "7" and list(unread) == []


def test_the_prompt_of_a_resumed_session_has_its_unread_messages() -> None:
    message = UnreadMessage(
        message_id="msg_1",
        sender="ada",
        type=MessageType.QUERY,
        priority=Priority.HIGH,
        subject="Which dialect?",
        text="The grammar names two.",
    )
    (shown,) = resumption(unread=1, messages=(message,)).findall("unread/messages/message")
    assert shown.text == "The grammar names two."
    assert shown.attrib == {
        "id": "msg_1",
        "from": "ada",
        "type": "query",
        "priority": "high",
        "subject": "Which dialect?",
    }


def test_the_prompt_shows_the_tasks_and_the_known_status_of_each_sibling() -> None:
    siblings = (
        SiblingSession(
            session_id="ses_1", name="writer", mode=SessionMode.EXECUTE, status=SessionStatus.WORKING, tasks=(make_link(4),)
        ),
        SiblingSession(session_id="ses_2", name="tester", mode=SessionMode.EXECUTE),
    )  # fmt: skip
    writer, tester = ET.fromstring(task_prompt(make_manifest(siblings=siblings))).findall("siblings/sibling")
    assert writer.get("status") == "working" and "status" not in tester.attrib
    assert [task.get("ref") for task in writer.iter("task")] == ["vc#4"] and list(tester) == []
