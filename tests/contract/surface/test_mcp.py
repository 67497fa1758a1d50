"""Tests of the parts that only MCP has: tools and actions, lists by role, resources and notifications.

The tests use the client of the SDK, both transports, the handshake and the modern protocol. The other tests of this
folder test the parts that MCP shares with the other surfaces.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from ways.mcp import LEFT, OFFERED

from maestro.operations.registry import REGISTRY
from maestro.surfaces.mcp.tools import resources, tool_list
from maestro.testing.live import LiveServer
from maestro.testing.mcp import LEGACY, MODERN, connected_client, text_of

# The client warns about features that the protocol of 2026-07-28 has removed.
pytestmark = pytest.mark.filterwarnings("ignore:.*removed as of 2026-07-28")

WAYS = [(way, mode) for way in ("http", "stdio") for mode in (LEGACY, MODERN)]
PATIENCE_SECONDS = 20
Teams = Callable[[], AbstractAsyncContextManager[Any]]
_counter = iter(range(10_000))


class Team:
    """A project with a coordinator and a worker, each an MCP client."""

    def __init__(self, api: httpx.Client, project: str, folder: Path) -> None:
        self.api = api
        self.folder = folder  # the folder of a second project
        self.project = project
        self.clients: dict[str, Any] = {}
        self.heard: list[Any] = []
        self.called: set[tuple[str, str]] = set()
        self.another: Callable[..., AbstractAsyncContextManager[Any]] = (
            connected_client  # opens a further client of the same kind
        )

    async def call(self, by: str, tool: str, **arguments: Any) -> str:
        self.called.add((tool, arguments.get("action", "")))
        return text_of(await self.clients[by].call_tool(tool, arguments))

    async def refused(self, by: str, tool: str, **arguments: Any) -> str:
        result = await self.clients[by].call_tool(tool, arguments)
        assert result.is_error
        text: str = result.content[0].text
        return text


@pytest.fixture(scope="module")
def api(shared_live: LiveServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=shared_live.url, headers={"Authorization": f"Bearer {shared_live.token}"}) as made:
        yield made


def set_up(api: httpx.Client, folder: Path, name: str) -> dict[str, str]:
    """Create a project with sessions, and return the tokens of coordinator and worker."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    assert api.post("/api/projects", json={"path": str(folder), "name": name}).status_code == 200
    api.post("/api/members", json={"project": name, "name": "dana", "role": "dev"})
    api.post("/api/teams", json={"project": name, "name": "core"})
    boss = api.post(
        "/api/sessions", json={"project": name, "name": "boss", "mode": "coordinate", "grant": "full"}
    ).json()
    worker = api.post("/api/sessions", json={"project": name, "name": "w", "parent": "boss"}).json()
    api.post("/api/sessions", json={"project": name, "name": "idle", "parent": "boss"})
    return {"boss": boss["token"], "w": worker["token"]}


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}-{way[1]}")
def teams(request: pytest.FixtureRequest, shared_live: LiveServer, api: httpx.Client, tmp_path: Path) -> Teams:
    """Return a function that opens a team. The task that opened a client must close it, which a fixture cannot do."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Team]:
        name = f"mcp{next(_counter)}"
        (tmp_path / "other").mkdir()
        team = Team(api, name, tmp_path / "other")
        tokens = set_up(api, tmp_path / name, name)
        way, mode = request.param
        async with (
            asyncio.timeout(100),
            connected_client(shared_live, way, mode, tokens["boss"]) as boss,
            connected_client(shared_live, way, mode, tokens["w"], heard=team.heard.append) as worker,
        ):
            team.clients = {"boss": boss, "w": worker}
            team.another = lambda token, heard: connected_client(shared_live, way, mode, token, heard=heard)
            yield team

    return opened


def test_each_operation_is_either_offered_as_a_tool_or_listed_as_left_out() -> None:
    assert set(REGISTRY) == set(OFFERED) | set(LEFT) and not set(OFFERED) & set(LEFT)


async def test_a_client_sees_only_the_tools_of_its_role(teams: Teams) -> None:
    async with teams() as team:
        names = {who: [tool.name for tool in (await one.list_tools()).tools] for who, one in team.clients.items()}
        assert names["boss"] == [tool.name for tool in tool_list.ALL_TOOLS]
        assert set(names["boss"]) - set(names["w"]) == {"spawn", "run", "worktrees"}
        with pytest.raises(Exception, match="Unknown tool: spawn"):
            await team.clients["w"].call_tool("spawn", {})
        with pytest.raises(Exception, match="Unknown tool: fly"):
            await team.clients["w"].call_tool("fly", {})


async def test_every_tool_and_every_action_can_be_called(teams: Teams) -> None:
    async with teams() as team:
        call, ref = team.call, f"{team.project}#"
        assert (await call("w", "whoami")).startswith("You are w, worker")
        await about_tasks(team, ref)
        await about_mail(team, ref)
        await about_asks(team)
        assert "boss" in await call("w", "sessions", action="list")
        assert "w" in await call("boss", "sessions", action="show", id="w")
        assert "alive" in await call("boss", "sessions", action="explain", id="w")
        for action in ("logs", "interrupt", "stop", "resume"):
            team.called.add(("sessions", action))
            # Maestro did not spawn this session, so the actions are refused. The tool must handle them nevertheless.
            result = await team.clients["boss"].call_tool("sessions", {"action": action, "id": "idle"})
            assert "Internal" not in result.content[0].text
        await call("boss", "sessions", action="prompt", id="w", text="Hurry.")
        assert "adopted by" in await call("boss", "sessions", action="adopt", id="w")
        assert "dana" in await call("w", "members", action="list")
        assert "dana" in await call("w", "members", action="show", id="dana")
        assert "core" in await call("w", "members", action="teams")
        assert "core" in await call("w", "members", action="team", id="core")
        told = {"member": "dana", "message": "Go.", "arguments": ["true"]}
        assert "Go." in await call("boss", "spawn", task=[f"{ref}2"], dry_run=True, **told)
        await about_runs(team)
        await about_issues(team)
        offered = {(tool.name, use.action) for tool in tool_list.ALL_TOOLS for use in tool.uses}
        assert team.called == offered


async def about_tasks(team: Team, ref: str) -> None:
    call = team.call
    await call("boss", "task_create", title="Parse", gates=["true"])
    await call("boss", "task_create", title="Print", depends_on=[f"{ref}1"])
    await call("boss", "task_create", title="Draw", parent=f"{ref}2")
    await call("boss", "task_create", title="Later")
    assert f"{ref}1" in await call("w", "tasks", action="ready")
    assert f"{ref}2" in await call("w", "tasks", action="list", status="todo")
    assert f"{ref}2" in await call("w", "tasks", action="blocked")
    assert f"{ref}3" in await call("w", "tasks", action="tree", id=f"{ref}2")
    assert f"{ref}3" in await call("w", "tasks", action="children", id=f"{ref}2")
    assert "in_progress" in await call("w", "task_update", action="start", id=f"{ref}4")
    assert f"{ref}4" in await call("w", "report", kind="progress", text="Half.")
    assert f"{ref}4" in await call("w", "report", id=f"{ref}4", kind="progress", text="More.")
    await call("w", "task_update", action="block", id=f"{ref}4", text="A key.")
    await call("w", "task_update", action="unblock", id=f"{ref}4")
    document = (await call("w", "task_update", action="document", id=f"{ref}4", title="Plan", text="Do it.")).split()[
        0
    ]
    assert document in await call("w", "tasks", action="documents", id=f"{ref}4")
    assert await call("w", "tasks", action="document", id=document) == "Do it."
    await call("w", "task_update", action="edit", id=f"{ref}4", title="Sooner")
    assert "Sooner" in await call("boss", "tasks", action="show", id=f"{ref}4")
    await call("w", "task_update", action="release", id=f"{ref}4")
    await call("boss", "task_update", action="depend", id=f"{ref}4", on=[f"{ref}1"])
    await call("boss", "task_update", action="depend", id=f"{ref}4", on=[f"{ref}1"], remove=True)
    await call("w", "task_update", action="start", id=f"{ref}4")
    await call("w", "task_update", action="fail", id=f"{ref}4", text="Cannot be done.")
    await call("boss", "task_update", action="reopen", id=f"{ref}4")
    await call("boss", "task_update", action="cancel", id=f"{ref}4", text="Not needed.")
    assert "cancelled" in await call("boss", "wait", tasks=[f"{ref}4"], timeout=20)
    await call("boss", "task_update", action="delete", id=f"{ref}4")
    await call("w", "task_update", action="start", id=f"{ref}1")
    assert "in_review" in await call("w", "task_update", action="complete", id=f"{ref}1", text="Done.")
    waited = await call("boss", "wait", tasks=[f"{ref}1"], timeout=50)
    assert "did not reach" not in waited, waited
    shown = await call("boss", "tasks", action="show", id=f"{ref}1")
    gate = next(word for word in shown.split() if word.startswith("gat_"))
    await call("boss", "tasks", action="gate", id=gate)
    team.called.add(("task_update", "reject"))
    assert "illegal_move" in await team.refused("boss", "task_update", action="reject", id=f"{ref}1", text="No.")


async def about_mail(team: Team, ref: str) -> None:
    call = team.call
    message = (await call("boss", "send", to=["w"], subject="Rebase", message="Now.", task=f"{ref}2")).split()[0]
    assert "  | Now." in await call("w", "wait", timeout=20)
    assert message in await call("w", "inbox", all=True)
    assert "Now." in await call("w", "mail", action="show", id=message)
    assert message in await call("w", "tasks", action="mail", id=f"{ref}2")
    assert "acknowledged" in await call("w", "mail", action="ack", id=message)
    await call("w", "send", reply_to=message, message="Done.")
    assert "  | Done." in await call("boss", "mail", action="thread", id=message)
    assert "w  acknowledged" in await call("boss", "mail", action="status", id=message)
    assert message in await call("boss", "mail", action="sent")
    assert message in await call("boss", "mail", action="search", query="rebase")
    await call("boss", "send", scope="my-workers", subject="Freeze", message="Stop.")
    shared = (await call("boss", "send", to=[team.project], subject="Who?", message="?")).split()[0]
    assert "claimed by" in await call("w", "mail", action="claim", id=shared)
    assert "free" in await call("w", "mail", action="release", id=shared)
    letter = {"project": team.project, "to": ["w"], "subject": "File", "message": "See it."}
    attached = [{"file_name": "a.txt", "content": "SGVsbG8="}]
    sent = team.api.post("/api/mail", json=letter | {"attach": attached}).json()
    shown = await call("w", "mail", action="show", id=sent["id"])
    attachment = next(word for word in shown.split() if word.startswith("att_"))
    assert await call("w", "mail", action="attachment", id=attachment) == "Hello"
    assert "not_found" in await team.refused("w", "mail", action="show", id="msg_none")


async def about_asks(team: Team) -> None:
    ask = (await team.call("w", "ask", title="Which port?", choice=["81", "82"])).split()[0]
    waits = asyncio.create_task(team.call("w", "wait", ask=ask, timeout=20))
    team.api.post(f"/api/asks/{ask}/answer", json={"answer": "2"})
    assert "82" in await waits
    other = (await team.call("w", "ask", title="And now?")).split()[0]
    assert "withdrawn" in await team.call("w", "ask", withdraw=other)
    late = await team.call("w", "ask", title="Hello?", wait=True, timeout=0.2)
    assert "No answer within 0.2 s." in late and 'wait(ask="ask_' in late


async def about_issues(team: Team) -> None:
    """Open an issue in another project, and handle an issue from that project."""
    other = f"{team.project}-other"
    team.api.post("/api/projects", json={"path": str(team.folder), "name": other}).raise_for_status()
    opened = await team.call("w", "issues", action="open", to=other, title="Crash", message="It crashes.")
    assert f"{other}#1" in opened
    assert "Crash" in await team.call("w", "issues", action="list", opened=True)
    assert "It crashes." in await team.call("w", "issues", action="show", id=f"{other}#1")
    assert other in await team.call("w", "issues", action="reply", id=f"{other}#1", message="More.")
    assert "never seen" in await team.call("w", "issues", action="agents", to=other)
    came = {"to": team.project, "project": other, "title": "Slow", "message": "It is slow."}
    theirs = team.api.post("/api/issues", json=came).json()["ref"]
    assert "in_progress" in await team.call("w", "issues", action="claim", id=theirs)
    assert "completed" in await team.call("w", "issues", action="close", id=theirs, message="Quick now.")
    assert "ready" in await team.call("boss", "issues", action="reopen", id=theirs)


async def about_runs(team: Team) -> None:
    call = team.call
    await call("boss", "task_create", title="Alone")
    begun = await call("boss", "run", action="start", task=f"{team.project}#5", arguments=["sleep", "9"])
    run = next(word for word in begun.split() if word.startswith("run_"))
    assert run in await call("boss", "run", action="list")
    await call("boss", "run", action="stop", id=run)
    assert "stopped" in await call("boss", "run", action="show", id=run)
    await call("boss", "run", action="resume", id=run)
    await call("boss", "run", action="stop", id=run)
    await call("boss", "worktrees", action="list")
    for action in ("diff", "merge", "remove"):
        team.called.add(("worktrees", action))
        assert "not_found" in await team.refused("boss", "worktrees", action=action, id="w")


async def test_structured_data_is_returned_only_on_request(teams: Teams) -> None:
    async with teams() as team:
        worker = team.clients["w"]
        made = {"title": "Parse"}
        assert (await worker.call_tool("task_create", made)).structured_content is None
        result = await worker.call_tool("task_create", made, meta={"maestro/structured": True})
        assert result.structured_content["ref"] == f"{team.project}#2" and f"{team.project}#2" in text_of(result)
        refused = await worker.call_tool("tasks", {"action": "show", "id": "#9"}, meta={"maestro/structured": True})
        assert refused.is_error and refused.structured_content["code"] == "not_found"
        late = await worker.call_tool("wait", {"timeout": 0.01}, meta={"maestro/structured": True})
        assert not late.is_error and late.structured_content["code"] == "timed_out"


async def test_every_resource_is_listed_and_readable(teams: Teams) -> None:
    async with teams() as team:
        worker = team.clients["w"]
        assert [one.uri for one in (await worker.list_resources()).resources] == [
            one.uri for one in resources.FIXED_RESOURCES
        ]
        templates = (await worker.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == [one.uri for one in resources.RESOURCE_TEMPLATES]
        ref = f"{team.project}#1"
        await team.call("boss", "task_create", title="Parse")
        message = (await team.call("boss", "send", to=["w"], subject="Hi", message="There.")).split()[0]
        for uri, said in (
            ("maestro://inbox", "There."),
            ("maestro://tasks/ready", "Parse"),
            (f"maestro://tasks/{ref.replace('#', '%23')}", "Parse"),
            (f"maestro://thread/{message}", "There."),
            ("maestro://sessions", "boss"),
            ("maestro://primer", "You are w"),
        ):
            (content,) = (await worker.read_resource(uri)).contents
            assert said in content.text and content.uri == uri
        assert "w: sent" in await team.call("boss", "mail", action="sent")  # reading a resource does not mark mail
        for uri in ("maestro://nothing", "maestro://tasks/none%231", "file:///etc/passwd"):
            with pytest.raises(Exception, match=r"no resource|There is no|not_found"):
                await worker.read_resource(uri)


async def test_a_client_is_notified_of_changes_to_subscribed_resources(teams: Teams) -> None:
    async with teams() as team:
        worker = team.clients["w"]
        if worker.protocol_version == "2026-07-28":
            async with worker.listen(resource_subscriptions=["maestro://inbox"]) as changes:
                await team.call("boss", "send", to=["w"], subject="Hi", message="There.")
                async with asyncio.timeout(PATIENCE_SECONDS):
                    async for change in changes:
                        assert change.uri == "maestro://inbox"
                        break
            return
        await worker.subscribe_resource("maestro://inbox")
        await worker.subscribe_resource("maestro://tasks/ready")
        await team.call("boss", "send", to=["w"], subject="Hi", message="There.")
        await until(lambda: "maestro://inbox" in updated(team))
        await worker.unsubscribe_resource("maestro://inbox")
        team.heard.clear()
        await team.call("boss", "send", to=["w"], subject="Hi", message="There.")
        await team.call("boss", "task_create", title="Parse")
        await until(lambda: "maestro://tasks/ready" in updated(team))
        assert "maestro://inbox" not in updated(team)


async def test_a_client_is_notified_when_its_list_of_tools_changes(teams: Teams) -> None:
    async with teams() as team:
        made = team.api.post("/api/members", json={"project": team.project, "name": "eve", "role": "dev"}).json()
        asked = {"project": team.project, "name": "e", "member": "eve", "parent": "boss"}
        token = team.api.post("/api/sessions", json=asked).json()["token"]
        heard: list[Any] = []
        async with team.another(token, heard.append) as eve:
            before = {tool.name for tool in (await eve.list_tools()).tools}
            assert "task_create" in before and "spawn" not in before
            if eve.protocol_version == "2026-07-28":
                async with eve.listen(tools_list_changed=True) as changes:
                    allow(team, made["id"], allow=["session.spawn"], deny=["task.create"])
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        assert type(await anext(aiter(changes))).__name__ == "ToolsListChanged"
            else:
                assert eve.server_capabilities.tools.list_changed
                allow(team, made["id"], role="another word for it")  # a change that changes no tool
                allow(team, made["id"], allow=["session.spawn"], deny=["task.create"])
                await until(lambda: [one.method for one in heard if hasattr(one, "method")])
                await asyncio.sleep(0.5)
                assert [one.method for one in heard] == ["notifications/tools/list_changed"]
            after = {tool.name for tool in (await eve.list_tools(cache_mode="bypass")).tools}
            assert "task_create" not in after and "spawn" in after


def allow(team: Team, member: str, **changes: Any) -> None:
    assert team.api.patch(f"/api/members/{member}", json=changes).status_code == 200


def updated(team: Team) -> list[str]:
    return [
        str(one.params.uri) for one in team.heard if getattr(one, "method", "") == "notifications/resources/updated"
    ]


async def until(holds: Any) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110 (what is waited for comes over a wire)
            await asyncio.sleep(0.01)


async def test_a_wait_ends_with_mail_and_another_wait_can_be_cancelled(teams: Teams) -> None:
    async with teams() as team:
        waits = asyncio.create_task(team.call("w", "wait", timeout=60))
        cancelled = asyncio.create_task(team.call("boss", "wait", timeout=60))
        await asyncio.sleep(0.2)
        cancelled.cancel()
        await team.call("boss", "send", to=["w"], subject="Hi", message="There.")
        assert "  | There." in await waits


async def test_mail_that_was_shown_is_not_shown_again_and_becomes_read(teams: Teams) -> None:
    async with teams() as team:
        message = (await team.call("boss", "send", to=["w"], subject="Hi", message="There.")).split()[0]
        assert "There." in await team.call("w", "inbox")
        await until_status(team, message, {"delivered", "read"})
        assert "no mail" in await team.call("w", "inbox")
        await until_status(team, message, {"read"})


async def until_status(team: Team, message: str, wanted: set[str]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            (one,) = team.api.get(f"/api/mail/{message}/status").json()["deliveries"]
            if one["status"] in wanted:
                assert one["via"] in ("mcp", "call")
                return
            await asyncio.sleep(0.02)
