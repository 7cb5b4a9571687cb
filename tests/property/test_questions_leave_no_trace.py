"""Two engines hear the same events. One of them is asked questions in between, and nobody can tell which.

Commands, changes to be written, and what is remembered over a restart are compared to the byte after every event.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.invariants import check_invariants
from tests.property.random_work import NODE_NAMES, a_fleet, a_node, a_workload

from dovetail.engine.engine import Engine
from dovetail.engine.pieces import whole
from dovetail.engine.questions.fragmentation import fragment_report, recoverable_capacity
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Command, attempt_key
from dovetail.model.event import (
    CancelAsked,
    Event,
    NodeCordoned,
    NodeDrained,
    NodeHealthChanged,
    NodeJoined,
    NodeLeft,
    NodeObserved,
    PolicySet,
    ReservationMade,
    Submitted,
    TaskFinished,
    TaskStarted,
    Tick,
)
from dovetail.model.node import Node
from dovetail.model.policy import Policy
from dovetail.model.reservation import Reservation
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Priority, Workload

pytestmark = pytest.mark.usefixtures("small_limits")

SCHEDULING: list[dict[str, Any]] = [
    {},
    {"order": "fair", "half_life": "60s"},
    {"order": "fair"},
    {"order": "batch"},
    {"order": "priority", "profile": "round_robin"},
    {"profile": "fragmentation"},
]
QUEUES: list[dict[str, Any]] = [
    {},
    {"narrow": {"maximum": {"cpu": 6}}, "owner": {"guaranteed": {"cpu": 8}}, "guest": {}},
]
MARKETS: list[dict[str, Any]] = [
    {},
    {"prefer": "cheapest", "margin": "5s", "preempt": "savings"},
    {"prefer": "cheapest", "margin": "5s", "preempt": "savings", "timetable": True},
]
OFFER = {"price_per_hour": 0.5, "running": False, "start_up": "5s", "place": "aws/us-east-1"}
ADJUSTED = {
    "prefer": 'node.labels.rack == "r1"',
    "adjust": [{"when": "cluster.utilisation.cpu > 0.5", "off": True}],
}


class Twins:
    """`quiet` is never asked anything; `asked` is. Events are drawn from what the quiet one knows."""

    def __init__(self, r: Random) -> None:
        self.r, self.now, self.next_id = r, 1000.0, 1
        scheduler, queues = dict(r.choice(SCHEDULING)), r.choice(QUEUES)
        fair = {"half_life": half_life} if (half_life := scheduler.pop("half_life", None)) else {}
        self.market = r.choice(MARKETS)
        chosen = {"schedulers": {"default": scheduler}, "queues": queues, "fair": fair, "market": self.market}
        self.quiet, self.asked = (Engine(EngineSettings.model_validate(chosen)) for _ in range(2))
        self.queues = ["default", *queues]
        self.questions = Questions(self.asked)
        self.specs: dict[int, Workload] = {}

    def hear(self, event: Event) -> list[Command]:
        commands = self.quiet.handle(event, self.now)
        assert repr(self.asked.handle(event, self.now)) == repr(commands)
        changes = [repr(engine.take_changes(self.now)) for engine in (self.quiet, self.asked)]
        assert changes[0] == changes[1]
        memories = [engine.memory(self.now) for engine in (self.quiet, self.asked)]
        assert memories[0] == memories[1]
        assert self.quiet.busy == self.asked.busy
        assert self.quiet._state.timers.next == self.asked._state.timers.next
        return commands

    # --- what happens ----------------------------------------------------------------------------------------

    def step(self) -> None:
        self.now += self.r.choice([0.0, 0.1, 1.0, 7.0])
        self.hear(self.r.choice(self._events())())
        for _ in range(50):
            if not self.quiet.busy:
                break
            self.hear(Tick(self.r.choice([3, 1000])))

    def _events(self) -> list[Any]:
        return [
            *[lambda: self._submitted()] * 4,
            *[lambda: self._progress()] * 6,
            *[lambda: Tick(100)] * 3,
            lambda: NodeJoined(a_node(self.r)),
            *[lambda: NodeLeft(self._node_of_a_gang(), "sold")] * 2,
            lambda: NodeHealthChanged(self._node(), bool(self.r.randrange(3)), "silent"),
            lambda: NodeCordoned(self._node(), bool(self.r.randrange(2)), self.r.choice(["", "repair"])),
            lambda: NodeDrained(self._node(), "repair"),
            lambda: NodeObserved(self._node(), {"cpu": self.r.choice([0, 900, 3000])}),
            lambda: CancelAsked(self.r.randrange(1, self.next_id + 1), "changed my mind"),
            lambda: PolicySet(Policy.model_validate(self._policy()), self.quiet._state.policies.next_version("p")),
            lambda: ReservationMade(self.next_id, Reservation.model_validate(self._reservation())),
        ]

    def _policy(self) -> dict[str, Any]:
        return {"name": "p", "applies_to": {"namespaces": ["*"]}, **ADJUSTED}

    def _reservation(self) -> dict[str, Any]:
        return {"node": self._node(), "resources": {"cpu": 1}, "start": self.now + 5, "duration": 50}

    def _node(self) -> str:
        return self.r.choice(list(self.quiet._state.cluster.rows) or NODE_NAMES)

    def _node_of_a_gang(self) -> str:
        """So that gangs break and are to be recovered."""
        state = self.quiet._state
        placed = state.cluster.placements.by_task
        found = sorted({placed[task].row for task in placed if state.work[task.workload].group is not None})
        return state.cluster.names[self.r.choice(found)] if found else self._node()

    def _submitted(self) -> Submitted:
        spec = self.a_spec()
        live = {work.key for work in self.quiet._state.work.values()}
        if (spec.namespace, spec.name) in live:
            spec = spec.model_copy(update={"name": f"{spec.name}-{self.next_id}"})
        self.next_id += 1
        self.specs[self.next_id] = spec
        return Submitted(self.next_id, spec)

    def a_spec(self) -> Workload:
        replicas = self.r.choice([1, 2, 3, 6])
        more: dict[str, Any] = {"replicas": replicas, "priority": self.r.choice(list(Priority))}
        if self.r.randrange(2):
            more["queue"] = self.r.choice(self.queues)
        if not self.r.randrange(3):
            more["gang"] = {"min": self.r.randint(1, replicas)}
            more |= self.r.choice([{}, {"topology": {"required": "rack"}}, {"topology": {"preferred": "rack"}}])
        if self.r.randrange(2):
            more["deadline"] = {"run_for": self.r.choice(["5s", "30s", "10m"])}
            if self.market:
                more["deadline"]["finish_within"] = self.r.choice(["1m", "15m"])
        if not self.r.randrange(5):
            more["disruption"] = {"max_unavailable": 1}
        base: dict[str, Any] = {
            "name": f"plain-{self.r.randrange(5)}",
            "resources": {"cpu": self.r.choice([0.5, 1, 2])},
        }
        if self.r.randrange(2):
            base = a_workload(self.r).model_dump(exclude_unset=True)
        return Workload.model_validate(base | more)

    def _progress(self) -> Event:
        """A task starts, or ends."""
        tasks = sorted(self.quiet._state.cluster.placements.by_task)
        if not tasks:
            return Tick(10)
        task = self.r.choice(tasks)
        live = self.quiet._state.work[task.workload].task(task.replica)
        key = attempt_key(task, live.attempt)
        if live.state is TaskState.STOPPING:
            return TaskFinished(task, key, None, "stopped")
        if live.state is not TaskState.RUNNING:
            return TaskStarted(task, key)
        return TaskFinished(task, key, self.r.choice([0, 0, 1]), "ended")

    # --- what is asked ---------------------------------------------------------------------------------------

    def ask(self, r: Random) -> None:
        """One question, about anything."""
        engine, questions, now = self.asked, self.questions, self.now + r.choice([0.0, 0.3])
        live = sorted(set(engine._state.work) & set(self.specs))
        id_ = r.choice(live) if live else -1
        nodes = sorted(engine._state.cluster.rows)
        fresh = r.choice([self.a_question(r), self.specs[id_]]) if live else self.a_question(r)
        shape = engine._state.work[id_].shape if live else questions.plans.shape(fresh)
        asking: list[Callable[[], object]] = [
            lambda: whole(questions.plans.plan(fresh, 50, now)),
            lambda: whole(questions.plans.plan_group([fresh, self.a_question(r)], 20, now)),
            lambda: whole(questions.plans.would_displace(fresh, now)),
            lambda: whole(questions.plans.impasse(fresh, now=now)),
            lambda: whole(questions.plans.impasse(self.specs[id_], id_, now)) if live else None,
            lambda: questions.explanations.explain(shape, id_, now),
            lambda: questions.explanations.why_not(shape, r.choice(nodes), id_, now) if nodes else None,
            lambda: questions.explanations.refused_at(shape, r.choice(("ready", "resources", "none")), id_, now, 5),
            lambda: questions.explanations.points_of(shape, r.choice(nodes)) if nodes else None,
            lambda: whole(questions.plans.capacity(fresh)),
            lambda: whole(questions.plans.starts(now)),
            lambda: (questions.queues.pending(1000), questions.queues.report({})),
            lambda: (questions.nodes.uses(), questions.gauges.totals(), questions.gauges.status_counts()),
            lambda: (whole(questions.trends.sample(now)), whole(questions.attention.findings())),
            lambda: questions.trends.node_shares(now),
            lambda: (whole(questions.map.map(now, r.choice([None, 1, 5]))), questions.map.workloads_on([id_])),
            lambda: whole(questions.plans.core(self.specs[id_], id_, now)) if live else None,
            lambda: whole(questions.nodes.ordered("", (), "-use")),
            lambda: (fragment_report(engine._state), recoverable_capacity(engine._state, 10)),
        ]
        r.choice(asking)()

    def a_question(self, r: Random) -> Workload:
        """About work that is not there. Drawn apart from the events, which must not depend on questions."""
        mine, self.r = self.r, r
        try:
            return self.a_spec()
        finally:
            self.r = mine


@examples(60)
@given(seed=st.integers(0, 2**32))
def test_questions_between_events_change_no_command_and_no_persisted_byte(seed: int) -> None:
    r, asking = Random(seed), Random(seed + 1)
    twins = Twins(r)
    for node in a_fleet(r):
        twins.hear(NodeJoined(node))
    if twins.market:
        for number in range(r.randint(1, 4)):
            sold = {"name": f"sold-{number}", "capacity": {"cpu": 4, "memory": "16GiB"}, "offer": OFFER}
            twins.hear(NodeJoined(Node.model_validate(sold)))
    for _ in range(r.randint(5, 30)):
        twins.step()
        for _ in range(asking.randint(0, 3)):
            twins.ask(asking)
            check_invariants(twins.asked._state.cluster, within_capacity=False)


def test_a_question_about_a_resource_that_nobody_has_is_forgotten() -> None:
    twins = Twins(Random(0))
    twins.hear(NodeJoined(a_node(Random(1), "n1")))
    before = list(twins.asked._state.cluster.resources.names)
    spec = Workload.model_validate({"name": "odd", "resources": {"cpu": 1, "example.com/unicorn": 1}})
    assert whole(twins.questions.plans.plan(spec))[0].node is None
    assert whole(twins.questions.plans.impasse(spec)).core
    assert twins.asked._state.cluster.resources.names == before
    assert twins.asked._state.cluster.resources.free.shape[0] == len(before)
    assert TaskId(-1, 0) not in twins.asked._state.cluster.placements.by_task
