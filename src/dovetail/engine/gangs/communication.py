"""The estimated communication time of a gang where it was placed, as a note in each of its decisions.

Only for tasks on more than one node, and only where the topology is known. The estimate comes from
`placement.network_cost.communication`; it decides nothing here.
"""

from collections.abc import Sequence

from dovetail.engine.state.engine_state import EngineState
from dovetail.placement.network_cost.communication import Estimate
from dovetail.placement.pipeline.pipeline import Choice


def estimate_for(state: EngineState, rows: Sequence[int]) -> Estimate | None:
    """For tasks on these rows in order of rank; None where nothing is known."""
    if len(set(rows)) < 2 or not state.communication.is_known:
        return None
    return state.communication.estimate(rows)


def note_communication(state: EngineState, choices: Sequence[Choice]) -> None:
    """Add the note to the choices for the tasks of a gang, in order of rank."""
    found = estimate_for(state, [choice.row for choice in choices if choice.row is not None])
    if found is not None:
        add_notes(choices, (str(found),))


def add_notes(choices: Sequence[Choice], notes: tuple[str, ...]) -> None:
    """Add notes to each explanation once: tasks of one node may share one."""
    for explanation in {id(choice.explanation): choice.explanation for choice in choices}.values():
        explanation.notes = (*explanation.notes, *notes)
