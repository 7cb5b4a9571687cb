"""A stop that races with a bind or an end: there is one end, and it is what really happened."""

import asyncio

import pytest

from dovetail.backends.contract import Phase, Refusal
from dovetail.testing.rig import LONG_S, Conformance, Rig, Subject, cancel_after, in_event_loop, started


class Races(Conformance):
    @in_event_loop
    async def test_stopping_right_after_binding_ends_the_task(self, subject: Subject) -> None:
        async with started(subject) as rig:
            work = await rig.bind_new(LONG_S)
            await rig.backend.stop(work.key, "changed my mind")
            assert (await rig.finished(work.key)).exit_code is None

    @pytest.mark.parametrize("turns", [0, 1, 2, 5, 20])
    @in_event_loop
    async def test_stopping_while_a_bind_is_on_its_way_leaves_nothing_running(
        self, subject: Subject, turns: int
    ) -> None:
        async with started(subject) as rig:
            work = rig.new_work(LONG_S)
            binding = asyncio.ensure_future(rig.backend.bind(work))
            for _ in range(turns):
                await asyncio.sleep(0)
            await rig.backend.stop(work.key, "changed my mind")
            outcome = (await asyncio.gather(binding, return_exceptions=True))[0]
            assert outcome is None or isinstance(outcome, Refusal), outcome
            assert (await rig.finished(work.key)).exit_code is None
            status = await rig.backend.status(work.key)
            assert (status.phase, status.exit_code) == (Phase.ENDED, None)
            await _until_not_running(rig, work.key)
            if subject.times_run is not None:
                assert subject.times_run(work.key) <= 1

    @pytest.mark.parametrize("pause_s", [0.0, 0.1, 0.2, 0.25, 0.3])
    @in_event_loop
    async def test_a_stop_that_meets_the_end_of_a_task_leaves_one_true_end(
        self, subject: Subject, pause_s: float
    ) -> None:
        async with started(subject) as rig:
            work = await rig.start_new(0.2, 5)
            await rig.running(work.key)
            await asyncio.sleep(pause_s)
            await rig.backend.stop(work.key, "at the last moment")
            finished = await rig.finished(work.key)
            assert finished.exit_code in (5, None)
            await rig.backend.stop(work.key, "once more")
            status = await rig.backend.status(work.key)
            assert (status.phase, status.exit_code) == (Phase.ENDED, finished.exit_code)
            for _ in range(3):
                await subject.let_time_pass()
            await rig.finished(work.key)  # later reports agree with the first
            rig.assert_run_once(work.key)

    @pytest.mark.parametrize("turns", [1, 2, 5, 20])
    @in_event_loop
    async def test_a_bind_that_was_cancelled_halfway_is_completed_when_repeated(
        self, subject: Subject, turns: int
    ) -> None:
        async with started(subject) as rig:
            work = rig.new_work(0.1, 6)
            await cancel_after(turns, rig.backend.bind(work))
            await rig.until_bound(work)
            assert (await rig.finished(work.key)).exit_code == 6
            rig.assert_run_once(work.key)

    @pytest.mark.parametrize("turns", [1, 2, 5, 20])
    @in_event_loop
    async def test_a_stop_that_was_cancelled_halfway_is_completed_when_repeated(
        self, subject: Subject, turns: int
    ) -> None:
        async with started(subject) as rig:
            work = await rig.start_new()
            await cancel_after(turns, rig.backend.stop(work.key, "enough"))
            await rig.until_stopped(work.key, "enough")
            assert (await rig.finished(work.key)).exit_code is None
            await _until_not_running(rig, work.key)


async def _until_not_running(rig: Rig, key: str) -> None:
    """A process whose end was reported may take a moment to disappear."""
    if (runs_now := rig.subject.runs_now) is not None:
        await rig.reports.until_true(lambda: not runs_now(key), f"the end of {key} on the node itself")
