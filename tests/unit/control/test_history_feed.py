"""The history for many listeners: nobody misses a line, and the store is read once for all of them."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE_S, until
from tests.unit.control.test_plane import scene, settings, work

from dovetail.control.loop import history_feed
from dovetail.control.loop.history_feed import SharedLine
from dovetail.control.plane import ControlPlane

SUBMISSIONS, LISTENERS = 40, 50


async def heard_from(plane: ControlPlane, after: int, last: int) -> list[SharedLine]:
    """Everything until the workload with this number runs."""
    heard: list[SharedLine] = []
    async with aclosing(plane.history.follow(after)) as pieces:
        async for lines in pieces:
            heard += lines
            if any(line.row["kind"] == "running" and line.row["workload"] == last for line in lines):
                break
    return heard


def numbers(lines: list[SharedLine]) -> list[int]:
    return [line.seq for line in lines]


def test_all_listeners_hear_every_line_from_the_same_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(plane: ControlPlane) -> None:
        reads: list[int] = []
        events = plane.store.events

        def counted(*args: Any, **more: Any) -> Any:
            reads.append(1)
            return events(*args, **more)

        monkeypatch.setattr(plane.store, "events", counted)
        listening = [asyncio.create_task(heard_from(plane, 0, SUBMISSIONS)) for _ in range(LISTENERS)]
        await until(lambda: plane.history._listeners == LISTENERS, "all listen")
        for number in range(SUBMISSIONS):
            await plane.submit([work(f"w{number}", resources={"cpu": "10m"})])
        found = await asyncio.wait_for(asyncio.gather(*listening), PATIENCE_S)
        shortest = min(found, key=len)
        assert numbers(shortest) == list(range(1, len(shortest) + 1))
        assert all(numbers(lines)[: len(shortest)] == numbers(shortest) for lines in found)
        # What was written before the first listened is read by each; all else once, and once more at the end.
        steps = plane.history._bell.rings
        assert len(reads) <= 2 * LISTENERS + steps
        assert plane.history._listeners == 0

    scene(settings(tmp_path), play)


def test_who_is_too_slow_for_what_is_kept_misses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_feed, "LINES_KEPT", 5)
    monkeypatch.setattr(history_feed, "LINES_AT_ONCE", 3)

    async def play(plane: ControlPlane) -> None:
        async with aclosing(plane.history.follow(0)) as slow:
            first = await anext(slow)
            quick = asyncio.create_task(heard_from(plane, await plane.history.newest(), SUBMISSIONS))
            for number in range(SUBMISSIONS):
                await plane.submit([work(f"w{number}", resources={"cpu": "10m"})])
            await asyncio.wait_for(quick, PATIENCE_S)
            assert plane.history._before_kept > first[-1].seq, "what comes next is no longer kept"
            heard = [*first]
            while heard[-1].seq < plane.history._newest:
                heard += await asyncio.wait_for(anext(slow), PATIENCE_S)
            assert numbers(heard) == list(range(1, heard[-1].seq + 1))

    scene(settings(tmp_path), play)


def test_who_begins_now_does_not_get_what_others_heard_before(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await heard_from(plane, 0, (await plane.submit([work("a")]))[0].id)
        before = plane.store.newest_history()
        listening = asyncio.create_task(heard_from(plane, before, 2))
        await until(lambda: plane.history._listeners == 1, "it listens")
        await plane.submit([work("b")])
        heard = await asyncio.wait_for(listening, PATIENCE_S)
        assert heard[0].seq > before

    scene(settings(tmp_path), play)
