"""The control plane restarts: running attempts are adopted, ends are reported, and nothing runs twice."""

import pytest

from dovetail.backends.contract import Phase
from dovetail.model.event import TaskFinished, TaskStarted
from dovetail.testing.rig import LONG_S, Conformance, Subject, in_event_loop, started


class Restart(Conformance):
    @in_event_loop
    async def test_a_running_task_is_found_again_after_a_restart(self, subject: Subject) -> None:
        async with started(subject) as before:
            work = await before.bind_new(LONG_S)
            await before.running(work.key)
        async with started(subject) as after:
            await after.backend.reconcile([work])
            await after.reports.until(TaskStarted, work.key)
            assert not after.reports.about(TaskFinished, work.key)
            assert (await after.backend.status(work.key)).phase is Phase.RUNNING
            await after.backend.stop(work.key, "enough")
            assert (await after.finished(work.key)).exit_code is None
        after.assert_run_once(work.key)

    @in_event_loop
    async def test_a_task_that_ended_while_nobody_watched_is_reported_after_a_restart(self, subject: Subject) -> None:
        if not subject.keeps_running_while_closed:
            pytest.skip("this backend does not run while it is closed")
        async with started(subject) as before:
            work = await before.bind_new(0.3, 7)
        async with started(subject) as after:
            await after.backend.reconcile([work])
            assert (await after.finished(work.key)).exit_code == 7
            await after.backend.bind(work)  # as if the control plane had not stored that it was bound
            assert (await after.finished(work.key)).exit_code == 7
        after.assert_run_once(work.key)

    @in_event_loop
    async def test_an_end_that_was_reported_is_the_same_after_a_restart(self, subject: Subject) -> None:
        if not subject.remembers_ends:
            pytest.skip("this backend does not remember ends over a restart")
        async with started(subject) as before:
            done, stopped = await before.bind_new(0.0, 5), await before.bind_new(LONG_S)
            await before.running(stopped.key)
            await before.backend.stop(stopped.key, "enough")
            for work in (done, stopped):
                await before.finished(work.key)
        async with started(subject) as after:
            await after.backend.reconcile([done, stopped])
            assert (await after.finished(done.key)).exit_code == 5
            assert (await after.finished(stopped.key)).exit_code is None
            for work in (done, stopped):
                assert (await after.backend.status(work.key)).phase is Phase.ENDED
            after.assert_run_once(done.key, stopped.key)

    @in_event_loop
    async def test_an_attempt_without_a_trace_is_reported_as_lost(self, subject: Subject) -> None:
        if not subject.knows_lost_attempts:
            pytest.skip("this backend cannot tell lost attempts from running ones")
        async with started(subject) as rig:
            work = rig.new_work()
            await rig.backend.reconcile([work])
            finished = await rig.finished(work.key)
            assert finished.exit_code is None
            assert finished.reason
            rig.assert_never_run(work.key)

    @in_event_loop
    async def test_closing_twice_and_before_a_start_hurts_nobody(self, subject: Subject) -> None:
        await subject.backend_factory().close()
        async with started(subject) as rig:
            await rig.backend.close()
