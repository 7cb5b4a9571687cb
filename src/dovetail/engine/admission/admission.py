"""Whether a submission may come in. The control plane and the simulator ask the same admission.

`objections` says what is wrong with one workload whatever the state of the cluster; `admit` also looks at names in use,
full queues and dependencies. Nothing here changes the engine. Left to others: limits of a server on the size of a
request, handing admitted workloads to the engine (`Submitted`), and telling `counts` about it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dovetail.engine.engine import Engine
from dovetail.engine.lifecycle.dependencies import (
    After,
    CircularWait,
    Ended,
    Key,
    in_order,
    key_of,
    names_outside,
    resolve,
)
from dovetail.engine.policies.validation import problems_of
from dovetail.engine.settings import UnknownStrategy, Unroutable
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.reason import Outcome
from dovetail.model.record import WorkloadRecord
from dovetail.model.requests.terms import Terms
from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, Invalid, field_name
from dovetail.model.text.listing import first_of
from dovetail.model.text.strict import closest
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import UnknownProfile
from dovetail.queueing.tree import UnknownQueue

__all__ = ["Admission", "AdmissionConflict", "Admitted", "CircularWait", "Ended", "in_order", "names_outside"]


class AdmissionConflict(Exception):
    """A name is in use or a queue is full; the message is a sentence for the person who submits."""


class Objection(NamedTuple):
    """Why a workload cannot be admitted: one word for programs, and the complaint for people."""

    reason: str
    complaint: Complaint


@dataclass(frozen=True, slots=True)
class Admitted:
    """Ids in the order given, the places in the order in which the engine must hear of them, and dependencies."""

    ids: list[int]
    order: list[int]
    after: list[After]


class WaitingCounts:
    """How many workloads wait in each queue and its children, kept up to date from what each step changed. A workload
    counts while any of its tasks is pending, also where it waits for another workload or for a retry. `tasks`: of all
    unfinished workloads."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._queue_of: dict[int, int] = {}
        self._counts = [0] * len(state.router.queues)
        self._tasks_of: dict[int, int] = {}
        self.tasks = 0
        for work in state.work.values():
            self._count_tasks(work.id)
            if work.waiting or work.delayed:
                self.joined(work.id)

    def joined(self, workload: int) -> None:
        """A live workload waits from now on."""
        self._count_tasks(workload)
        if workload not in self._queue_of:
            queue = self._queue_of[workload] = self._state.work[workload].queue
            self._add(queue, 1)

    def update(self, records: Iterable[WorkloadRecord]) -> None:
        """Workloads changed in one step."""
        for record in records:
            if record.state.finished:
                self.tasks -= self._tasks_of.pop(record.id, 0)
            if not record.pending:
                queue = self._queue_of.pop(record.id, None)
                if queue is not None:
                    self._add(queue, -1)
            elif record.id in self._state.work:
                self.joined(record.id)

    def waiting(self, queue: int) -> int:
        return self._counts[queue]

    def _count_tasks(self, workload: int) -> None:
        if workload not in self._tasks_of:
            self._tasks_of[workload] = self._state.work[workload].replicas
            self.tasks += self._tasks_of[workload]

    def _add(self, queue: int, number: int) -> None:
        for level in self._state.router.queues[queue].lineage:
            self._counts[level] += number


class Admission:
    def __init__(self, engine: Engine, most_tasks: int | None = None) -> None:
        """`most_tasks`: of all unfinished workloads; a limit of the server."""
        self._state = engine._state
        self._most_tasks = most_tasks
        self.counts = WaitingCounts(engine._state)

    def recount(self) -> None:
        """After the engine was restored."""
        self.counts = WaitingCounts(self._state)

    # --- whatever the state ----------------------------------------------------------------------------------

    def check(self, specs: Sequence[Workload], most_replicas: int | None = None) -> None:
        """Raises Invalid with everything that is wrong, whatever the state. `most_replicas`: the limit of a server."""
        for _ in self.check_each(specs, most_replicas):
            pass

    def check_each(self, specs: Sequence[Workload], most_replicas: int | None = None) -> Iterator[None]:
        """The same, one workload at a time; raises at the end."""
        complaints: list[Complaint] = []
        for spec in specs:
            if len(complaints) < MAX_COMPLAINTS:
                complaints += [one.complaint for one in self.objections(spec, most_replicas)]
            yield
        try:
            in_order(specs)
        except CircularWait as error:
            complaints.append(Complaint(f"workload {error.first}", None, "after", str(error)))
        if complaints:
            raise Invalid(complaints)

    def objections(self, spec: Workload, most_replicas: int | None = None) -> list[Objection]:
        """What is wrong with one workload: routing, queue, policies, requirements that make no sense."""
        router, source, found = self._state.router, _source(spec), list[Objection]()

        def object_to(reason: str, field: str, words: str, known: Sequence[str] = ()) -> None:
            found.append(Objection(reason, Complaint(source, None, field, words, tuple(known))))

        if most_replicas is not None and spec.replicas > most_replicas:
            words = f"{spec.replicas} is more than this server takes for one workload, {most_replicas}"
            object_to("too_many_replicas", "replicas", words)
        strategy = str(Outcome.INVALID_STRATEGY)
        try:
            _, profile = router.route(spec)
            overcommit = self._state.cluster.resources.overcommit
            complaints = problems_of(spec, source, router.profiles[profile], overcommit)
            found += [Objection("senseless", complaint) for complaint in complaints]
        except UnknownProfile as error:
            object_to(strategy, "profile", str(error), tuple(router.profiles))
        except UnknownStrategy as error:
            object_to(strategy, "topology.strategy", str(error), tuple(router.strategies))
        except Unroutable as error:
            object_to("unroutable", "scheduler", str(error))
        try:
            router.queue(spec.queue, spec.namespace)
        except UnknownQueue as error:
            object_to("unknown_queue", "queue", str(error))
        return found + [Objection("unknown_policy", complaint) for complaint in self._unknown_policies(spec)]

    def _unknown_policies(self, spec: Workload) -> list[Complaint]:
        by_name, found = self._state.policies.by_name, []
        for index, name in enumerate(spec.policies):
            if name not in by_name:
                words = f"no policy {name!r}; make it first with dovetail policy set.{closest(name, by_name)}"
                found.append(Complaint(_source(spec), None, field_name(("policies", index)), words))
        return found

    # --- now -------------------------------------------------------------------------------------------------

    def terms_of(self, spec: Workload) -> Terms:
        """For `Submitted`, ahead of it. Raises what routing raises."""
        return self._state.own_terms(spec)

    def admit(self, specs: Sequence[Workload], first_id: int, ended_before: Ended, now: float) -> Admitted:
        """All workloads or none. Raises AdmissionConflict, or Invalid for a dependency that cannot be met and for a
        policy that is not there. `ended_before`: what the store knows of names that the engine has forgotten."""
        self._check_names(specs)
        if missing := [complaint for spec in specs for complaint in self._unknown_policies(spec)]:
            raise Invalid(missing)
        self._check_queues(specs)
        self._check_tasks(specs)
        return self._resolved(specs, first_id, ended_before, now)

    def _check_names(self, specs: Sequence[Workload]) -> None:
        directory = self._state.cluster.placements.directory
        taken = [f"{key[0]}/{key[1]} (id {directory[key][0]})" for key in map(key_of, specs) if key in directory]
        if taken:
            raise AdmissionConflict(f"already there and not finished: {first_of(taken)}; choose another name")

    def _check_queues(self, specs: Sequence[Workload]) -> None:
        """Each workload of a submission counts for those after it."""
        tree, quotas = self._state.router.queues, self._state.accounts.quotas
        if not any(queue.max_workloads for queue in tree.queues):
            return
        coming: Counter[int] = Counter()
        for spec in specs:
            queue = self._state.router.queue(spec.queue, spec.namespace)
            full = quotas.crowded(queue, lambda code: self.counts.waiting(code) + coming[code])
            if full is not None:
                together = f" (with the {coming[queue]} before it here)" if coming[queue] else ""
                raise AdmissionConflict(f"{spec.namespace}/{spec.name} cannot join {full}{together}; try again later")
            coming.update(tree[queue].lineage)

    def _check_tasks(self, specs: Sequence[Workload]) -> None:
        coming = sum(spec.replicas for spec in specs)
        if self._most_tasks is not None and self.counts.tasks + coming > self._most_tasks:
            there = f"{self.counts.tasks} tasks of other workloads wait or run; with these {coming} there would be more"
            words = f"{there} than this server keeps, {self._most_tasks}"
            raise AdmissionConflict(f"{words}: try again when some have ended, or raise limits.max_tasks")

    def _resolved(self, specs: Sequence[Workload], first_id: int, ended_before: Ended, now: float) -> Admitted:
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
