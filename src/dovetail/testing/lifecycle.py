"""From a bind to an end: what is reported, what is refused, and what a key identifies."""

import asyncio
from dataclasses import replace

import pytest

from dovetail.backends.contract import Phase, Refusal
from dovetail.model.event import TaskFinished, TaskStarted
from dovetail.testing.rig import Conformance, Subject, in_event_loop, next_attempt, started


class Lifecycle(Conformance):
    @pytest.mark.parametrize("exit_code", [0, 3])
    @in_event_loop
    async def test_the_end_of_a_task_is_reported_with_its_exit_code(self, subject: Subject, exit_code: int) -> None:
        async with started(subject) as rig:
            work = await rig.bind_new(0.0, exit_code)
            finished = await rig.finished(work.key)
            assert (finished.task, finished.exit_code) == (work.task, exit_code)
            assert finished.reason

    @in_event_loop
    async def test_a_start_is_reported_before_the_end(self, subject: Subject) -> None:
        async with started(subject) as rig:
            work = await rig.bind_new(0.2)
            await rig.finished(work.key)
            kinds = [type(event) for event in rig.reports.received if getattr(event, "key", None) == work.key]
            assert kinds.index(TaskStarted) < kinds.index(TaskFinished)

    @in_event_loop
    async def test_status_follows_an_attempt_to_its_end(self, subject: Subject) -> None:
        async with started(subject) as rig:
            work = rig.new_work(0.5, 3)
            with pytest.raises(KeyError):
                await rig.backend.status(work.key)
            await rig.backend.bind(work)
            if rig.backend.capabilities.sees_own_writes:
                assert (await rig.backend.status(work.key)).phase in Phase
            await rig.reports.until(TaskStarted, work.key)
            assert (await rig.backend.status(work.key)).phase in (Phase.RUNNING, Phase.ENDED)
            await rig.finished(work.key)
            status = await rig.backend.status(work.key)
            assert (status.phase, status.exit_code) == (Phase.ENDED, 3)

    @in_event_loop
    async def test_the_status_of_a_stopped_attempt_is_its_end(self, subject: Subject) -> None:
        async with started(subject) as rig:
            work = await rig.start_new()
            assert (await rig.backend.status(work.key)).phase is Phase.RUNNING
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)
            status = await rig.backend.status(work.key)
            assert (status.phase, status.exit_code) == (Phase.ENDED, None)

    @in_event_loop
    async def test_binding_twice_is_binding_once(self, subject: Subject) -> None:
        async with started(subject) as rig:
            work = rig.new_work(0.1)
            await asyncio.gather(*(rig.backend.bind(work) for _ in range(4)))
            await rig.backend.bind(work)
            await rig.finished(work.key)
            await rig.backend.bind(work)
            assert (await rig.finished(work.key)).exit_code == 0
            rig.assert_run_once(work.key)

    @in_event_loop
    async def test_two_attempts_of_one_task_are_two_runs(self, subject: Subject) -> None:
        async with started(subject) as rig:
            first = rig.new_work(0.0, 1)
            for work in (first, next_attempt(first)):
                await rig.backend.bind(work)
                assert (await rig.finished(work.key)).exit_code == 1
                rig.assert_run_once(work.key)

    @in_event_loop
    async def test_a_stopped_task_ends_without_an_exit_code(self, subject: Subject) -> None:
        async with started(subject) as rig:
            work = await rig.start_new()
            await rig.backend.stop(work.key, "no longer wanted")
            await rig.backend.stop(work.key, "no longer wanted")
            finished = await rig.finished(work.key)
            assert finished.exit_code is None
            assert "no longer wanted" in finished.reason

    @in_event_loop
    async def test_what_it_cannot_run_is_refused_with_a_reason(self, subject: Subject) -> None:
        async with started(subject) as rig:
            for spec in subject.unrunnable:
                work = replace(rig.new_work(), spec=spec)
                with pytest.raises(Refusal, match=r"\w"):
                    await rig.backend.bind(work)
                rig.assert_never_run(work.key)

    @in_event_loop
    async def test_stopping_an_unknown_key_reports_its_end_and_refuses_it_from_then_on(self, subject: Subject) -> None:
        async with started(subject) as rig:
            work = rig.new_work()
            await rig.backend.stop(work.key, "never mind")
            finished = await rig.finished(work.key)
            assert (finished.task, finished.exit_code) == (work.task, None)
            with pytest.raises(Refusal):
                await rig.backend.bind(work)
            rig.assert_never_run(work.key)

    @in_event_loop
    async def test_output_is_read_in_pieces_until_its_end(self, subject: Subject) -> None:
        if not subject.captures_output:
            pytest.skip("this backend does not capture output")
        async with started(subject) as rig:
            text = "grüße, 世界\n"
            work = await rig.bind_new(text=text)
            await rig.finished(work.key)
            offset, found, ended = 0, "", False
            while not ended:
                chunk = await rig.backend.logs(work.key, offset, 5)
                assert chunk.next_offset > offset or chunk.ended
                offset, found, ended = chunk.next_offset, found + chunk.text, chunk.ended
            assert text in found

    @in_event_loop
    async def test_a_key_without_logs_is_a_key_error(self, subject: Subject) -> None:
        async with started(subject) as rig:
            with pytest.raises(KeyError):
                await rig.backend.logs("1.9.1", 0, 100)  # of a replica that no test binds
