"""The socket: taken or refused at once, and answers are not held back."""

import asyncio
import socket

import httpx
import pytest
from tests.patience import until
from tests.unit.kubernetes.extender.stage import Stage, gang

from dovetail.kubernetes.extender.app import listen, serve


def test_answers_are_sent_at_once() -> None:
    """Nagle's algorithm would hold the end of each answer back until the client has acknowledged its beginning."""

    async def scene() -> int:
        delays: asyncio.Queue[int] = asyncio.Queue()

        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            delays.put_nowait(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listen("127.0.0.1", 0) as listener:
            async with await asyncio.start_server(serve, sock=listener):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                found = await delays.get()
                writer.close()
        return found

    assert asyncio.run(scene())


def test_an_address_that_is_taken_is_refused() -> None:
    with listen("127.0.0.1", 0) as first, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", first.getsockname()[1])


def test_who_is_stopped_answers_what_it_was_asked_and_nothing_more() -> None:
    stage = Stage(watch_patience_s=10)
    stage.racks(1, 1)
    (pod,) = gang("g", 1)

    async def scene() -> dict[str, list[str]]:
        with listen("127.0.0.1", 0) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            serving = asyncio.create_task(serve(stage.extender, listener, None))
            async with httpx.AsyncClient(base_url=url) as client:
                answer = asyncio.create_task(client.post("/filter", json={"Pod": pod, "NodeNames": stage.names}))
                waiters = stage.extender.informer.changed._waiters
                await until(lambda: bool(waiters), "the question waits for the watch")
                serving.cancel()
                await asyncio.sleep(0)
                stage.seen(pod)
                found: dict[str, list[str]] = (await answer).json()
            await asyncio.gather(serving, return_exceptions=True)
            async with httpx.AsyncClient(base_url=url) as client:
                with pytest.raises(httpx.ConnectError):
                    await client.get("/healthz")
        return found

    assert asyncio.run(scene())["NodeNames"] == ["r0n0"]
