"""Committing placements of one workload: capacity is allocated, the task is placed, and a Bind command is issued.

What is the same for all tasks of the workload is computed once, and usage is charged in one sum.
"""

from collections import Counter
from collections.abc import Iterable
from heapq import heappop

from dovetail.cluster.horizon import NEVER
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.command import Bind, Command, GangStart, attempt_key
from dovetail.model.device import describe_slots
from dovetail.model.record import Decision
from dovetail.model.task import TaskId, TaskState
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import Choice


class GangStarts:
    """The tasks of a gang that are placed together: those on the same backend start together."""

    def __init__(self, state: EngineState, rows: Iterable[int]) -> None:
        cluster = state.cluster
        self._tasks = Counter(cluster.status.backend_of(row) for row in rows)
        self._starts: dict[str, GangStart] = {}

    def start_of(self, backend: str, key: str) -> GangStart | None:
        """None for one that is alone there."""
        if self._tasks[backend] == 1:
            return None
        start = self._starts.get(backend)
        if start is None:
            start = self._starts[backend] = GangStart(key, self._tasks[backend])
        return start


class PlacementCommitter:
    """`take` each choice in turn, then `close`."""

    def __init__(
        self,
        state: EngineState,
        work: Work,
        request: Request,
        now: float,
        commands: list[Command],
        starts: "GangStarts | None" = None,
    ) -> None:
        self.made = 0
        self._starts = starts
        self._state = state
        self._work = work
        self._request = request
        self._now = now
        self._commands = commands
        self._pipeline = state.pipelines[work.shape.profile]
        self._service = work.shape.service_key
        self._victim_info = state.victim_info(work, now)
        run_s = state.expected_s(work)
        self._end = None if run_s is None else now + run_s

    def take(self, choice: Choice) -> None:
        """Place the next pending task on the chosen node."""
        row = choice.row
        assert row is not None
        state, work, now = self._state, self._work, self._now
        cluster, column = state.cluster, self._request.column
        replica = heappop(work.waiting)
        task = TaskId(work.id, replica)
        live = work.task(replica)
        before = cluster.changes
        gpus = self._request.shape.gpus
        slots = cluster.place(task, row, column, self._service, self._victim_info, work.identity, gpus, choice.slots)
        self._pipeline.placed(self._request, row)
        if slots:
            state.learned.mix.record_placement()
        if self._end is not None:
            state.ends.set(task, self._end)
        if state.promises:
            state.promises.placed(row, column, NEVER if self._end is None else self._end, now, before)
        node = cluster.names[row]
        backend = cluster.status.backend_of(row)
        live.attempt += 1
        live.node, live.backend, live.placed_at, live.devices = node, backend, now, slots
        explanation = choice.explanation
        if slots:
            explanation = explanation.with_notes(describe_slots(slots, node))
        work.move(live, TaskState.PLACED, "placed", f"placed on {node}")
        state.changes.decisions.append(Decision(task, live.attempt, now, node, explanation))
        state.changes.touch_task(task)
        key = attempt_key(task, live.attempt)
        gang = None if self._starts is None else self._starts.start_of(backend, key)
        if work.nominated == node and not state.cluster.offers.running[row]:
            work.nominated = ""  # the node was to be launched for this attempt
        self._commands.append(Bind(task, node, backend, key, slots, gang))
        self.made += 1

    def close(self) -> int:
        """Charge what was placed. Returns how many tasks that were."""
        if self.made:
            self._state.wake.event_count += 1
            self._work.reason = self._work.message = ""
            self._work.displacing, self._work.failed_preemptions = False, 0
            self._state.charge(self._work, self.made, self._now)
            if self._state.pending.dynamic_orderings:
                self._state.pending.started(self._work, self._now)
        return self.made
