"""Notes in the decisions about a gang, and the estimate of its communication time that one of them tells."""

from collections.abc import Iterable, Sequence

from dovetail.engine.state.engine_state import EngineState
from dovetail.placement.network_cost.communication import Estimate
from dovetail.placement.pipeline.pipeline import Choice


def estimate_for(state: EngineState, rows: Sequence[int]) -> Estimate | None:
    """For tasks on these rows in order of rank. None for one node, and where the topology is not known."""
    if len(set(rows)) < 2 or not state.communication.is_known:
        return None
    return state.communication.estimate(rows)


def add_notes(choices: Iterable[Choice], notes: tuple[str, ...]) -> None:
    """Add notes to each explanation once: tasks of one node may share one."""
    for explanation in {id(choice.explanation): choice.explanation for choice in choices}.values():
        explanation.notes = (*explanation.notes, *notes)
