"""What has to hold after any number of kills, from the commands' own record, the client's and the server's answers.

Each rule is a function that yields one sentence for each thing that is wrong. A task may fail without its own fault
only if somebody killed the supervisor of its attempt: that is `Evidence.struck`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.kills.client_record import ClientRecord, Outcome, SentWorkload
from tests.e2e.kills.command_record import CommandLine

CLOCK_S = 0.02
"""Times of commands are up to 10 ms too early; so much may two clocks differ."""
_ENDED = ("succeeded", "failed", "cancelled")
_STATES = {
    Outcome.SUCCEEDS: "succeeded",
    Outcome.OVERRUNS: "failed",
    Outcome.CANCELLED: "cancelled",
    Outcome.NEVER_FITS: "failed",
}


@dataclass(frozen=True)
class Evidence:
    """`workloads`, `tasks`: what the server says at the end, by id. `placed_at`: when attempts of cancelled workloads
    got a node, by key. `struck`: keys of attempts whose supervisors were killed."""

    commands: Sequence[CommandLine]
    client: ClientRecord
    workloads: Mapping[int, Any]
    tasks: Mapping[int, Sequence[Any]]
    placed_at: Mapping[str, float] = field(default_factory=dict)
    struck: frozenset[str] = frozenset()

    def struck_workload(self, workload: int) -> bool:
        return any(key.startswith(f"{workload}.") for key in self.struck)


Rule = Callable[[Evidence], Iterable[str]]


def audit(found: Evidence) -> list[str]:
    return [f"{rule.__name__}: {words}" for rule in RULES for words in rule(found)]


def what_was_acknowledged_exists(found: Evidence) -> Iterator[str]:
    for workload, name in found.client.acknowledged.items():
        if workload not in found.workloads:
            yield f"{name} was accepted as {workload}, and the server does not know it"
        elif found.workloads[workload]["name"] != name:
            yield f"{name} was accepted as {workload}, which is now {found.workloads[workload]['name']}"


def nothing_is_accepted_twice(found: Evidence) -> Iterator[str]:
    for name, count in Counter(row["name"] for row in found.workloads.values()).items():
        if count > 1:
            yield f"{name} was sent once and exists {count} times"
        if name not in found.client.sent:
            yield f"{name} exists and was never sent"


def answers_are_right(found: Evidence) -> Iterator[str]:
    yield from found.client.wrong_answers


def an_attempt_begins_once(found: Evidence) -> Iterator[str]:
    for key, count in Counter(line.key for line in found.commands if line.what == "begin").items():
        if count > 1:
            yield f"attempt {key} began {count} times"


def attempts_of_a_task_do_not_overlap(found: Evidence) -> Iterator[str]:
    newest: dict[str, int] = {}
    for line in found.commands:
        if line.attempt < newest.get(line.task, 0):
            yield f"attempt {line.key} wrote {line.what!r} after attempt {newest[line.task]} had begun"
        newest[line.task] = max(line.attempt, newest.get(line.task, 0))


def only_what_exists_runs(found: Evidence) -> Iterator[str]:
    for key in dict.fromkeys(line.key for line in found.commands):
        workload, replica, attempt = map(int, key.split("."))
        known = {task["replica"]: task["attempt"] for task in found.tasks.get(workload, ())}
        if attempt > known.get(replica, 0):
            yield f"attempt {key} ran, and the server knows no such attempt"


def what_succeeded_ran_to_its_end(found: Evidence) -> Iterator[str]:
    lines = _lines_by_key(found.commands)
    for task, key in _tasks(found):
        if task["state"] == "succeeded":
            missing = [what for what in ("begin", "end") if what not in lines[key]]
            if missing:
                yield f"attempt {key} succeeded and never wrote {' or '.join(missing)}"


def everything_ends(found: Evidence) -> Iterator[str]:
    for workload, row in found.workloads.items():
        if row["state"] not in _ENDED:
            yield f"{row['name']} ({workload}) is still {row['state']}: {row['message']}"
    for task, key in _tasks(found):
        if task["state"] not in _ENDED:
            yield f"attempt {key} is still {task['state']}: {task['message']}"


def everything_ends_as_it_should(found: Evidence) -> Iterator[str]:
    for workload, row in found.workloads.items():
        sent, state = found.client.sent.get(row["name"]), row["state"]
        if sent is None or workload in found.client.cancel_sent or found.struck_workload(workload):
            continue
        wanted = _STATES[sent.outcome]
        if state in _ENDED and state != wanted:
            why = "; ".join({task["message"] for task in found.tasks[workload] if task["state"] == state})
            yield f"{row['name']} ({workload}) should have {wanted}, and {state}: {why or row['message']}"


def what_is_cancelled_ends_as_cancelled(found: Evidence) -> Iterator[str]:
    """Unless it ended by itself before. A client that got no answer does not know whether its cancel arrived."""
    for workload, row in found.workloads.items():
        sent, state = found.client.sent.get(row["name"]), row["state"]
        if state == "cancelled" and workload not in found.client.cancel_sent:
            yield f"{row['name']} ({workload}) is cancelled, and nobody asked for that"
        elif sent is None or workload not in found.client.cancelled_at or found.struck_workload(workload):
            continue
        elif state in _ENDED and state not in _right_states_of_cancelled(sent):
            yield f"{sent.name} ({workload}) was cancelled, and {state}"


def _right_states_of_cancelled(sent: SentWorkload) -> set[str]:
    return {"cancelled", _STATES[sent.outcome], *(["failed"] if sent.fails_first else [])}


def what_cannot_end_by_itself_never_does(found: Evidence) -> Iterator[str]:
    for line in found.commands:
        sent = found.client.sent.get(found.workloads.get(line.workload, {}).get("name", ""))
        if sent is None:
            continue
        if sent.outcome is Outcome.NEVER_FITS:
            yield f"{sent.name} fits nowhere, and attempt {line.key} wrote {line.what!r}"
        if sent.outcome in (Outcome.OVERRUNS, Outcome.CANCELLED) and line.what == "end":
            yield f"{sent.name} should have been stopped, and attempt {line.key} ran to its end"


def cancelled_work_does_not_start(found: Evidence) -> Iterator[str]:
    """An attempt that had its node before may still begin while it is stopped; no later one may."""
    for line in found.commands:
        cancelled_at = found.client.cancelled_at.get(line.workload)
        placed_at = found.placed_at.get(line.key)
        if line.what != "begin" or cancelled_at is None:
            continue
        if placed_at is None:
            yield f"attempt {line.key} of cancelled work began, and the server does not know when it was placed"
        elif placed_at > cancelled_at:
            after_s = placed_at - cancelled_at
            yield f"attempt {line.key} began; it was placed {after_s:.3f} s after the cancel was acknowledged"


def what_ended_stays_ended(found: Evidence) -> Iterator[str]:
    for workload, seen in found.client.seen_ended.items():
        state = found.workloads.get(workload, {}).get("state")
        if state != seen.state:
            yield f"workload {workload} had {seen.state}, and later {state}"
    for line in found.commands:
        end = found.client.seen_ended.get(line.workload)
        if end is not None and line.at > end.at + CLOCK_S:
            yield f"attempt {line.key} wrote {line.what!r} {line.at - end.at:.3f} s after workload {end.state}"


RULES: Sequence[Rule] = (
    what_was_acknowledged_exists,
    nothing_is_accepted_twice,
    answers_are_right,
    an_attempt_begins_once,
    attempts_of_a_task_do_not_overlap,
    only_what_exists_runs,
    what_succeeded_ran_to_its_end,
    everything_ends,
    everything_ends_as_it_should,
    what_is_cancelled_ends_as_cancelled,
    what_cannot_end_by_itself_never_does,
    cancelled_work_does_not_start,
    what_ended_stays_ended,
)


def _lines_by_key(commands: Iterable[CommandLine]) -> defaultdict[str, set[str]]:
    lines: defaultdict[str, set[str]] = defaultdict(set)
    for line in commands:
        lines[line.key].add(line.what)
    return lines


def _tasks(found: Evidence) -> Iterator[tuple[Any, str]]:
    """Each task with the key of its latest attempt."""
    for workload, tasks in found.tasks.items():
        for task in tasks:
            yield task, f"{workload}.{task['replica']}.{task['attempt']}"
