"""From a bind to an end: what is reported, what is refused, and what a key identifies."""

import asyncio

import pytest

from dovetail.backends.contract import Phase, Refusal
from dovetail.model.command import attempt_key
from dovetail.model.event import TaskFinished, TaskStarted
from dovetail.model.task import TaskId
from dovetail.testing.rig import LONG_S, Conformance, in_event_loop, started
from dovetail.testing.subject import Subject


class Lifecycle(Conformance):
    @pytest.mark.parametrize("exit_code", [0, 3])
    @in_event_loop
    async def test_the_end_of_a_task_is_reported_with_its_exit_code(
        self, subject: Subject, number: int, exit_code: int
    ) -> None:
        async with started(subject) as rig:
            work = rig.work(number, 0.0, exit_code)
            await rig.backend.bind(work)
            finished = await rig.finished(work.key)
            assert (finished.task, finished.exit_code) == (work.task, exit_code)
            assert finished.reason

    @in_event_loop
    async def test_a_start_is_reported_before_the_end(self, subject: Subject, number: int) -> None:
        async with started(subject) as rig:
            work = rig.work(number, 0.2)
            await rig.backend.bind(work)
            await rig.finished(work.key)
            kinds = [type(event) for event in rig.ear.heard if getattr(event, "key", None) == work.key]
            assert kinds.index(TaskStarted) < kinds.index(TaskFinished)

    @in_event_loop
    async def test_status_follows_an_attempt_to_its_end(self, subject: Subject, number: int) -> None:
        async with started(subject) as rig:
            work = rig.work(number, 0.5, 3)
            with pytest.raises(KeyError):
                await rig.backend.status(work.key)
            await rig.backend.bind(work)
            if rig.backend.capabilities.sees_own_writes:
                assert (await rig.backend.status(work.key)).phase in Phase
            await rig.ear.until(TaskStarted, work.key)
            assert (await rig.backend.status(work.key)).phase in (Phase.RUNNING, Phase.ENDED)
            await rig.finished(work.key)
            status = await rig.backend.status(work.key)
            assert (status.phase, status.exit_code) == (Phase.ENDED, 3)

    @in_event_loop
    async def test_the_status_of_a_stopped_attempt_is_its_end(self, subject: Subject, number: int) -> None:
        async with started(subject) as rig:
            work = rig.work(number, LONG_S)
            await rig.backend.bind(work)
            await rig.ear.until(TaskStarted, work.key)
            assert (await rig.backend.status(work.key)).phase is Phase.RUNNING
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)
            status = await rig.backend.status(work.key)
            assert (status.phase, status.exit_code) == (Phase.ENDED, None)

    @in_event_loop
    async def test_binding_twice_is_binding_once(self, subject: Subject, number: int) -> None:
        async with started(subject) as rig:
            work = rig.work(number, 0.1)
            await asyncio.gather(*(rig.backend.bind(work) for _ in range(4)))
            await rig.backend.bind(work)
            await rig.finished(work.key)
            await rig.backend.bind(work)
            assert (await rig.finished(work.key)).exit_code == 0
            rig.assert_run_once(work.key)

    @in_event_loop
    async def test_two_attempts_of_one_task_are_two_runs(self, subject: Subject, number: int) -> None:
        async with started(subject) as rig:
            spec = subject.workload(0.0, 1, "")
            for attempt in (1, 2):
                work = rig.assignment(number, spec, attempt)
                await rig.backend.bind(work)
                assert (await rig.finished(work.key)).exit_code == 1
                rig.assert_run_once(work.key)

    @in_event_loop
    async def test_a_stopped_task_ends_without_an_exit_code(self, subject: Subject, number: int) -> None:
        async with started(subject) as rig:
            work = rig.work(number, LONG_S)
            await rig.backend.bind(work)
            await rig.ear.until(TaskStarted, work.key)
            await rig.backend.stop(work.key, "no longer wanted")
            await rig.backend.stop(work.key, "no longer wanted")
            finished = await rig.finished(work.key)
            assert finished.exit_code is None
            assert "no longer wanted" in finished.reason

    @in_event_loop
    async def test_what_it_cannot_run_is_refused_with_a_reason(self, subject: Subject, number: int) -> None:
        async with started(subject) as rig:
            for attempt, spec in enumerate(subject.unrunnable):
                work = rig.assignment(number, spec, attempt)
                with pytest.raises(Refusal, match=r"\w"):
                    await rig.backend.bind(work)
                rig.assert_never_run(work.key)

    @in_event_loop
    async def test_stopping_an_unknown_key_reports_its_end_and_refuses_it_from_then_on(
        self, subject: Subject, number: int
    ) -> None:
        async with started(subject) as rig:
            work = rig.work(number)
            await rig.backend.stop(work.key, "never mind")
            finished = await rig.finished(work.key)
            assert (finished.task, finished.exit_code) == (work.task, None)
            with pytest.raises(Refusal):
                await rig.backend.bind(work)
            rig.assert_never_run(work.key)

    @in_event_loop
    async def test_output_is_read_in_pieces_until_its_end(self, subject: Subject, number: int) -> None:
        if not subject.captures_output:
            pytest.skip("this backend does not capture output")
        async with started(subject) as rig:
            text = "grüße, 世界\n"
            work = rig.work(number, 0.0, 0, text)
            await rig.backend.bind(work)
            await rig.finished(work.key)
            offset, found, ended = 0, "", False
            while not ended:
                chunk = await rig.backend.logs(work.key, offset, 5)
                assert chunk.next_offset > offset or chunk.ended
                offset, found, ended = chunk.next_offset, found + chunk.text, chunk.ended
            assert text in found

    @in_event_loop
    async def test_a_key_without_logs_is_a_key_error(self, subject: Subject, number: int) -> None:
        async with started(subject) as rig:
            with pytest.raises(KeyError):
                await rig.backend.logs(attempt_key(TaskId(number, 9), 1), 0, 100)
