"""What a gang's place means for its communication, said where the place is: a note in each of its decisions.

Only of tasks on more than one node, and only where somebody says where nodes are in the network; it is an estimate by
`placement.communication`, and decides nothing here.
"""

from collections.abc import Sequence

from dovetail.engine.state.engine_state import EngineState
from dovetail.placement.network_cost.communication import Estimate
from dovetail.placement.pipeline.pipeline import Choice


def estimate_for(state: EngineState, rows: Sequence[int]) -> Estimate | None:
    """Of tasks on these rows in order of rank; None where it would say nothing."""
    if len(set(rows)) < 2 or not state.communication.is_known:
        return None
    return state.communication.estimate(rows)


def note_communication(state: EngineState, choices: Sequence[Choice]) -> None:
    """To what was decided for the tasks of a gang, in order of rank."""
    found = estimate_for(state, [choice.row for choice in choices if choice.row is not None])
    if found is not None:
        add_notes(choices, (str(found),))


def add_notes(choices: Sequence[Choice], notes: tuple[str, ...]) -> None:
    """To each decision once: tasks of one node may share one explanation."""
    for explanation in {id(choice.explanation): choice.explanation for choice in choices}.values():
        explanation.notes = (*explanation.notes, *notes)
