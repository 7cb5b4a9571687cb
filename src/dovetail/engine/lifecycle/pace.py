"""How work fared on the nodes it ran on: as quickly as such work usually does, slower, or not to the end.

A task that ended well took so many times as long as other runs of its kind (`queueing.usual_times`). One that was lost
with its node counts as `BADLY_SLOW`: its work has to be done again. A task that was stopped, or that failed by itself,
says nothing about the pace of its node; that it failed is counted elsewhere. Nor does one that could not be started:
often that is its own fault, and a node on which it happens again and again is quarantined.
Guarantees: one observation moves the mean of a node by a bounded amount. Leaves to others: what is made of it
(`placement.track_record`).
"""

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.task import TaskId

BADLY_SLOW = 4.0
"""Times as long as usual. No task counts as slower, nor as quicker than the inverse: what is usual is only known
roughly, and one odd run must not outweigh ten others."""


def kind_of(state: EngineState, work: Work) -> str:
    """Work that takes about as long: of one owner, asking for the same, and of one size where it runs as one."""
    terms, shape = work.terms, work.terms.shape
    size = work.replicas if terms.gang_min else 1
    amounts = ",".join([f"{name}={amount}" for name, amount in shape.amounts])
    return f"{state.owner(work)} {shape.service or ''} {terms.run_s} {size} {amounts}"


def ended_well(state: EngineState, work: Work, task: TaskId, node: str, took_s: float) -> None:
    """The task ran to its end."""
    kind, run = kind_of(state, work), str(work.id) if work.terms.gang_min else str(task)
    slowdown = state.learned.usual_times.slowdown(kind, run, took_s)
    state.learned.usual_times.finished(kind, run, took_s)
    if slowdown is not None:
        state.note_pace(node, min(max(slowdown, 1.0 / BADLY_SLOW), BADLY_SLOW))


def lost_there(state: EngineState, node: str) -> None:
    """A task did not end, and not because anybody wanted that: its node lost it."""
    state.note_pace(node, BADLY_SLOW)
