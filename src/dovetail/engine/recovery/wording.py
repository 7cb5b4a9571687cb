"""What is said about a recovery: in the history, in the message of the workload, in the decision about a task."""

from dovetail.cluster.network.distance import LEVELS
from dovetail.cluster.network.domains import domain_codes, level_column
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.recovery import RecoveryNote
from dovetail.model.requests.asks import Layout

_NAMED = 3
RECOVERING = "recovering"


def levels_of(state: EngineState, work: Work) -> list[str]:
    """The levels by which tasks of a gang can be near each other, widest first."""
    layout = work.shape.layout or Layout()
    found = dict.fromkeys((*LEVELS, *layout.levels))
    return [level for level in found if level_column(state.cluster, level) is not None]


def nearness_words(state: EngineState, work: Work, row: int, others: list[int]) -> str:
    """Why a row is a good one: "same leaf as 7 of its 8 others", by the narrowest level that it has in common with any;
    empty where there is none, or nobody to be near."""
    if not others:
        return ""
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
    return (
        f"same {level} as all {len(others)} others"
        if count == len(others)
        else (f"same {level} as {count} of its {len(others)} others")
    )


def replaced_words(work: Work) -> str:
    """Where those that were lost are now, and what speaks for it."""
    assert work.recovery is not None
    by_words: dict[str, list[str]] = {}
    for replica in work.recovery.lost:
        node = work.task(replica).node
        if node is not None:
            by_words.setdefault(work.recovery.near.get(replica, ""), []).append(node)
    parts = [f"{names(nodes)}{f' ({words})' if words else ''}" for words, nodes in by_words.items()]
    return f": replaced on {', '.join(parts)}" if parts else ""


def what_was_lost(work: Work) -> str:
    assert work.recovery is not None
    lost = work.recovery.lost
    nodes = sorted(set(lost.values()))
    return f"lost {len(lost)} of {work.replicas} on {names(nodes)}"


def names(found: list[str]) -> str:
    distinct = list(dict.fromkeys(found))
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return ", ".join(distinct[:_NAMED]) + more


def note(
    state: EngineState, work: Work, outcome: str, message: str, moved: int = 0, took_s: float | None = None
) -> None:
    lost = 0 if work.recovery is None else len(work.recovery.lost)
    state.recoveries.notes.append(RecoveryNote(work.id, outcome, message, lost, moved, took_s))
