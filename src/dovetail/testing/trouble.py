"""Faults between a backend and its system: lost replies, calls that fail or hang, nodes that disappear and return."""

import asyncio
from collections.abc import Awaitable

import pytest

from dovetail.backends.contract import Assignment, Refusal
from dovetail.testing.rig import (
    LONG_S,
    PATIENCE_S,
    Conformance,
    Rig,
    Subject,
    in_event_loop,
    needed,
    next_attempt,
    patience,
    started,
)

WHILE_S = 5.0  # the timeout of a call that gets no answer


class Trouble(Conformance):
    @in_event_loop
    async def test_a_bind_whose_reply_is_lost_runs_once_when_it_is_repeated(self, subject: Subject) -> None:
        cut_replies = needed(subject.cut_replies, "cut_replies")
        async with started(subject) as rig:
            work = rig.new_work(0.1, 4)
            async with cut_replies():
                outcome = await _outcome(rig.backend.bind(work))
                assert not isinstance(outcome, Refusal), "it cannot be sure that nothing runs"
            await rig.until_bound(work)
            assert (await rig.finished(work.key)).exit_code == 4
            rig.assert_run_once(work.key)

    @in_event_loop
    async def test_a_stop_whose_reply_is_lost_ends_the_task_once(self, subject: Subject) -> None:
        cut_replies = needed(subject.cut_replies, "cut_replies")
        async with started(subject) as rig:
            work = await rig.start_new()
            async with cut_replies():
                await _outcome(rig.backend.stop(work.key, "enough"))
            await rig.until_stopped(work.key, "enough")
            assert (await rig.finished(work.key)).exit_code is None

    @in_event_loop
    async def test_a_restart_after_a_lost_reply_does_not_run_it_again(self, subject: Subject) -> None:
        cut_replies = needed(subject.cut_replies, "cut_replies")
        async with started(subject) as before:
            work = before.new_work(0.3, 4)
            async with cut_replies():
                await _outcome(before.backend.bind(work))
        async with started(subject) as after:
            await after.until_bound(work)
            assert (await after.finished(work.key)).exit_code == 4
            after.assert_run_once(work.key)

    @in_event_loop
    async def test_calls_that_fail_lose_nothing(self, subject: Subject) -> None:
        break_calls = needed(subject.break_calls, "break_calls")
        async with started(subject) as rig:
            first, second = rig.new_work(0.0, 4), await rig.bind_new(LONG_S)
            await rig.running(second.key)
            async with break_calls():
                for call in (rig.backend.bind(first), rig.backend.stop(second.key, "enough")):
                    outcome = await _outcome(call)
                    assert not isinstance(outcome, Refusal), "it cannot be sure that nothing runs"
            await rig.until_bound(first)
            await rig.until_stopped(second.key, "enough")
            assert (await rig.finished(first.key)).exit_code == 4
            assert (await rig.finished(second.key)).exit_code is None
            rig.assert_run_once(first.key, second.key)

    @in_event_loop
    async def test_a_system_that_cannot_be_reached_is_not_said_to_be_there(self, subject: Subject) -> None:
        """`nodes` is how the control plane finds out whether a call failed because the system is away."""
        break_calls = needed(subject.break_calls, "break_calls")
        if not subject.owns_its_nodes:
            pytest.skip("the nodes of this backend are introduced by others")
        async with started(subject) as rig:
            async with break_calls():
                with pytest.raises(Exception):  # noqa: B017, PT011 - whatever its client raises
                    await asyncio.wait_for(rig.backend.nodes(), WHILE_S)
            await rig.until_answered(rig.backend.nodes)

    @in_event_loop
    async def test_a_call_without_an_answer_delays_no_other_key(self, subject: Subject) -> None:
        hold_reply = needed(subject.hold_reply, "hold_reply")
        async with started(subject) as rig:
            slow, quick = rig.new_work(0.0, 4), rig.new_work(0.0, 3)
            async with hold_reply(slow.key):
                waiting = asyncio.ensure_future(rig.backend.bind(slow))
                await subject.let_time_pass()
                async with patience(f"a bind of {quick.key} beside that of {slow.key}"):
                    await rig.backend.bind(quick)
                assert (await rig.finished(quick.key)).exit_code == 3
            outcome = (await asyncio.gather(waiting, return_exceptions=True))[0]
            assert not isinstance(outcome, Refusal), outcome
            await rig.until_bound(slow)
            assert (await rig.finished(slow.key)).exit_code == 4
            rig.assert_run_once(slow.key, quick.key)

    @in_event_loop
    async def test_an_end_that_could_not_be_reported_is_reported_again(self, subject: Subject) -> None:
        async with started(subject) as rig:
            rig.reports.failing_ends = True  # from the first: the end may be reported together with the start
            work = await rig.start_new(0.2, 9)
            rig.reports.failing = True
            await rig.reports.until_true(lambda: rig.reports.failed_ends > 0, f"a report of the end of {work.key}")
            rig.reports.failing = rig.reports.failing_ends = False
            assert (await rig.finished(work.key)).exit_code == 9

    @in_event_loop
    async def test_what_comes_back_with_a_node_does_not_run_beside_its_successor(self, subject: Subject) -> None:
        """Split brain: the node is gone, its task is given up and a second attempt runs; then the node is back."""
        cut_off = needed(subject.cut_off, "cut_off")
        runs_now = needed(subject.runs_now, "runs_now")
        async with started(subject) as rig:
            old = await rig.bind_new(LONG_S)
            await rig.running(old.key)
            async with cut_off(old.key):
                await _outcome(rig.backend.stop(old.key, "its node is gone"))
            await rig.until_stopped(old.key, "its node is gone")
            new = await _bound_again(rig, old)
            await rig.running(new.key)
            assert (await rig.finished(old.key)).exit_code is None
            await rig.reports.until_true(lambda: not runs_now(old.key), f"the end of {old.key} on the node itself")
            assert runs_now(new.key)
            await rig.backend.stop(new.key, "enough")
            assert (await rig.finished(new.key)).exit_code is None
            rig.assert_run_once(old.key, new.key)

    @in_event_loop
    async def test_a_lost_attempt_that_lives_on_is_ended_though_the_control_plane_was_restarted(
        self, subject: Subject
    ) -> None:
        cut_off = needed(subject.cut_off, "cut_off")
        runs_now = needed(subject.runs_now, "runs_now")
        async with started(subject) as before:
            old = await before.bind_new(LONG_S)
            await before.running(old.key)
            async with cut_off(old.key):
                await before.backend.close()
        async with started(subject) as after:
            await after.until_stopped(old.key, "given up")
            assert (await after.finished(old.key)).exit_code is None
            await after.reports.until_true(lambda: not runs_now(old.key), f"the end of {old.key} on the node itself")
            await _outcome(after.backend.bind(old))  # refused, or the same end once more
            assert (await after.finished(old.key)).exit_code is None
            after.assert_run_once(old.key)


async def _bound_again(rig: Rig, old: Assignment) -> Assignment:
    """The next attempt of the same task that is not refused. Binds are refused while the backend misses the node."""
    attempt = 1
    async with asyncio.timeout(PATIENCE_S):
        while True:
            attempt += 1
            new = next_attempt(old, attempt)
            await rig.reports.until_true(lambda: rig.reports.online(old.node), f"the return of {old.node}")
            try:
                await rig.until_bound(new)
            except Refusal:
                await rig.subject.let_time_pass()
            else:
                return new


async def _outcome(call: Awaitable[None]) -> BaseException | None:
    """The exception of a call, or None; TimeoutError if it does not return in time."""
    found = await asyncio.gather(asyncio.wait_for(call, WHILE_S), return_exceptions=True)
    return found[0]
