"""A shared world whose work minds other work: near, apart, spread, in conflict, with expressions about nodes and work.

Every task is judged by the oracle at the moment it is placed; whoever must be apart on a host stays so at any time; and
whenever the engine comes to rest, nothing that was set aside would fit.
"""

from random import Random
from typing import Any

from tests.reference import ReferenceNode, ReferenceScheduler
from tests.reference_workload_affinity import APART, ON_ITS_OWN, rules_of
from tests.simulation.faulty_world import FaultyWorld
from tests.simulation.misfortune import Deed
from tests.simulation.shared_world import SHARED_DEEDS, SharedWorld, shared_work

from dovetail.engine.gangs.gang_trial import try_together
from dovetail.engine.gangs.requests import request_of
from dovetail.engine.scheduling.reordering import short_work_refusal
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.command import Bind, Command
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import ProfileSettings

JUDGED = ("constraints", "workload_affinity", "spread")
APPS = ["web", "db", "ring"]
LEVELS = ["host", "host", "rack"]
LAYOUTS: list[dict[str, Any]] = [
    {"required": "rack"},
    {"required": "host"},
    {"preferred": "rack"},
    {"required": "rack", "preferred": "host"},
    {"slices": [{"size": 2, "within": "rack"}], "strategy": "spread"},
    {"required": "rack", "slices": [{"size": 2, "within": "host"}]},
]


class SocialWorld(SharedWorld):
    # --- at the moment of placing ----------------------------------------------------------------------------

    def _carry_out(self, commands: list[Command]) -> None:
        self._judge([command for command in commands if isinstance(command, Bind)])
        super()._carry_out(commands)

    def _judge(self, binds: list[Bind]) -> None:
        """One after the other, each on the cluster as it was when its turn came: nothing leaves while others come."""
        if not binds:
            return
        oracle = self._oracle({bind.task for bind in binds})
        for bind in binds:
            spec = _without_wishes(self.notebook.specs[bind.task.workload])
            ask, node = oracle.ask(spec), oracle.node(bind.node)
            broken = [name for name in JUDGED if not oracle.passes(name, ask, node)]
            assert not broken, f"{bind.task} is placed on {bind.node} against {broken}: {spec}"
            self._judge_layout(oracle, bind, spec)
            oracle.place(self.notebook.specs[bind.task.workload], bind.task, bind.node)

    def _judge_layout(self, oracle: ReferenceScheduler, bind: Bind, spec: Workload) -> None:
        """Where some of its tasks are, or one of them at least if nodes were moved since."""
        level = None if spec.topology is None else spec.topology.required
        own = self.notebook.specs[bind.task.workload]
        others = [node for node in oracle.present() for other in node.tasks.values() if other is own]
        if level is None or not others:
            return
        where = [_domain(node, level) for node in others]
        assert None is not _domain(oracle.node(bind.node), level) in where, f"{bind.task} is not in their {level}"

    def _oracle(self, but: set[Any]) -> ReferenceScheduler:
        cluster = self.engine._state.cluster
        oracle = ReferenceScheduler(ProfileSettings(scores={}))
        oracle.backends_down = set(self.down)
        for name, row in cluster.rows.items():
            node = ReferenceNode(cluster.node(name))
            node.online, node.cordoned = bool(cluster.status.online[row]), bool(cluster.status.cordoned[row])
            node.cordoned |= name in cluster.status.quarantines
            oracle.nodes.append(node)
            for task in cluster.placements.by_row[row]:
                if task not in but:
                    node.take(task, self.notebook.specs[task.workload])
        return oracle

    # --- at any time -----------------------------------------------------------------------------------------

    def check(self) -> None:
        super().check()
        cluster = self.engine._state.cluster
        for tasks in cluster.placements.by_row:
            specs = {task.workload: self.notebook.specs[task.workload] for task in tasks}
            if any(spec.affinity or spec.conflicts for spec in specs.values()):
                self._check_apart([self.notebook.specs[task.workload] for task in tasks])

    def _check_apart(self, together: list[Workload]) -> None:
        """Those on one host. Racks are left out: a node may be moved to another while it works."""
        for number, spec in enumerate(together):
            for rule in rules_of(spec):
                if rule.relation == APART and rule.weight is None and rule.level in ON_ITS_OWN:
                    others = together[:number] + together[number + 1 :]
                    assert not any(rule.concerns(other) for other in others), f"{spec.name} is not alone: {rule}"

    # --- at rest ---------------------------------------------------------------------------------------------

    def decide(self) -> None:
        super().decide()
        state = self.engine._state
        if state.promises:  # what is promised to one is refused to another, as long as it is
            return
        for work in state.work.values():
            if work.queue_place is QueuePlace.PARKED:
                assert self._fits_nowhere(work), f"{work.id} waits and would fit: {work.reason}: {work.message}"

    def _is_held_back(self, work: Work) -> bool:
        """By its quota, or for the lane that long work leaves to short work."""
        state, together = self.engine._state, max(1, work.gang_short)
        asked = {name: amount * together for name, amount in work.shape.amounts}
        over = state.accounts.quotas.over(work.queue, work.terms.user, asked) is not None
        return over or (bool(state.pending.dynamic_orderings) and short_work_refusal(state, work, together) is not None)

    def _fits_nowhere(self, work: Work) -> bool:
        """Not even without what it only wishes for."""
        state = self.engine._state
        together = sorted(work.waiting)[: max(1, work.gang_short)]
        request = request_of(state, work, self.now)
        request.shape = work.shape.least
        return (
            self._is_held_back(work)
            or len(together) < work.gang_short
            or try_together(state, work, request, together).refusal is not None
        )


def _domain(node: ReferenceNode, level: str) -> str | None:
    return node.definition.name if level in ON_ITS_OWN else node.definition.labels.get(level)


def _without_wishes(spec: Workload) -> Workload:
    """A wish that is insisted on may have been given up; what is required may not."""
    required = [constraint for constraint in spec.constraints if constraint.require is not None]
    return spec.model_copy(update={"constraints": required})


def _whom(chance: Random, number: int) -> Any:
    earlier = f"w{chance.randrange(max(1, number - 6), number + 1)}"
    by_label = {"labels": {"app": chance.choice(APPS)}, "namespaces": chance.choice([[], ["*"]])}
    return chance.choice([earlier, by_label, by_label])


def _rule(chance: Random, number: int) -> dict[str, Any]:
    relation = chance.choice(["near", "apart", "apart", "in_n_regions", "in_different_regions"])
    weight = {"weight": 0.5} if chance.random() < 0.3 else {}
    if relation == "in_n_regions":
        return {relation: [_whom(chance, number)], "n": chance.choice([1, 2]), "within": "rack"} | weight
    if relation == "in_different_regions":
        return {relation: [_whom(chance, number), _whom(chance, number)], "within": chance.choice(LEVELS)} | weight
    how = {"distance": chance.choice([0, 60])} if chance.random() < 0.2 else {"within": chance.choice(LEVELS)}
    return {relation: _whom(chance, number)} | how | weight


def social_work(chance: Random, number: int) -> Workload:
    fields = shared_work(chance, number).model_dump(mode="json", exclude_unset=True)
    fields["labels"] = {"app": chance.choice(APPS)} if chance.random() < 0.7 else {}
    if chance.random() < 0.5:
        fields["affinity"] = [_rule(chance, number) for _ in range(chance.choice([1, 1, 2]))]
    if chance.random() < 0.3:
        spread: dict[str, Any] = {"over": chance.choice(LEVELS), "max_skew": chance.choice([1, 2])}
        of = {"of": {"labels": {"app": chance.choice(APPS)}}} if chance.random() < 0.3 else {}
        fields["spread"] = [spread | of | ({"weight": 1} if chance.random() < 0.3 else {})]
    if chance.random() < 0.2:
        fields["conflicts"] = [{"set": "licence", "within": chance.choice(LEVELS)}]
    if chance.random() < 0.3:
        fields["topology"] = chance.choice(LAYOUTS)
    if chance.random() < 0.2:
        text = chance.choice(['node.labels.rack == "a"', "node.allocated.cpu > 0.0", "node.free.slots > 50"])
        kind = chance.choice([{"require": text}, {"prefer": text, "priority": 2}, {"avoid": text, "priority": 1}])
        fields["constraints"] = [kind]
    return Workload.model_validate(fields)


def _submit(world: FaultyWorld, chance: Random) -> None:
    world.submit(social_work(chance, world.next_workload))


SOCIAL_DEEDS: dict[str, Deed] = SHARED_DEEDS | {"submit": _submit}
