"""Notes in the decisions about a gang, and the estimate of its communication time that one of them tells."""

from collections.abc import Iterable, Sequence

from dovetail.engine.state.engine_state import EngineState
from dovetail.model.reason import Explanation
from dovetail.placement.network_cost.communication import Estimate
from dovetail.placement.pipeline.pipeline import Choice


def estimate_for(state: EngineState, rows: Sequence[int]) -> Estimate | None:
    """For tasks on these rows in order of rank. None for one node, and where the topology is not known."""
    if len(set(rows)) < 2 or not state.communication.is_known:
        return None
    return state.communication.estimate(rows)


def add_notes(choices: Iterable[Choice], *notes: str, words: str = "") -> None:
    """To the explanations, and words to their messages. Tasks that share an explanation do so afterwards."""
    told: dict[int, tuple[Explanation, Explanation]] = {}
    for choice in choices:
        before = choice.explanation
        if id(before) not in told:
            told[id(before)] = before, before.with_notes(*notes, words=words)
        choice.explanation = told[id(before)][1]
