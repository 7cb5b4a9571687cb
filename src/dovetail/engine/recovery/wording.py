"""Texts about a recovery: for the history, the workload's message and the placement decision."""

from dovetail.cluster.network.distance import LEVELS
from dovetail.cluster.network.domains import domain_codes, level_column
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.recovery import RecoveryNote
from dovetail.model.requests.asks import Layout
from dovetail.model.text.listing import first_of

_NAMED = 3
RECOVERING = "recovering"


def levels_of(state: EngineState, work: Work) -> list[str]:
    """Topology levels at which tasks of a gang can share a domain, widest first."""
    layout = work.shape.layout or Layout()
    found = dict.fromkeys((*LEVELS, *layout.levels))
    return [level for level in found if level_column(state.cluster, level) is not None]


def describe_proximity(state: EngineState, work: Work, row: int, others: list[int]) -> str:
    """`same leaf as 7 of its 8 others`, at the narrowest level that the row shares with any of them, or nothing."""
    shared = []
    for level in levels_of(state, work):
        codes = domain_codes(state.cluster, level)
        count = sum(int(codes[other] == codes[row]) for other in others)
        if count:
            shared.append((int((codes == codes[row]).sum()), count, level))
    if not shared:
        return ""
    _, count, level = min(shared)
    if len(others) == 1:
        return f"same {level} as the other"
    whom = f"all {len(others)}" if count == len(others) else f"{count} of its {len(others)}"
    return f"same {level} as {whom} others"


def describe_replacements(work: Work) -> str:
    """The new nodes of the lost tasks, and how close they are to the others."""
    assert work.recovery is not None
    by_words: dict[str, list[str]] = {}
    for replica in work.recovery.lost:
        node = work.task(replica).node
        if node is not None:
            by_words.setdefault(work.recovery.proximity.get(replica, ""), []).append(node)
    parts = [f"{first_names(nodes)}{f' ({words})' if words else ''}" for words, nodes in by_words.items()]
    return f": replaced on {', '.join(parts)}" if parts else ""


def describe_losses(work: Work) -> str:
    assert work.recovery is not None
    lost = work.recovery.lost
    return f"lost {len(lost)} of {work.replicas} on {first_names(sorted(lost.values()))}"


def first_names(found: list[str]) -> str:
    return first_of(list(dict.fromkeys(found)), most=_NAMED)


def record_note(
    state: EngineState, work: Work, outcome: str, message: str, moved: int = 0, took_s: float | None = None
) -> None:
    lost = 0 if work.recovery is None else len(work.recovery.lost)
    state.recoveries.notes.append(RecoveryNote(work.id, outcome, message, lost, moved, took_s))
