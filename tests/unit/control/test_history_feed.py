"""The history for many listeners: nobody misses a line, and the store is read once for all of them."""

import asyncio
from collections.abc import Sequence
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
        await until(lambda: len(plane.history._listeners) == LISTENERS, "all listen")
        for number in range(SUBMISSIONS):
            await plane.submit([work(f"w{number}", resources={"cpu": "10m"})])
        found = await asyncio.wait_for(asyncio.gather(*listening), PATIENCE_S)
        shortest = min(found, key=len)
        assert numbers(shortest) == list(range(1, len(shortest) + 1))
        assert all(numbers(lines)[: len(shortest)] == numbers(shortest) for lines in found)
        # What was written before the first listened is read by each; all else once, and once more at the end.
        steps = plane.history._bell.rings
        assert len(reads) <= 2 * LISTENERS + steps
        assert not plane.history._listeners

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


def test_what_nobody_wants_of_a_burst_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_feed, "PACE_A_LINE_S", 0.01)

    async def brief(plane: ControlPlane, most: int) -> list[Sequence[SharedLine]]:
        """Until the newest line of all."""
        pieces: list[Sequence[SharedLine]] = []
        async with aclosing(plane.history.follow(await plane.history.newest(), most)) as found:
            async for lines in found:
                pieces.append(lines)
                if any(line.row["kind"] == "running" and line.row["workload"] == SUBMISSIONS for line in lines):
                    return pieces
        raise AssertionError("it ended")

    async def play(plane: ControlPlane) -> None:
        rows: list[int] = []
        events = plane.store.events

        def counted(*args: Any, **more: Any) -> Any:
            page = events(*args, **more)
            rows.append(len(page.items))
            return page

        began = plane.store.newest_history()
        monkeypatch.setattr(plane.store, "events", counted)
        listening = [asyncio.create_task(brief(plane, most)) for most in (5, 5, 3)]
        await until(lambda: len(plane.history._listeners) == 3, "all listen")
        await plane.submit([work(f"w{number}", resources={"cpu": "10m"}) for number in range(SUBMISSIONS)])
        heard = await asyncio.wait_for(asyncio.gather(*listening), PATIENCE_S)
        written = plane.store.newest_history() - began
        assert max(rows) <= 5
        assert sum(rows) < written / 2, "most lines of the burst were read by nobody"
        for most, pieces in zip((5, 5, 3), heard, strict=True):
            lines = [line for piece in pieces for line in piece]
            assert all(0 < len(piece) <= most for piece in pieces)
            assert numbers(lines) == sorted(set(numbers(lines)))

        thorough = asyncio.create_task(heard_from(plane, began, SUBMISSIONS))
        found = numbers(await asyncio.wait_for(thorough, PATIENCE_S))
        assert found == list(range(began + 1, began + 1 + len(found))), "who wants every line still gets every line"

    scene(settings(tmp_path), play)


def test_who_begins_now_does_not_get_what_others_heard_before(tmp_path: Path) -> None:
    async def play(plane: ControlPlane) -> None:
        await heard_from(plane, 0, (await plane.submit([work("a")]))[0].id)
        before = plane.store.newest_history()
        listening = asyncio.create_task(heard_from(plane, before, 2))
        await until(lambda: len(plane.history._listeners) == 1, "it listens")
        await plane.submit([work("b")])
        heard = await asyncio.wait_for(listening, PATIENCE_S)
        assert heard[0].seq > before

    scene(settings(tmp_path), play)
