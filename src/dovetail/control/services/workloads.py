"""What users do with workloads: submit them, check them, cancel them.

Guarantees: a change is durable when its method returns. A large submission is checked a little at a time, between the
turns of the loop. Left to others: selections of many workloads, and those that have ended (`workload_changes`).
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator

from dovetail.constraints.pattern_answers import answer_all, patterns_in
from dovetail.control.errors import Conflict
from dovetail.control.loop.giving_way import in_pieces
from dovetail.control.loop.idempotency import AcceptedSubmission, IdempotencyKey
from dovetail.control.loop.inbox import Apply, PendingSubmission, PreparedWorkload
from dovetail.control.loop.loop import ControlLoop
from dovetail.control.loop.store_access import on_store_thread
from dovetail.control.settings import RequestLimits
from dovetail.engine.admission.admission import Admission, AdmissionConflict, Ended, names_outside
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import CancelAsked
from dovetail.model.record import RequestTrace
from dovetail.model.task import WorkloadState
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import Store


class WorkloadService:
    """`running`: the loop; raises Unavailable where nothing can be accepted. `refuse_over_budget`: raises Conflict if
    the budget of one of these namespaces is spent."""

    def __init__(
        self,
        admission: Admission,
        questions: Questions,
        store: Store,
        limits: RequestLimits,
        running: Callable[[], ControlLoop],
        apply: Apply,
        refuse_over_budget: Callable[[Iterable[str]], None],
    ) -> None:
        self._admission, self._questions, self._store, self._limits = admission, questions, store, limits
        self._running, self._apply, self._refuse_over_budget = running, apply, refuse_over_budget

    async def submit(
        self,
        specs: list[Workload],
        key: IdempotencyKey | None = None,
        *,
        within_budget: bool = True,
        trace: RequestTrace | None = None,
    ) -> list[AcceptedSubmission]:
        """All workloads or none, durable on return. A repeated key returns the first answer; with another request it
        raises Invalid. `within_budget`: raises Conflict where a budget is spent. `trace`: what the request tells."""
        await self.check(specs)
        loop = self._running()
        if key is not None:
            before = await on_store_thread(self._store.idempotent_response, key.name)
            if before is not None:
                return key.first_answer(before)
        if within_budget:
            self._refuse_over_budget(spec.namespace for spec in specs)
        promise: asyncio.Future[list[AcceptedSubmission]] = asyncio.get_running_loop().create_future()
        ended = await self._ended(specs)
        prepared: list[PreparedWorkload] = []
        await in_pieces(self._prepare_each(specs, prepared))
        await self._answer_patterns(specs)
        loop.inbox.put(PendingSubmission(prepared, key, promise, ended, trace))
        return await promise

    async def submit_replicas(self, specs: list[Workload]) -> list[AcceptedSubmission]:
        """Submit replicas of services. A spent budget does not refuse them: their services were accepted before."""
        return await self.submit(specs, within_budget=False)

    async def check_now(self, specs: list[Workload]) -> None:
        """Raises what `submit` would raise now: Conflict or Invalid."""
        ended = await self._ended(specs)
        self._running()
        self._refuse_over_budget(spec.namespace for spec in specs)
        try:
            self._admission.admit(specs, 0, ended, time.time())
        except AdmissionConflict as conflict:
            raise Conflict(str(conflict)) from None

    async def _ended(self, specs: list[Workload]) -> Ended:
        """Dependencies that the store knows to have ended. What the engine knows comes first: a workload may have
        ended, or been submitted again, while the store was asked."""
        asked = sorted(key for key in names_outside(specs) if not self._questions.workloads.remembers(*key))
        found: dict[tuple[str, str], tuple[int, WorkloadState]] = {}
        for namespace, name in asked:
            row = await on_store_thread(self._store.find_workload, namespace, name)
            if row is not None and row["finished_at"] is not None:
                found[namespace, name] = (row["id"], WorkloadState(row["state"]))
        return found

    def _prepare_each(self, specs: list[Workload], prepared: list[PreparedWorkload]) -> Iterator[None]:
        for spec in specs:
            prepared.append(PreparedWorkload.of(spec, self._admission.terms_of(spec)))
            yield

    async def _answer_patterns(self, specs: list[Workload]) -> None:
        """Match patterns with the nodes there are on a thread, before a decision has to."""
        asked = {one for spec in specs if spec.constraints for one in patterns_in(spec)}
        if asked:
            nodes = self._questions.nodes
            values = [(text, list(nodes.names) if key is None else nodes.label_values(key)) for text, key in asked]
            await asyncio.to_thread(answer_all, values)

    def waiting_in(self, queue: int) -> int:
        """How many workloads wait in a queue and its children."""
        return self._admission.counts.waiting(queue)

    async def check(self, specs: list[Workload]) -> None:
        """Raises Invalid for what this server never accepts, whatever the state of the cluster. A large submission is
        checked a little at a time, between the turns of the loop."""
        limits = self._limits
        if len(specs) > limits.max_batch:
            words = f"{len(specs)} workloads at once; the most is {limits.max_batch}: split the submission"
            raise Invalid([Complaint("request", None, "", words)])
        await in_pieces(self._admission.check_each(specs, limits.max_replicas))
        replicas, most = sum(spec.replicas for spec in specs), max(limits.max_batch_replicas, limits.max_replicas)
        if replicas > most:
            words = f"{replicas} replicas at once; the most in one submission is {most}: split the submission"
            raise Invalid([Complaint("request", None, "replicas", words)])

    async def cancel(self, workloads: list[int], reason: str) -> None:
        """Returns when every task of them has ended or was told to stop, and that is durable. Other events have their
        turn in between."""
        ended = [id_ for id_ in workloads if id_ not in self._questions.workloads]
        if ended:
            raise Conflict(f"workload {ended[0]} is already finished")
        await asyncio.gather(*[self._apply([CancelAsked(id_, reason)]) for id_ in workloads])
        while self._questions.workloads.any_ending(workloads):
            await self._apply([])  # one more turn
