"""Backends that break the contract, one way each, and the tests of the suite that notice."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail.backends.contract import Assignment, Refusal, Report, Status
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings
from dovetail.model.command import task_of_key
from dovetail.model.event import Event, TaskFinished
from dovetail.model.node import Node
from dovetail.model.workloads.run import Run, SimulatedRun
from dovetail.model.workloads.workload import Workload
from dovetail.testing import rig
from dovetail.testing.conformance import BackendConformance, Subject

SUITE = BackendConformance()
Check = Callable[[Subject], None]


class Honest(SimulatedBackend):
    def __init__(self) -> None:
        super().__init__("sim", SimulatedSettings(groups=[NodeGroup(count=2)]))
        self.starts: dict[str, int] = {}
        self.troubled = False

    async def bind(self, assignment: Assignment) -> None:
        known = True
        try:
            await super().status(assignment.key)
        except KeyError:
            known = False
        await super().bind(assignment)
        if not known:
            self.starts[assignment.key] = self.starts.get(assignment.key, 0) + 1

    async def nodes(self) -> list[Node]:
        if self.troubled:
            raise ConnectionError("no route")
        return await super().nodes()

    @asynccontextmanager
    async def trouble(self, _key: str = "") -> AsyncIterator[None]:
        self.troubled, self.over = True, asyncio.Event()
        try:
            yield
        finally:
            self.troubled = False
            self.over.set()


class StartsAgain(Honest):
    async def bind(self, assignment: Assignment) -> None:
        await super().bind(assignment)
        self.starts[assignment.key] = self.starts.get(assignment.key, 0) + 1


class TakesAnyNode(Honest):
    async def bind(self, assignment: Assignment) -> None:
        if assignment.node != "nobody-has-this-node":
            await super().bind(assignment)


class ForgetsStops(Honest):
    async def stop(self, key: str, reason: str) -> None:
        if key in self.starts:
            await super().stop(key, reason)


class TellsTwoEnds(Honest):
    """Says what it was told to do, and then what happened."""

    async def start(self, report: Report) -> None:
        self.report = report
        await super().start(report)

    async def stop(self, key: str, reason: str) -> None:
        if (await self.status(key)).exit_code is not None:
            await self.report(TaskFinished(task_of_key(key), key, None, reason))
        await super().stop(key, reason)


class KnowsEveryKey(Honest):
    async def status(self, key: str) -> Status:
        try:
            return await super().status(key)
        except KeyError:
            return Status("accepted")  # type: ignore[arg-type]


class HidesANode(Honest):
    async def nodes(self) -> list[Node]:
        return (await super().nodes())[1:]


class TellsOnce(Honest):
    async def start(self, report: Report) -> None:
        async def once(event: Event) -> None:
            try:
                await report(event)
            except ConnectionError:
                return

        await super().start(once)


class TooSure(Honest):
    """Takes a lost reply for a refusal."""

    async def bind(self, assignment: Assignment) -> None:
        await super().bind(assignment)
        if self.troubled:
            raise Refusal("there was no answer")


class NeverAsks(Honest):
    """Lists its nodes from memory."""

    async def nodes(self) -> list[Node]:
        return list(self._fleet)


class OneAtATime(Honest):
    def __init__(self) -> None:
        super().__init__()
        self.turn = asyncio.Lock()

    async def bind(self, assignment: Assignment) -> None:
        async with self.turn:
            if self.troubled and assignment.spec.run.simulate == SimulatedRun(run_time=0.0, exit_code=4):
                await self.over.wait()
            await super().bind(assignment)


def check(name: str, **more: Any) -> Check:
    return lambda subject: getattr(SUITE, name)(subject, **more)


@pytest.mark.parametrize(
    ("bad", "found_by"),
    [
        (StartsAgain, check("test_binding_twice_is_binding_once")),
        (TakesAnyNode, check("test_a_node_it_does_not_have_is_refused")),
        (ForgetsStops, check("test_stopping_an_unknown_key_reports_its_end_and_refuses_it_from_then_on")),
        (TellsTwoEnds, check("test_a_stop_that_meets_the_end_of_a_task_leaves_one_true_end", pause_s=0.3)),
        (KnowsEveryKey, check("test_status_follows_an_attempt_to_its_end")),
        (HidesANode, check("test_the_nodes_it_lists_are_those_it_introduced")),
        (TellsOnce, check("test_an_end_that_could_not_be_reported_is_reported_again")),
        (TooSure, check("test_a_bind_whose_reply_is_lost_runs_once_when_it_is_repeated")),
        (NeverAsks, check("test_a_system_that_cannot_be_reached_is_not_said_to_be_there")),
        (OneAtATime, check("test_a_call_without_an_answer_delays_no_other_key")),
    ],
)
def test_a_backend_that_breaks_the_contract_is_found_out(
    bad: type[Honest], found_by: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig, "PATIENCE_S", 2.0)
    found_by(_subject(Honest()))
    with pytest.raises((AssertionError, pytest.fail.Exception, TimeoutError)):
        found_by(_subject(bad()))


def _subject(backend: Honest) -> Subject:
    return Subject(
        lambda: backend,
        lambda run_s, code, _: Workload(name="w", run=Run(simulate=SimulatedRun(run_time=run_s, exit_code=code))),
        times_run=lambda key: backend.starts.get(key, 0),
        cut_replies=backend.trouble,
        break_calls=backend.trouble,
        hold_reply=backend.trouble,
    )
