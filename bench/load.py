"""A load generator in its own process: each connection sends its next request after the answer to the last one."""

from __future__ import annotations

import asyncio
import json
import sys
import time


class Connection(asyncio.Protocol):
    """A keep-alive connection that repeats a request."""

    def __init__(self, request: bytes, stop_at: float, done: asyncio.Future[tuple[int, int]]) -> None:
        self.request = request
        self.stop_at = stop_at
        self.done = done
        self.buffer = b""
        self.good = self.bad = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        start = head.lower().index(b"content-length:") + 15
        end = head.find(b"\r\n", start)
        if len(body) < int(head[start:] if end < 0 else head[start:end]):
            return
        self.buffer = b""
        if head[9:12] == b"200":
            self.good += 1
        else:
            self.bad += 1
        if time.perf_counter() < self.stop_at:
            self.transport.write(self.request)
        else:
            self.done.set_result((self.good, self.bad))
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server closed the connection"))


async def run(host: str, port: int, requests: list[bytes], *, connections: int, seconds: float) -> tuple[float, int]:
    """Return the number of successful requests per second, and the number of failed requests."""
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    waiting = []
    for number in range(connections):
        done: asyncio.Future[tuple[int, int]] = loop.create_future()
        made = Connection(requests[number % len(requests)], began + seconds, done)
        await loop.create_connection(lambda made=made: made, host, port)
        waiting.append(done)
    results = await asyncio.gather(*waiting)
    elapsed = time.perf_counter() - began
    return sum(good for good, _ in results) / elapsed, sum(bad for _, bad in results)


def main() -> None:
    import uvloop

    order = json.loads(sys.stdin.read())
    rate, bad = uvloop.run(
        run(
            order["host"],
            order["port"],
            [request.encode() for request in order["requests"]],
            connections=order["connections"],
            seconds=order["seconds"],
        )
    )
    print(json.dumps({"rate": rate, "bad": bad}))


if __name__ == "__main__":
    main()
