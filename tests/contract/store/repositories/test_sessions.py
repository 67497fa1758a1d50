"""The repository of sessions: every field, signals, leases, relations and ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from maestro.core import limits
from maestro.domain.callers import Caller, Role
from maestro.domain.members import Permission
from maestro.domain.projects import Workspace
from maestro.domain.sessions import Session, SessionMode, SessionStatus, StatusSignal, StatusSource
from maestro.domain.spawns import Spawn
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_member

Enter = Callable[..., Awaitable[Session]]
VC, OTHER = "prj_00000000000000000000000000", "prj_00000000000000000000000001"


async def end(store: Store, session: Session, status: SessionStatus = SessionStatus.STOPPED) -> bool:
    return await store.write(
        lambda tx: tx.sessions.mark_ended(session.id, status=status, source=StatusSource.REPORT, at=tx.at)
    )


async def get(store: Store, session: Session) -> Session:
    found = await store.read(lambda tx: tx.sessions.get(session.id))
    assert found is not None
    return found


async def test_each_source_has_one_signal_and_the_newest_signal_is_first(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    session = await enter("w")

    async def say(source: StatusSource, status: SessionStatus, until: int | None = None) -> StatusSignal:
        clock.advance(1)
        ends = clock.now() + timedelta(seconds=until) if until else None
        signal = StatusSignal(source, status, clock.now(), ends, f"{source} says")
        await store.write(lambda tx: tx.sessions.put_signal(session.id, signal))
        return signal

    await say(StatusSource.REPORT, SessionStatus.WORKING)
    beat = await say(StatusSource.HEARTBEAT, SessionStatus.IDLE, until=60)
    report = await say(StatusSource.REPORT, SessionStatus.NEEDS_INPUT)
    assert await store.read(lambda tx: tx.sessions.signals_of(session.id)) == [report, beat]
    await store.write(lambda tx: tx.sessions.set_status(session.id, beat, at=tx.at))
    now = await get(store, session)
    assert (now.status, now.status_source, now.status_at, now.status_until) == (
        SessionStatus.IDLE,
        StatusSource.HEARTBEAT,
        beat.at,
        beat.until,
    )


async def test_an_ended_session_does_not_change_and_does_not_end_again(store: Store, enter: Enter) -> None:
    session = await enter("w")
    assert await end(store, session, SessionStatus.FAILED) and not await end(store, session, SessionStatus.COMPLETED)
    ended = await get(store, session)
    assert ended.status is SessionStatus.FAILED and ended.ended_at is not None
    signal = StatusSignal(StatusSource.HEARTBEAT, SessionStatus.WORKING, ended.ended_at, None)
    await store.write(lambda tx: tx.sessions.set_status(session.id, signal, at=tx.at))
    await store.write(lambda tx: tx.sessions.set_parent(session.id, parent_id=session.id, at=tx.at))
    assert await get(store, session) == ended
    assert await store.read(lambda tx: (tx.sessions.is_live(session.id), tx.sessions.live_caller(session.id))) == (
        False,
        None,
    )


async def test_a_name_belongs_to_the_live_session_and_otherwise_to_the_last_ended_session(
    store: Store, enter: Enter
) -> None:
    first = await enter("w")
    await end(store, first)
    second = await enter("w")
    await end(store, second)
    last = await store.read(lambda tx: tx.sessions.ended_by_name(VC, "w"))
    assert last is not None and last.id == second.id
    assert await store.read(lambda tx: tx.sessions.by_name(VC, "w")) is None
    third = await enter("w")
    found = await store.read(lambda tx: tx.sessions.by_name(VC, "w"))
    assert found is not None and found.id == third.id
    assert await store.read(lambda tx: tx.sessions.by_name(OTHER, "w")) is None


async def test_expired_leases_are_listed_in_order_and_only_live_sessions_renew_leases(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    now = clock.now()
    late = await enter("late", lease_until=now + timedelta(seconds=20))
    soon = await enter("soon", lease_until=now + timedelta(seconds=10), pid=7, pid_started="x")
    gone = await enter("gone", lease_until=now)
    await end(store, gone)
    assert await store.read(lambda tx: tx.sessions.next_lease_end()) == soon.lease_until
    clock.advance(30)
    due = await store.read(lambda tx: tx.sessions.list_lease_expired(tx.at, limit=9))
    assert [session.id for session in due] == [soon.id, late.id]
    assert len(await store.read(lambda tx: tx.sessions.list_lease_expired(tx.at, limit=1))) == 1
    await store.write(lambda tx: tx.sessions.renew_leases(late.id, soon.id, gone.id, at=tx.at))
    with_process, alone, ended = await get(store, soon), await get(store, late), await get(store, gone)
    assert with_process.lease_until == clock.now() + timedelta(seconds=limits.session_lease_seconds)
    assert alone.lease_until == clock.now() + timedelta(seconds=limits.session_lease_without_process_seconds)
    assert with_process.seen_at == alone.seen_at == clock.now()
    assert ended.lease_until == gone.lease_until


async def test_the_lease_of_a_session_is_shortened_and_never_lengthened(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    session = await enter("w", lease_until=clock.now() + timedelta(seconds=60))
    for seconds, left in ((90, 60), (10, 10), (30, 10)):
        until = session.created_at + timedelta(seconds=seconds)
        await store.write(lambda tx, until=until: tx.sessions.shorten_lease(session.id, lease_until=until))
        kept = (await get(store, session)).lease_until
        assert abs((kept - session.created_at).total_seconds() - left) < 1


async def test_the_sessions_above_below_and_beside_a_session_are_listed(store: Store, enter: Enter) -> None:
    top = await enter("top", mode=SessionMode.COORDINATE)
    mid = await enter("mid", mode=SessionMode.COORDINATE, parent_id=top.id)
    one = await enter("one", parent_id=mid.id)
    two = await enter("two", parent_id=mid.id)
    side = await enter("side", parent_id=top.id)
    elsewhere = await enter("far", project_id=OTHER)

    def names(found: list[tuple[str, str]]) -> list[str]:
        return [name for _, name in found]

    def look(tx: Tx) -> list[list[str]]:
        every = limits.broadcast_recipients_max
        return [
            names(tx.sessions.ids_below(top.id, limit=every)),
            names(tx.sessions.ids_below(mid.id, limit=every)),
            names(tx.sessions.ids_siblings(one.id, mid.id, limit=every)),
            names(tx.sessions.ids_siblings(mid.id, top.id, limit=every)),
            names(tx.sessions.ids_live(VC, limit=every)),
            names(tx.sessions.ids_live(OTHER, limit=every)),
        ]

    everyone = ["top", "mid", "one", "two", "side"]
    assert await store.read(look) == [everyone[1:], ["one", "two"], ["two"], ["side"], everyone, ["far"]]
    await end(store, mid)
    assert (await store.read(look))[0] == ["one", "two", "side"]  # the sessions below an ended session still count
    assert [s.name for s in await store.read(lambda tx: tx.sessions.list_children(top.id, limit=9))] == ["side"]
    ever = await store.read(lambda tx: tx.sessions.list_children(top.id, limit=9, ever=True))
    assert [session.id for session in ever] == [mid.id, side.id]
    assert two.parent_id == mid.id and elsewhere.parent_id is None


async def test_live_sessions_of_a_member_are_listed_and_a_member_without_team_has_no_teammates(
    store: Store, enter: Enter
) -> None:
    ada, bob, eve = (make_member(name=name) for name in ("ada", "bob", "eve"))
    await store.write(lambda tx: [tx.members.insert(member) for member in (ada, bob, eve)])
    await enter("a1", member_id=ada.id)
    a2 = await enter("a2", member_id=ada.id)
    await enter("b1", member_id=bob.id)
    await enter("e1", member_id=eve.id)
    of_ada = await store.read(lambda tx: tx.sessions.ids_of_member(ada.id, limit=9))
    assert [name for _, name in of_ada] == ["a1", "a2"]
    assert await store.read(lambda tx: tx.sessions.ids_of_teammates(ada.id, limit=9)) == []
    await end(store, a2)
    assert len(await store.read(lambda tx: tx.sessions.ids_of_member(ada.id, limit=9))) == 1


async def test_a_token_identifies_the_session_until_the_end_of_the_session(store: Store, enter: Enter) -> None:
    ada = make_member(name="ada", allow=["task.cancel"], deny=["mail.broadcast"])
    await store.write(lambda tx: tx.members.insert(ada))
    boss = await enter("boss", mode=SessionMode.COORDINATE)
    session = await enter("w", parent_id=boss.id, member_id=ada.id)
    caller = await store.read(lambda tx: tx.sessions.caller_by_token(f"hash of {session.id}"))
    assert caller is not None
    assert (caller.role, caller.title, caller.parent_id, caller.member_id) == (Role.WORKER, "w", boss.id, ada.id)
    assert (caller.allow, caller.deny) == ({"task.cancel"}, {"mail.broadcast"})
    await end(store, session)
    assert await store.read(lambda tx: tx.sessions.caller_by_token(f"hash of {session.id}")) is None


async def test_ended_sessions_stay_listed_until_their_mail_is_settled(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    one, two, live = await enter("one"), await enter("two"), await enter("live")
    await end(store, one)
    clock.advance(1)
    await end(store, two)
    assert [s.id for s in await store.read(lambda tx: tx.sessions.list_with_unsettled_mail(limit=9))] == [
        one.id,
        two.id,
    ]
    await store.write(lambda tx: tx.sessions.mark_mail_settled(one.id))
    assert [s.id for s in await store.read(lambda tx: tx.sessions.list_with_unsettled_mail(limit=9))] == [two.id]
    await store.write(lambda tx: tx.sessions.set_successor(two.id, successor_id=live.id))
    route = await store.read(lambda tx: tx.sessions.mail_route(two.id))
    assert route is not None and (route.is_live, route.successor_id, route.status) == (
        False,
        live.id,
        SessionStatus.STOPPED,
    )


async def test_the_sessions_of_a_project_are_listed_in_pages_and_by_status(store: Store, enter: Enter) -> None:
    one, two, three = [await enter(name) for name in ("one", "two", "three")]
    await end(store, two, SessionStatus.LOST)

    def page(**more: object) -> Callable[[Tx], list[str]]:
        return lambda tx: [s.name for s in tx.sessions.list_page(VC, **({"after": "", "limit": 9} | more))]  # type: ignore[arg-type]

    assert await store.read(page()) == ["one", "two", "three"]
    assert await store.read(page(after=one.id, limit=1)) == ["two"]
    assert await store.read(page(active=True)) == ["one", "three"]
    assert await store.read(page(status=SessionStatus.LOST)) == ["two"]
    assert three.status is SessionStatus.WORKING


async def test_a_session_keeps_every_field(store: Store, enter: Enter, clock: FakeClock) -> None:
    workspace = Workspace("wsp_1", VC, "dave", "dave/vc", "/src/dave", clock.now())
    member = make_member(name="ada")

    def prepare(tx: Tx) -> None:
        tx.projects.insert_workspace(workspace)
        tx.members.insert(member)

    await store.write(prepare)
    parent = await enter("boss", mode=SessionMode.COORDINATE)
    session = await enter(
        "w",
        member_id=member.id,
        member="ada",
        workspace_id="wsp_1",
        address="dave/vc",
        parent_id=parent.id,
        pid=7,
        pid_started="t",
        tool="codex",
        tasks=["tsk_1", "tsk_2"],
        status=SessionStatus.IDLE,
        status_source=StatusSource.HOOK,
        grant=Permission.FULL,
    )
    assert await get(store, session) == session
    assert await store.read(lambda tx: tx.sessions.last_of_workspace(VC, "wsp_1")) == session
    assert await store.read(lambda tx: tx.sessions.last_of_workspace(OTHER, "wsp_1")) is None


async def test_a_caller_has_the_rights_of_the_member_and_the_grant_of_the_session(store: Store, enter: Enter) -> None:
    member = make_member(allow=["task.create"], deny=["mail.send", "a,b"])
    await store.write(lambda tx: tx.members.insert(member))
    session = await enter("w", member_id=member.id, mode=SessionMode.COORDINATE)
    await store.write(lambda tx: tx.sessions.set_grant(session.id, Permission.EDIT))
    caller = Caller(
        Role.COORDINATOR,
        session.id,
        session_id=session.id,
        project_id=VC,
        human="dana",
        title="w",
        member_id=member.id,
        allow=frozenset({"task.create"}),
        deny=frozenset({"mail.send", "a,b"}),
        grant=Permission.EDIT,
    )
    assert await store.read(lambda tx: tx.sessions.live_caller(session.id)) == caller
    await end(store, session)
    assert await store.read(lambda tx: tx.sessions.live_caller(session.id)) is None
    assert await store.read(lambda tx: tx.sessions.caller_ever(session.id)) == caller
    assert await store.read(lambda tx: tx.sessions.caller_ever("ses_unknown")) is None


async def test_the_tokens_of_sessions_are_replaced_in_batches(store: Store, enter: Enter) -> None:
    sessions = [await enter(name) for name in "abc"]
    ids = [session.id for session in sessions]
    assert await store.read(lambda tx: tx.sessions.ids_after("", limit=9)) == ids
    assert await store.read(lambda tx: tx.sessions.ids_after(ids[0], limit=1)) == ids[1:2]
    await store.write(lambda tx: tx.sessions.set_tokens({ids[0]: "new a", ids[1]: "new b"}))
    by_new = await store.read(lambda tx: tx.sessions.caller_by_token("new a"))
    assert by_new is not None and by_new.session_id == ids[0]
    assert await store.read(lambda tx: tx.sessions.caller_by_token(f"hash of {ids[0]}")) is None
    assert await store.read(lambda tx: tx.sessions.caller_by_token(f"hash of {ids[2]}")) is not None


async def test_spawned_and_ended_sessions_do_not_count_as_registered(
    store: Store, enter: Enter, launch: Callable[..., Awaitable[Spawn]]
) -> None:
    parent = await enter("boss")
    children = [await enter(name, parent_id=parent.id) for name in "abcd"]
    await launch(children[0])
    await end(store, children[1])
    assert await store.read(lambda tx: tx.sessions.count_registered(parent.id, limit=9)) == 2
    assert await store.read(lambda tx: tx.sessions.count_registered(parent.id, limit=1)) == 1
    assert await store.read(lambda tx: tx.sessions.count_live()) == 4


async def test_a_lost_session_revives_and_a_stopped_session_does_not(store: Store, enter: Enter) -> None:
    lost, stopped = await enter("a"), await enter("b")
    await end(store, lost, SessionStatus.LOST)
    await end(store, stopped)

    async def by_token(session: Session) -> Session | None:
        return await store.read(lambda tx: tx.sessions.lost_by_token(f"hash of {session.id}"))

    assert await by_token(lost) == await get(store, lost) and await by_token(stopped) is None
    assert await store.write(lambda tx: tx.sessions.revive(lost.id, name="a-2"))
    assert not await store.write(lambda tx: tx.sessions.revive(stopped.id, name="b-2"))
    revived = await get(store, lost)
    assert (revived.name, revived.ended_at) == ("a-2", None)


async def test_only_the_lease_of_a_live_session_is_deferred(store: Store, enter: Enter, clock: FakeClock) -> None:
    live, ended = await enter("a"), await enter("b")
    await end(store, ended)
    later = clock.now() + timedelta(seconds=9)
    for session in (live, ended):
        await store.write(lambda tx, session=session: tx.sessions.defer_lease(session.id, lease_until=later))
    assert (await get(store, live)).lease_until == later != (await get(store, ended)).lease_until


async def test_sessions_with_an_expired_status_are_listed_in_order_of_expiry(
    store: Store, enter: Enter, clock: FakeClock
) -> None:
    sessions = [await enter(name) for name in "ab"]
    now = clock.now()
    assert await store.read(lambda tx: tx.sessions.next_status_expiry()) is None
    for session, seconds in zip(sessions, (9, 5), strict=True):
        signal = StatusSignal(StatusSource.HOOK, SessionStatus.IDLE, now, now + timedelta(seconds=seconds))
        await store.write(
            lambda tx, session=session, signal=signal: tx.sessions.set_status(session.id, signal, at=now)
        )
    assert await store.read(lambda tx: tx.sessions.next_status_expiry()) == now + timedelta(seconds=5)

    async def expired(seconds: int, limit: int = 9) -> list[str]:
        at = now + timedelta(seconds=seconds)
        found = await store.read(lambda tx: tx.sessions.list_with_old_status(at, limit=limit))
        return [session.name for session in found]

    assert [await expired(4), await expired(5), await expired(9)] == [[], ["b"], ["b", "a"]]
    assert await expired(9, limit=1) == ["b"]


async def test_a_renamed_session_is_found_by_its_new_name(store: Store, enter: Enter, clock: FakeClock) -> None:
    session = await enter("w")
    assert await store.write(lambda tx: tx.sessions.mail_route(session.id)) is not None  # the route is cached now
    clock.advance(1)
    await store.write(lambda tx: tx.sessions.rename(session.id, "parser", at=tx.at))
    found = await store.read(lambda tx: tx.sessions.by_name(session.project_id, "parser"))
    assert found is not None and (found.id, found.updated_at) == (session.id, clock.now())
    assert await store.read(lambda tx: tx.sessions.by_name(session.project_id, "w")) is None
    route = await store.write(lambda tx: tx.sessions.mail_route(session.id))
    assert route is not None and route.name == "parser"


async def test_live_sessions_of_all_projects_are_listed_in_pages(store: Store, enter: Enter) -> None:
    one, two, three = await enter("a"), await enter("b", project_id=OTHER), await enter("c")
    await store.write(
        lambda tx: tx.sessions.mark_ended(
            three.id, status=SessionStatus.STOPPED, source=StatusSource.REPORT, at=tx.at
        )
    )

    async def live(after: str = "", limit: int = 9) -> list[str]:
        return [found.id for found in await store.read(lambda tx: tx.sessions.list_live(after=after, limit=limit))]

    assert await live() == [one.id, two.id]
    assert await live(limit=1) == [one.id] and await live(after=one.id) == [two.id]
