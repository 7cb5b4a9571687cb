"""Large bodies are read one at a time; small ones do not wait for them."""

import asyncio

from dovetail.api.protocol.body import LARGE_BYTES, BodiesInFlight


def test_large_bodies_take_turns_and_small_ones_do_not_wait() -> None:
    asyncio.run(_take_turns())


async def _take_turns() -> None:
    bodies, log = BodiesInFlight(2**30), list[str]()
    free = asyncio.Event()

    async def read(name: str, size: int, until: asyncio.Event | None = None) -> None:
        async with bodies.turn(size):
            log.append(f"{name} begins")
            if until is not None:
                await until.wait()
            log.append(f"{name} ends")

    first = asyncio.create_task(read("first", LARGE_BYTES + 1, free))
    await asyncio.sleep(0)
    second = asyncio.create_task(read("second", LARGE_BYTES + 1))
    await read("small", LARGE_BYTES)
    free.set()
    await asyncio.gather(first, second)
    assert log == ["first begins", "small begins", "small ends", "first ends", "second begins", "second ends"]
