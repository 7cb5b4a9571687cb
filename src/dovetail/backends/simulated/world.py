"""The simulated world: nodes and attempts, what happens to them, and the reports about it.

Pure: time is an argument, randomness comes from the seed, and nothing waits. `advance` processes everything that is
due and returns the reports in order; the owner of the clock calls it at `next_due`. One heap holds all future steps,
so an attempt costs a few microseconds at any scale.

Guarantees: a key is started at most once, and never after it was stopped; reports of one key are in order, the end
last. The world remembers the last `REMEMBERED` ended keys; older ones are unknown. It does not check capacity: a node
accepts whatever is bound to it.
"""

import heapq
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from dovetail.backends.contract import Assignment, LogChunk, Phase, Refusal, Status
from dovetail.backends.simulated.attempt import SimulatedAttempt, line_starts, read_log
from dovetail.backends.simulated.rehearsal import chances, exponential, rehearse
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.model.command import task_of_key
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, NodeLeft, NodeObserved, TaskFinished, TaskStarted
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node
from dovetail.model.resources import SLOTS, Amounts

REMEMBERED = 10_000  # of more than a kilobyte each; the store knows those that ended longer ago
HOUR_S = 3600.0
RUNS = {"running": True}
FEW_STALE = 1000  # with fewer stale entries the heap is not cleaned


@dataclass(slots=True, eq=False)
class _Place:
    """A node and the attempts on it."""

    node: Node
    attempts: dict[str, SimulatedAttempt] = field(default_factory=dict)
    down: bool = False
    failures: int = 0
    observations: int = 0
    runs_at: float | None = None  # of a node that was launched for work: when it runs
    left: bool = False

    @property
    def is_offered(self) -> bool:
        """It does not run, and is launched when work is bound to it."""
        offer = self.node.offer
        return self.runs_at is None and offer is not None and not offer.running


class World:
    def __init__(
        self, settings: SimulatedSettings, nodes: Iterable[Node], now: float, remembered: int = REMEMBERED
    ) -> None:
        self._settings = settings
        self._remembered = remembered
        self._places = {node.name: _Place(node) for node in nodes}
        self._live: dict[str, SimulatedAttempt] = {}
        self._ended: OrderedDict[str, SimulatedAttempt] = OrderedDict()
        self._reports: deque[Event] = deque()
        self._agenda: list[tuple[float, int, Callable[[Any, float], None], Any]] = []
        self._launched = 0
        self._planned = 0  # entries of the same time are processed in the order of planning
        self._stale = 0
        for place in self._places.values():
            self._plan_failure(place, now)
            self._plan_observation(place, now)

    # What the control plane asks.

    def introduce(self) -> list[Event]:
        """All nodes, their health and the running attempts, for a new listener."""
        found: list[Event] = []
        for place in self._places.values():
            found.append(NodeJoined(place.node))
            if place.down:
                found.append(NodeHealthChanged(place.node.name, online=False, reason="simulated failure"))
        found.extend(TaskStarted(attempt.task, attempt.key) for attempt in self._live.values() if attempt.runs)
        return found

    def bind(self, assignment: Assignment, now: float) -> float:
        """Accept the attempt; returns the time when that is confirmed. Raises Refusal."""
        key, past = assignment.key, self._ended.get(assignment.key)
        if past is not None and past.end is not None and past.end.exit_code is None:
            raise Refusal(f"{key} has ended ({past.end.reason}) and is not started again; bind a new attempt")
        if key in self._live or self._repeat_end(key):
            return now
        place = self._places.get(assignment.node)
        if place is None:
            raise Refusal(f"there is no simulated node {assignment.node!r}")
        if place.down:
            raise Refusal(f"{assignment.node} is down: simulated failure", FailureCause.NODE)
        attempt = self._admit(assignment, place)
        assert attempt.fate is not None
        accepted_at = now + attempt.fate.bind_delay_s
        if place.is_offered:
            self._launch(place, accepted_at)
        runs_at = accepted_at if place.runs_at is None else max(accepted_at, place.runs_at)
        self._plan(runs_at + attempt.fate.start_delay_s, self._begin, attempt)
        return accepted_at

    def stop(self, key: str, reason: str, now: float) -> None:
        """Stop the attempt. A running one is killed after its grace period, unless it ends before; the end of an ended
        one is reported again."""
        attempt = self._live.get(key)
        if attempt is None or not attempt.runs or not attempt.grace_s:
            self.lose(key, reason, now)
        elif attempt.stop_reason is None:
            attempt.stop_reason = reason
            self._plan(now + attempt.grace_s, self._kill, attempt)

    def lose(self, key: str, reason: str, now: float) -> None:
        """End the attempt now, as if its node failed."""
        if self._repeat_end(key):
            return
        attempt = self._live.get(key)
        if attempt is None:
            attempt = SimulatedAttempt(key, task_of_key(key), "", "", [], None, None)
        self._cut_short(attempt, reason, now)

    def move(self, key: str, node: str) -> None:
        """To another node, while it runs. Raises Refusal."""
        attempt, place = self._live.get(key), self._places.get(node)
        if attempt is None or not attempt.runs or place is None or place.down:
            raise Refusal(f"{key} does not run, or {node} cannot take it")
        del self._places[attempt.node].attempts[key]
        place.attempts[key] = attempt
        attempt.node = node

    def reconcile(self, assignments: Iterable[Assignment], now: float) -> None:
        """Report the state of each again. An unknown attempt was bound before this world existed: it is assumed to
        run, and its run time begins again."""
        for assignment in assignments:
            key = assignment.key
            place = self._places.get(assignment.node)
            if self._repeat_end(key):
                continue
            if (attempt := self._live.get(key)) is not None:
                if attempt.runs:
                    self._reports.append(TaskStarted(attempt.task, key))
            elif place is None or place.down:
                lost = SimulatedAttempt(key, assignment.task, assignment.node, assignment.spec.name, [], None, None)
                self._cut_short(lost, f"simulated node {assignment.node} is {'gone' if place is None else 'down'}", now)
            else:
                self._plan(now, self._begin, self._admit(assignment, place))

    def adopt(self, assignment: Assignment, started_at: float | None, now: float) -> None:
        """Take over an attempt of another world: it runs since `started_at`, or starts now. One that has run longer
        than it was thought to runs for another tenth of its time. Raises Refusal for a node that is not there."""
        place = self._places.get(assignment.node)
        if place is None:
            raise Refusal(f"there is no simulated node {assignment.node!r}")
        attempt = self._admit(assignment, place)
        if started_at is None:
            self._plan(now, self._begin, attempt)
            return
        attempt.started_at = started_at
        assert attempt.fate is not None
        if attempt.fate.run_time_s is not None:
            ran_s = now - started_at
            self._plan(now + max(attempt.fate.run_time_s - ran_s, ran_s / 10), self._finish, attempt)

    def status(self, key: str, now: float) -> Status:
        """Raises KeyError for an unknown or forgotten attempt."""
        attempt = self._live.get(key) or self._ended[key]
        if attempt.end is not None:
            return Status(Phase.ENDED, attempt.end.exit_code, attempt.end.reason)
        started = attempt.started_at is not None and attempt.started_at <= now
        return Status(Phase.RUNNING if started else Phase.ACCEPTED, reason=attempt.stop_reason or "")

    def logs(self, key: str, now: float, offset: int, limit: int) -> LogChunk:
        attempt = self._live.get(key) or self._ended.get(key)
        if attempt is None or attempt.fate is None:
            raise KeyError(key)
        return read_log(attempt, now, offset, limit)

    def log_lines(self, key: str, now: float) -> list[tuple[float, int]]:
        """When each line was written and where it begins; last, now and where the next one will."""
        attempt = self._live.get(key) or self._ended.get(key)
        if attempt is None or attempt.fate is None:
            raise KeyError(key)
        return line_starts(attempt, now)

    # The passing of time.

    def next_due(self) -> float:
        """When `advance` has something to do: -inf for now, inf for never."""
        if self._reports:
            return -math.inf
        return self._agenda[0][0] if self._agenda else math.inf

    def advance(self, now: float, most: int) -> list[Event]:
        """Process what is due, at most `most` steps, and return the reports."""
        agenda = self._agenda
        while most > 0 and agenda and agenda[0][0] <= now:
            at, _, act, subject = heapq.heappop(agenda)
            act(subject, at)  # at its own moment, however late the caller is: delays do not add up
            most -= 1
        said = list(self._reports)
        self._reports.clear()
        return said

    def _plan(self, at: float, act: Callable[[Any, float], None], subject: SimulatedAttempt | _Place) -> None:
        self._planned += 1
        heapq.heappush(self._agenda, (at, self._planned, act, subject))

    def _sweep(self) -> None:
        """Drop what attempts that were cut short had still planned, once it is most of the agenda."""
        self._stale += 1
        if self._stale > FEW_STALE and self._stale * 2 > len(self._agenda):
            self._agenda = [entry for entry in self._agenda if not _is_over(entry[3])]
            heapq.heapify(self._agenda)
            self._stale = 0

    # Attempts.

    def _admit(self, assignment: Assignment, place: _Place) -> SimulatedAttempt:
        spec = assignment.spec
        attempt = SimulatedAttempt(
            assignment.key,
            assignment.task,
            assignment.node,
            spec.name,
            spec.run.command,
            rehearse(self._settings.seed, assignment.key, spec, self._settings),
            spec.resources.amounts() if self._settings.observe is not None else None,
            spec.disruption.grace or 0.0,
        )
        self._live[attempt.key] = place.attempts[attempt.key] = attempt
        return attempt

    def _repeat_end(self, key: str) -> bool:
        """Report the end of an ended attempt again. False if it is not one."""
        past = self._ended.get(key)
        if past is None or past.end is None:
            return False
        self._reports.append(past.end)
        return True

    def _begin(self, attempt: SimulatedAttempt, at: float) -> None:
        if attempt.end is not None:
            return
        attempt.started_at = at
        self._reports.append(TaskStarted(attempt.task, attempt.key))
        assert attempt.fate is not None
        if attempt.fate.run_time_s is not None:
            self._plan(at + attempt.fate.run_time_s, self._finish, attempt)

    def _finish(self, attempt: SimulatedAttempt, at: float) -> None:
        if attempt.end is None:
            assert attempt.fate is not None
            self._end(attempt, attempt.fate.exit_code, attempt.fate.reason, at)

    def _kill(self, attempt: SimulatedAttempt, at: float) -> None:
        if attempt.end is None:
            assert attempt.stop_reason is not None
            self._cut_short(attempt, attempt.stop_reason, at)

    def _cut_short(self, attempt: SimulatedAttempt, reason: str, at: float) -> None:
        self._end(attempt, None, reason, at)
        self._sweep()

    def _end(self, attempt: SimulatedAttempt, exit_code: int | None, reason: str, at: float) -> None:
        attempt.ended_at = at
        attempt.end = TaskFinished(attempt.task, attempt.key, exit_code, reason)
        self._reports.append(attempt.end)
        if self._live.pop(attempt.key, None) is not None:
            place = self._places.get(attempt.node)
            if place is not None:
                del place.attempts[attempt.key]
                if place.runs_at is not None and not place.attempts:
                    self._leave(place, "idle: given back")
        self._ended[attempt.key] = attempt
        if len(self._ended) > self._remembered:
            self._ended.popitem(last=False)

    # Nodes.

    def _plan_failure(self, place: _Place, now: float) -> None:
        failures = self._settings.node_failures
        if failures is not None:
            u, *_ = chances(self._settings.seed, f"failure {place.failures} of {place.node.name}")
            self._plan(now + exponential(u, failures.mean_time_between), self._fail, place)

    def _fail(self, place: _Place, at: float) -> None:
        assert self._settings.node_failures is not None
        place.down = True
        place.failures += 1
        name = place.node.name
        self._reports.append(NodeHealthChanged(name, online=False, reason="simulated failure"))
        for attempt in list(place.attempts.values()):
            self._cut_short(attempt, f"its node {name} failed", at)
        self._plan(at + self._settings.node_failures.repair_time, self._repair, place)

    def _repair(self, place: _Place, at: float) -> None:
        place.down = False
        self._reports.append(NodeHealthChanged(place.node.name, online=True, reason="repaired"))
        self._plan_failure(place, at)

    def _launch(self, place: _Place, at: float) -> None:
        """It runs when it has started up; another one is offered in its place."""
        offer = place.node.offer
        assert offer is not None
        place.runs_at = at + offer.start_up
        self._reports.append(NodeJoined(place.node.model_copy(update={"offer": offer.model_copy(update=RUNS)})))
        self._launched += 1
        prefix = place.node.name.rpartition("-")[0]
        another = _Place(place.node.model_copy(update={"name": f"{prefix}-x{self._launched}"}))
        self._places[another.node.name] = another
        self._reports.append(NodeJoined(another.node))
        if 0 < offer.interruption < 1:
            u, *_ = chances(self._settings.seed, f"interruption of {place.node.name}")
            mean_s = -HOUR_S / math.log1p(-offer.interruption)
            self._plan(place.runs_at + exponential(u, mean_s), self._interrupt, place)

    def _interrupt(self, place: _Place, at: float) -> None:
        if not place.left:
            words = f"{place.node.name} was taken back by its owner"
            self._leave(place, words)  # first: what runs there is lost with its node, and is no failure of its own
            for attempt in list(place.attempts.values()):
                self._cut_short(attempt, words, at)

    def _leave(self, place: _Place, reason: str) -> None:
        place.left = True
        del self._places[place.node.name]
        self._reports.append(NodeLeft(place.node.name, reason))

    def _plan_observation(self, place: _Place, now: float) -> None:
        observe = self._settings.observe
        if observe is not None:
            # The first round is spread over the interval, so that reports do not come all at once.
            u, *_ = chances(self._settings.seed, f"first look at {place.node.name}")
            self._plan(now + u * observe.every, self._look, place)

    def _look(self, place: _Place, at: float) -> None:
        observe = self._settings.observe
        assert observe is not None
        if not place.down:
            u, *_ = chances(self._settings.seed, f"look {place.observations} at {place.node.name}")
            place.observations += 1
            share = observe.least_share + u * (observe.most_share - observe.least_share)
            self._reports.append(NodeObserved(place.node.name, _use(place, share)))
        self._plan(at + observe.every, self._look, place)


def _is_over(subject: SimulatedAttempt | _Place) -> bool:
    return isinstance(subject, SimulatedAttempt) and subject.end is not None


def _use(place: _Place, share: float) -> Amounts:
    """The use of the running attempts: a share of their requests, and all of their slots."""
    asked: Amounts = {}
    for attempt in place.attempts.values():
        if attempt.runs and attempt.amounts is not None:
            for resource, amount in attempt.amounts.items():
                asked[resource] = asked.get(resource, 0) + amount
    return {resource: amount if resource == SLOTS else round(amount * share) for resource, amount in asked.items()}
