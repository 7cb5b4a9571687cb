"""Reports about nodes are true: their whole capacity can be used, and clocks that differ do not matter."""

import time
from dataclasses import replace

import pytest

from dovetail.backends.contract import Phase, Price, Refusal
from dovetail.model.event import TaskStarted, TaskWaiting
from dovetail.model.node import Node
from dovetail.model.resources import CPU, DISK, GPU, MEMORY, SLOTS, Amounts, ResourceRequest
from dovetail.testing.rig import LONG_S, Conformance, Subject, in_event_loop, started

HOURS_S = 6 * 3600.0


def lasting_amounts(node: Node) -> Amounts:
    """Without the disk, whose use by others changes all the time."""
    return {name: amount for name, amount in node.capacity.amounts().items() if name != DISK}


class Truth(Conformance):
    @in_event_loop
    async def test_a_started_backend_introduces_its_nodes(self, subject: Subject) -> None:
        async with started(subject) as rig:
            assert rig.reports.nodes
            assert {node.backend for node in rig.reports.nodes} == {rig.backend.name}

    @in_event_loop
    async def test_the_nodes_it_lists_are_those_it_introduced(self, subject: Subject) -> None:
        if not subject.owns_its_nodes:
            pytest.skip("the nodes of this backend are introduced by others")
        async with started(subject) as rig:
            introduced = {node.name: lasting_amounts(node) for node in rig.reports.nodes}
            for _ in range(2):
                listed = await rig.backend.nodes()
                assert {node.name: lasting_amounts(node) for node in listed} == introduced
                assert {node.backend for node in listed} == {rig.backend.name}

    @in_event_loop
    async def test_every_node_has_something_to_run_work_on(self, subject: Subject) -> None:
        async with started(subject) as rig:
            for node in rig.reports.nodes:
                amounts = node.capacity.amounts()
                assert all(amounts.get(resource, 0) > 0 for resource in (CPU, MEMORY, SLOTS)), amounts
                assert node.kinds
                if node.gpus:
                    assert sum(group.count for group in node.gpus) * 1000 == amounts[GPU]

    @in_event_loop
    async def test_prices_are_those_of_its_nodes(self, subject: Subject) -> None:
        async with started(subject) as rig:
            prices = await rig.backend.prices()
            assert set(prices) <= {node.name for node in rig.reports.nodes}
            assert all(isinstance(price, Price) and price.per_hour >= 0 for price in prices.values())

    @in_event_loop
    async def test_what_a_node_is_said_to_have_can_be_used_at_once(self, subject: Subject) -> None:
        async with started(subject) as rig:
            node = rig.reports.nodes[0]
            half = ResourceRequest(cpu=node.capacity.cpu / 2, memory=node.capacity.memory // 2)
            spec = subject.workload(LONG_S, 0, "").model_copy(update={"resources": half})
            works = [replace(rig.new_work(), spec=spec) for _ in range(2)]
            for work in works:
                await rig.backend.bind(work)
            for work in works:
                await rig.reports.until(TaskStarted, work.key)
            phases = [(await rig.backend.status(work.key)).phase for work in works]
            assert phases == [Phase.RUNNING, Phase.RUNNING]
            for work in works:
                await rig.backend.stop(work.key, "it was shown")
                await rig.finished(work.key)

    @in_event_loop
    async def test_a_node_it_does_not_have_is_refused(self, subject: Subject) -> None:
        if not subject.owns_its_nodes:
            pytest.skip("the nodes of this backend are introduced by others")
        async with started(subject) as rig:
            work = replace(rig.new_work(), node="nobody-has-this-node")
            with pytest.raises(Refusal, match="nobody-has-this-node"):
                await rig.backend.bind(work)
            rig.assert_never_run(work.key)

    @pytest.mark.parametrize("off_s", [-HOURS_S, HOURS_S])
    @in_event_loop
    async def test_clocks_that_are_hours_apart_change_nothing(
        self, subject: Subject, off_s: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The clock of the control plane is off, and the system's is not: to the backend that is the same as the other
        way round. In the middle it is put right."""
        true_time, true_time_ns = time.time, time.time_ns
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: true_time() + off_s)
            patch.setattr(time, "time_ns", lambda: true_time_ns() + int(off_s * 1e9))
            async with started(subject) as before:
                short, long = await before.bind_new(0.1, 4), await before.bind_new(LONG_S)
                assert (await before.finished(short.key)).exit_code == 4
                said = [event for event in before.reports.received if getattr(event, "key", None) == short.key]
                kinds = [type(event) for event in said if not isinstance(event, TaskWaiting)]
                assert kinds[0] is TaskStarted
                await before.running(long.key)
        async with started(subject) as after:
            await after.backend.reconcile([long])
            await after.reports.until(TaskStarted, long.key)
            assert (await after.backend.status(long.key)).phase is Phase.RUNNING
            await after.backend.stop(long.key, "enough")
            assert (await after.finished(long.key)).exit_code is None
            after.assert_run_once(short.key, long.key)
