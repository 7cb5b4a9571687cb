"""The spans of a complete trace, as plain values: names, parents, moments, attributes. Sending them: `exporter`.

submit to running            from the request to the start of the last traced task
├─ POST /api/v1/workloads    the request, if a client sent one
│  ├─ admission              reading, checking and waiting for the turn of the loop
│  └─ durable                writing the submission; the client is answered then
└─ task 0                    one for each of the first tasks
   ├─ queue                  waiting; decisions that found no node are events
   ├─ decision               the turn of the loop that chose the node
   ├─ durable                writing the decision
   ├─ bind                   until the backend has taken it
   └─ start                  until the backend reports that it runs
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from dovetail.control.tracing.open_trace import OpenTrace, TracedTask

ROOT = "submit to running"
REQUEST = "POST /api/v1/workloads"
Attribute = str | int | float | bool


@dataclass(frozen=True, slots=True)
class PlannedSpan:
    """`parent` 0: none. `error`: what went wrong; empty if nothing did."""

    name: str
    trace: int
    id: int
    parent: int
    began_at: float
    ended_at: float
    attributes: dict[str, Attribute] = field(default_factory=dict)
    events: list[tuple[float, str]] = field(default_factory=list)
    error: str = ""
    of_request: bool = False


def root_span(trace: OpenTrace) -> int:
    return trace.identity.span(trace.workload, ROOT)


def task_span(trace: OpenTrace, replica: int) -> int:
    return trace.identity.span(trace.workload, "task", replica)


def spans_of(trace: OpenTrace) -> list[PlannedSpan]:
    """Parents before children; every parent but the client's own is among them."""
    root = root_span(trace)
    children = list(_request(trace, root))
    for task in trace.tasks.values():
        if task.phases or task.done:
            children += _task(trace, task, root)
    began_at = trace.submitted_at if trace.requested_at is None else trace.requested_at
    ends = [began_at, *(span.ended_at for span in children)]
    ended_at = max(ends if trace.ended_at is None else [*ends, trace.ended_at])
    attributes: dict[str, Attribute] = {
        "dovetail.workload.id": trace.workload,
        "dovetail.workload.name": trace.name,
        "dovetail.namespace": trace.namespace,
        "dovetail.kind": trace.kind,
        "dovetail.queue": trace.queue,
        "dovetail.replicas": trace.replicas,
    }
    error = trace.outcome or next((task.outcome for task in trace.tasks.values() if task.outcome), "")
    top = PlannedSpan(ROOT, trace.trace, root, trace.parent, began_at, ended_at, attributes, error=error)
    return [top, *children]


def _request(trace: OpenTrace, root: int) -> Iterator[PlannedSpan]:
    """Without a request, the writing alone, if it is known."""
    identity, parent = trace.identity, root
    durable_at = max(trace.submitted_at, trace.durable_at or trace.submitted_at)
    if trace.requested_at is not None:
        parent = identity.span(trace.workload, REQUEST)
        attributes: dict[str, Attribute] = {
            "http.request.method": "POST",
            "http.route": "/api/v1/workloads",
            "http.response.status_code": 201,
        }
        began_at = trace.requested_at
        yield PlannedSpan(REQUEST, trace.trace, parent, root, began_at, durable_at, attributes, of_request=True)
        admission = identity.span(trace.workload, "admission")
        yield PlannedSpan("admission", trace.trace, admission, parent, began_at, trace.submitted_at)
    if trace.durable_at is not None:
        durable = identity.span(trace.workload, "durable")
        yield PlannedSpan("durable", trace.trace, durable, parent, trace.submitted_at, durable_at)


def _task(trace: OpenTrace, task: TracedTask, root: int) -> Iterator[PlannedSpan]:
    own = task_span(trace, task.replica)
    attributes: dict[str, Attribute] = {"dovetail.replica": task.replica, "dovetail.attempt": task.attempt}
    name = f"task {task.replica}"
    yield PlannedSpan(name, trace.trace, own, root, trace.submitted_at, task.reached_at, attributes, error=task.outcome)
    for number, phase in enumerate(task.phases):
        id_ = trace.identity.span(trace.workload, "task", task.replica, number)
        given: dict[str, Attribute] = {"dovetail.attempt": phase.attempt}
        given |= {f"dovetail.{key}": value for key in ("node", "backend") if (value := getattr(phase, key))}
        yield PlannedSpan(
            phase.name, trace.trace, id_, own, phase.began_at, phase.ended_at, given, phase.events, phase.error
        )
