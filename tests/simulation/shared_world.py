"""A faulty world that is shared: queues with quotas, gangs, arrays, dependencies, run times, preemption, taints.

After every step the books are recomputed from the placements alone: what queues and users hold, who waits where, whose
gang is whole.
"""

from collections import Counter
from random import Random
from typing import Any

from tests.simulation.faulty_world import GPU_ASKS, NODES, FaultyWorld
from tests.simulation.misfortune import DEEDS, Deed

from dovetail.engine.gangs.gang_trial import try_together
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.event import NodeJoined, Submitted
from dovetail.model.task import TaskState
from dovetail.model.workloads.workload import Workload

QUEUES: dict[str, Any] = {
    "lab": {
        "maximum": {"cpu": 12},
        "queues": {
            "ml": {"guaranteed": {"cpu": 4}, "maximum": {"cpu": 9}},
            "web": {"guaranteed": {"cpu": 2}, "user_limits": {"cpu": 4}},
        },
    },
    "small": {"maximum": {"cpu": 3}, "user_limits": {"cpu": 2}},
}


class SharedWorld(FaultyWorld):
    def submit(self, spec: Workload) -> None:
        directory = self.engine._state.cluster.placements.directory
        if (spec.namespace, spec.name) in directory:
            return
        keys = {(spec.namespace, after.workload): after.condition for after in spec.after}
        live = tuple((directory[key][0], condition) for key, condition in keys.items() if key in directory)
        self.tell(Submitted(self.next_workload, spec, live))
        self.next_workload += 1

    def taint(self, name: str, on: bool) -> None:
        if name in self.engine._state.cluster.rows:
            node = self.engine._state.cluster.record(name).node
            taints = [{"key": "leaving", "effect": "NoExecute"}] if on else []
            self.tell(NodeJoined(node.model_validate(node.model_dump() | {"taints": taints})))

    def settle(self) -> None:
        for name in list(self.engine._state.cluster.rows):
            self.taint(name, False)
        super().settle()

    # --- what must hold --------------------------------------------------------------------------------------

    def check(self) -> None:
        super().check()
        for work in self.engine._state.work.values():
            self._check_work(work)
        self._check_engine()
        self._check_ledger()

    def _check_work(self, work: Work) -> None:
        states = Counter(live.state for live in work.tasks.values())
        assert work.stopping == states[TaskState.STOPPING]
        assert work.succeeded == states[TaskState.SUCCEEDED]
        firm = work.holding - work.stopping
        if work.terms.gang_min and firm and not work.stopping and work.recovery is None:
            assert firm + work.succeeded >= work.terms.gang_min, f"gang {work.id} is half placed"
        if work.terms.concurrency:
            assert work.holding <= work.terms.concurrency, f"too many of {work.id} run at once"
        if work.queue_place in (QueuePlace.PARKED, QueuePlace.OVER_QUOTA) or work.after:
            assert work.reason, f"{work.id} waits without a reason"

    def _check_engine(self) -> None:
        state = self.engine._state
        assert set(state.ends.tasks()) <= set(state.cluster.placements.by_task), "an end is expected of who is gone"
        stopping = {task for task in state.cluster.placements.by_task if task in state.stopping}
        assert len(stopping) == len(state.stopping) == sum(work.stopping for work in state.work.values())
        heads = [course.head for course in state.backfill_states.values() if course.head is not None]
        for id_ in (*heads, *state.promises.of_work):
            assert state.work[id_].queue_place in (QueuePlace.QUEUED, QueuePlace.PARKED), (
                f"{id_} is promised room it does not wait for"
            )

    def _check_ledger(self) -> None:
        """What queues and users hold is what their tasks hold, and never more than they may."""
        state, tree = self.engine._state, self.engine._state.router.queues
        by_queue: dict[int, Counter[str]] = {queue.code: Counter() for queue in tree.queues}
        by_user: dict[tuple[int, str], Counter[str]] = {}
        for work in state.work.values():
            held = [(name, amount * work.holding) for name, amount in work.shape.amounts] if work.holding else []
            for code in tree[work.queue].lineage:
                of_queue, of_user = by_queue[code], by_user.setdefault((code, work.terms.user or ""), Counter())
                for name, amount in held:
                    of_queue[name] += amount
                    of_user[name] += amount
        for code, counted in by_queue.items():
            assert dict(state.accounts.usage.used(code)) == dict(+counted), tree[code].path
            for resource, most in tree[code].maximum.items():
                assert counted[resource] <= most, f"queue {tree[code].path} holds too much {resource}"
        for (code, user), counted in by_user.items():
            for resource, most in tree[code].user_limits.items():
                assert counted[resource] <= most, f"{user} holds too much {resource} in {tree[code].path}"
            if tree.is_leaf(code):
                assert dict(state.accounts.usage.used_by(code, user)) == dict(+counted)

    def check_settled(self) -> None:
        """Whatever has not ended waits for something that truly is not there."""
        state = self.engine._state
        assert not self.live()
        assert not state.cluster.placements.by_task
        for id_, record in self.notebook.workloads.items():
            if record.state.finished:
                assert all(task.state.finished for task in self.notebook.tasks_of(id_)), id_
                continue
            work = state.work[id_]
            assert record.reason, f"{id_} waits without a reason"
            assert work.waiting, f"{id_} neither ended nor waits: {record}"
            assert not work.delayed
            assert work.after or work.reason == "over_quota" or self._fits_nowhere(work), f"{id_}: {record}"
            if work.reason == "over_quota":
                asked = {name: amount * max(1, work.gang_short) for name, amount in work.shape.amounts}
                assert state.accounts.quotas.over(work.queue, work.terms.user, asked) is not None

    def _fits_nowhere(self, work: Work) -> bool:
        state = self.engine._state
        together = sorted(work.waiting)[: max(1, work.gang_short)]
        return len(together) < work.gang_short or (
            try_together(state, work, state.request(work.shape), together).refusal is not None
        )


def shared_work(chance: Random, number: int) -> Workload:
    replicas = chance.choice([1, 1, 2, 3, 5, 8])
    fields: dict[str, Any] = {
        "name": f"w{number}",
        "namespace": chance.choice(["x", "y"]),
        "user": chance.choice(["ann", "bob", None]),
        "queue": chance.choice([None, "lab/ml", "lab/web", "small"]),
        "priority": chance.choice(["critical", "high", "medium", "low", "batch"]),
        "replicas": replicas,
        "resources": {"cpu": chance.choice(["500m", 1, 2, 4]), "memory": chance.choice(["1GiB", "4GiB"])}
        | (chance.choice(GPU_ASKS) if not chance.randrange(4) else {}),
        "retries": chance.choice([0, 0, 1, 3]),
        "deadline": {
            "run_for": chance.choice([None, 10, 60, 300]),
            "schedule_within": chance.choice([None, None, None, 120]),
        },
        "disruption": {
            "allowed": chance.random() < 0.9,
            "max_unavailable": chance.choice([None, 1]),
            "min_run_time": chance.choice([None, 60]),
        },
    }
    if chance.random() < 0.4:
        fields["gang"] = {"min": chance.randint(1, replicas)}
    elif chance.random() < 0.2:
        fields["concurrency"] = chance.randint(1, 3)
    if number > 1 and chance.random() < 0.2:
        condition = chance.choice(["succeeded", "finished"])
        fields["after"] = [{"workload": f"w{chance.randrange(max(1, number - 6), number)}", "condition": condition}]
    if chance.random() < 0.3:
        seconds = chance.choice([None, 30])
        fields["tolerations"] = [{"key": "leaving", "operator": "Exists", "toleration_seconds": seconds}]
    return Workload.model_validate(fields)


def _submit(world: FaultyWorld, chance: Random) -> None:
    world.submit(shared_work(chance, world.next_workload))


def _taint(world: FaultyWorld, chance: Random) -> None:
    assert isinstance(world, SharedWorld)
    world.taint(chance.choice(NODES), on=chance.random() < 0.5)


SHARED_DEEDS: dict[str, Deed] = {
    **{name: deed for name, deed in DEEDS.items() if name not in ("reserve", "release")},
    "submit": _submit,
    "taint": _taint,
}
