"""The repository of session windows: the terminal, the directory and the last prompt of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from maestro.domain.sessions import Session, SessionWindow
from maestro.store.base import Store

Enter = Callable[..., Awaitable[Session]]


async def test_the_window_of_a_session_keeps_terminal_directory_and_last_prompt(store: Store, enter: Enter) -> None:
    session, other = await enter("w"), await enter("v")
    assert await store.read(lambda tx: tx.windows.get(session.id)) == SessionWindow(session.id)
    await store.write(lambda tx: tx.windows.put(session.id, terminal="tmux %5, pts/3", directory="/src/vc"))
    await store.write(lambda tx: tx.windows.set_prompt(session.id, directory="/src/vc/sub", last_prompt="Mend ✓"))
    window = SessionWindow(session.id, "tmux %5, pts/3", "/src/vc/sub", "Mend ✓")
    assert await store.read(lambda tx: tx.windows.get(session.id)) == window
    await store.write(lambda tx: tx.windows.set_prompt(other.id, directory="/src/vc", last_prompt="Go on"))
    found = await store.read(lambda tx: tx.windows.of_sessions([session.id, other.id, "ses_x"]))
    assert found == {session.id: window, other.id: SessionWindow(other.id, "", "/src/vc", "Go on")}


async def test_a_new_terminal_keeps_the_last_prompt(store: Store, enter: Enter) -> None:
    session = await enter("w")
    await store.write(lambda tx: tx.windows.set_prompt(session.id, directory="/src/vc", last_prompt="Go on"))
    await store.write(lambda tx: tx.windows.put(session.id, terminal="pts/1", directory="/src/vc"))
    assert (await store.read(lambda tx: tx.windows.get(session.id))).last_prompt == "Go on"
