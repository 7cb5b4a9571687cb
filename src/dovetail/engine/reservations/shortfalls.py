"""Describes a shortfall for users: which resource a node lacks, how much, when, and who uses it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dovetail.engine.reservations.windows import Window, overlapping
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.record import ReservationRecord
from dovetail.model.resources import show_amount
from dovetail.model.text.listing import first_of
from dovetail.model.text.moment import show_time

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Shortfall:
    """From `at` on, a node has less of a resource (its row in the table) than is wanted."""

    row: int
    resource: int
    wanted: float
    left: float
    at: float


def describe_shortfall(
    state: EngineState, record: ReservationRecord, short: Shortfall, windows: Sequence[Window]
) -> str:
    """`node 'n1' lacks 2 of cpu at 2026-12-01T08:00:00Z: 4 wanted, 2 left, because of train (workload 7, …)`."""
    cluster = state.cluster
    resource = cluster.resources.names[short.resource]
    node = cluster.names[short.row]
    missing, wanted = show_amount(resource, short.wanted - short.left), show_amount(resource, short.wanted)
    left = show_amount(resource, max(0.0, short.left))
    words = f"node {node!r} lacks {missing} of {resource} at {show_time(short.at)}: {wanted} wanted, {left} left"
    users = sorted(_users_of(state, record, short, windows), key=lambda taker: -taker[0])
    if not users:
        most = float(cluster.resources.schedulable[short.resource, short.row])
        return f"{words}; it never has more than {show_amount(resource, most)}"
    return f"{words}, because of {first_of([name for _, name in users], _NAMED)}"


def _users_of(
    state: EngineState, record: ReservationRecord, short: Shortfall, windows: Sequence[Window]
) -> Iterator[tuple[float, str]]:
    """(amount, name) of each workload and reservation that uses the resource on the node at that moment."""
    taken: dict[int, tuple[float, float | None]] = {}
    placements = state.cluster.placements
    for task in placements.by_row[short.row]:
        placement, end = placements.by_task[task], state.ends.at(task)
        uses = float(placement.column[short.resource]) if short.resource < len(placement.column) else 0.0
        own = record.tenant is not None and placement.victim_info.namespace == record.tenant
        if uses and not own and (end is None or end > short.at):
            amount, until = taken.get(task.workload, (0.0, 0.0))
            latest = None if end is None or until is None else max(end, until)
            taken[task.workload] = (amount + uses, latest)
    for id_, (amount, until) in taken.items():
        ends = "no known end" if until is None else f"until {show_time(until)}"
        yield amount, f"{state.work[id_].name} (workload {id_}, {ends})"
    resource = state.cluster.resources.names[short.resource]
    for other in state.reservations.values():
        amounts = other.holds.get(state.cluster.names[short.row], {})
        moment = [
            window for mine in windows for window in overlapping(other, mine) if window.start <= short.at < window.end
        ]
        if other.id != record.id and moment and resource in amounts:
            yield float(amounts[resource]), reservation_name(other)


def reservation_name(record: ReservationRecord) -> str:
    """For messages: `reservation 3 for research (ops)`."""
    tenant = f" for {record.tenant}" if record.tenant is not None else ""
    return f"reservation {record.id}{tenant}{f' ({record.holder})' if record.holder else ''}"
