"""What comes in, looked at before it counts: submissions against limits, names and room.

`check_submission` says what this server will not take whatever its state; `Admission` what it will not take now.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from dovetail.control.crowding import Crowd
from dovetail.control.errors import Conflict
from dovetail.control.policies import check_names
from dovetail.control.settings import RequestLimits
from dovetail.engine.lifecycle.dependencies import After, CircularWait, Ended, Key, in_order, key_of, resolve
from dovetail.engine.policies.validation import problems_of
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.settings import Router, UnknownStrategy, Unroutable
from dovetail.model.text.complaint import Complaint, Invalid, field_name
from dovetail.model.text.listing import first_of
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import UnknownProfile
from dovetail.queueing.tree import UnknownQueue


def check_submission(
    specs: list[Workload], limits: RequestLimits, router: Router, overcommit: Mapping[str, float]
) -> None:
    """Raises Invalid with everything this server will not take, whatever its state."""
    if len(specs) > limits.max_batch:
        words = f"{len(specs)} workloads at once; the most is {limits.max_batch}: split the submission"
        raise Invalid([Complaint("request", None, "", words)])
    complaints = []
    for spec in specs:
        source = _source(spec)
        if spec.replicas > limits.max_replicas:
            words = f"{spec.replicas} is more than this server takes for one workload, {limits.max_replicas}"
            complaints.append(Complaint(source, None, "replicas", words))
        try:
            _, profile = router.route(spec)
            complaints += problems_of(spec, source, router.profiles[profile], overcommit)
        except UnknownProfile as error:
            complaints.append(Complaint(source, None, "profile", f"invalid_strategy: {error}", tuple(router.profiles)))
        except UnknownStrategy as error:
            known = tuple(router.strategies)
            complaints.append(Complaint(source, None, "topology.strategy", f"invalid_strategy: {error}", known))
        except Unroutable as error:
            complaints.append(Complaint(source, None, "scheduler", str(error)))
        try:
            router.queue(spec.queue, spec.namespace)
        except UnknownQueue as error:
            complaints.append(Complaint(source, None, "queue", str(error)))
    try:
        in_order(specs)
    except CircularWait as error:
        complaints.append(Complaint(f"workload {error.first}", None, "after", str(error)))
    if complaints:
        raise Invalid(complaints)


@dataclass(slots=True)
class Admitted:
    """A submission that may come in: ids in the order given, and the order in which the engine is to hear of them."""

    ids: list[int]
    order: list[int] = field(default_factory=list)
    after: list[After] = field(default_factory=list)


class Admission:
    """Looks at a submission against the state it meets. Changes nothing."""

    def __init__(self, state: EngineState, crowd: Crowd) -> None:
        self._state = state
        self._crowd = crowd

    def look(self, specs: list[Workload], first_id: int, ended_before: Ended, now: float) -> Admitted:
        """Raises Conflict (a name in use, a queue that is full) or Invalid (a dependency that cannot be met, a policy
        that is not there any more)."""
        self.check_names(specs)
        check_names(specs, self._state.policies)
        self._check_room(specs)
        return self.resolved(specs, first_id, ended_before, now)

    def check_names(self, specs: list[Workload]) -> None:
        """Raises Conflict for names that unfinished work has."""
        directory = self._state.cluster.placements.directory
        taken = [f"{key[0]}/{key[1]} (id {directory[key][0]})" for key in map(key_of, specs) if key in directory]
        if taken:
            raise Conflict(f"already there and not finished: {first_of(taken)}; choose another name")

    def _check_room(self, specs: list[Workload]) -> None:
        """All of a submission comes in or none, so each counts for those after it."""
        tree, quotas = self._state.router.queues, self._state.accounts.quotas
        if not any(queue.max_workloads for queue in tree.queues):
            return
        coming: Counter[int] = Counter()
        for spec in specs:
            queue = self._state.router.queue(spec.queue, spec.namespace)
            full = quotas.crowded(queue, lambda code: self._crowd.waiting(code) + coming[code])
            if full is not None:
                together = f" (with the {coming[queue]} before it here)" if coming[queue] else ""
                raise Conflict(f"{spec.namespace}/{spec.name} cannot join {full}{together}; try again later")
            coming.update(tree[queue].lineage)

    def resolved(self, specs: list[Workload], first_id: int, ended_before: Ended, now: float) -> Admitted:
        """Raises Invalid for dependencies that nobody has or that can no longer be met."""
        ids = list(range(first_id, first_id + len(specs)))
        if not any(spec.after for spec in specs):
            return Admitted(ids, list(range(len(specs))), [()] * len(specs))
        together: dict[Key, int] = dict(zip(map(key_of, specs), ids, strict=True))
        afters: list[After] = []
        complaints = []
        for spec in specs:
            after, unmet = resolve(self._state, spec, together, ended_before, now)
            afters.append(after)
            for one in unmet:
                where = field_name(("after", one.index, "workload"))
                complaints.append(Complaint(_source(spec), None, where, one.message))
        if complaints:
            raise Invalid(complaints)
        return Admitted(ids, in_order(specs), afters)


def _source(spec: Workload) -> str:
    return f"workload {spec.name}"
