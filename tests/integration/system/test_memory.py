"""Freed memory goes back to the system soon, with a single call for many requests."""

from __future__ import annotations

import asyncio
import ctypes
import subprocess
import sys
from typing import Any

import pytest

from maestro.system import memory

HAS_TRIM = hasattr(ctypes.CDLL(None), "malloc_trim")
pytestmark = pytest.mark.skipif(not HAS_TRIM, reason="only glibc keeps freed memory and can give it back")

# The blocks are too small for separate memory maps of glibc. The last block keeps the heap from shrinking.
FILLS_AND_FREES = """
import asyncio, ctypes, time
from maestro.system.memory import give_memory_back_soon

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]

def resident_pages():
    return int(open("/proc/self/statm").read().split()[1])

async def run():
    blocks = [libc.malloc(64 * 1024) for _ in range(1000)]
    for block in blocks:
        ctypes.memset(block, 1, 64 * 1024)
    full = resident_pages()
    for block in blocks[:-1]:
        libc.free(block)
    assert full - resident_pages() < 2000, "glibc gave the memory back by itself"
    give_memory_back_soon()
    deadline = time.monotonic() + 20
    while full - resident_pages() < 10000:
        assert time.monotonic() < deadline, "the memory was not given back"
        await asyncio.sleep(0.05)

asyncio.run(run())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read from /proc")
def test_freed_memory_goes_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", FILLS_AND_FREES], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


class CountingLoop(asyncio.SelectorEventLoop):
    """An event loop that counts the calls that are scheduled for later."""

    scheduled = 0

    def call_later(self, *arguments: Any, **options: Any) -> asyncio.TimerHandle:
        self.scheduled += 1
        return super().call_later(*arguments, **options)


def test_many_requests_at_once_cost_one_call_on_each_event_loop() -> None:
    async def request_often() -> None:
        for _ in range(10):
            memory.give_memory_back_soon()

    for _ in range(2):
        loop = CountingLoop()
        loop.run_until_complete(request_often())
        assert loop.scheduled == 1
        loop.close()
