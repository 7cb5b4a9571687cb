"""Resolves the names in a workload's `after` to the ids of the workloads it depends on.

Guarantees: names are resolved in the workload's namespace, first among the workloads submitted with it, then among live
ones, then among finished ones. A cycle is refused with all its names. A dependency that has finished is satisfied or
refused, never waited for. Left to others: releasing dependents (`release_dependents`), and workloads that finished too
long ago for the engine to remember (the store knows them).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dovetail.engine.state.engine_state import EngineState
from dovetail.model.task import WorkloadState
from dovetail.model.workloads.workload import Condition, Workload

Key = tuple[str, str]  # namespace, name
Ended = Mapping[Key, tuple[int, WorkloadState]]
After = tuple[tuple[int, Condition], ...]

_FIRST = "submit it before, or in the same file"
_ENDED = {WorkloadState.FAILED: "has failed", WorkloadState.CANCELLED: "was cancelled"}


class CircularWait(ValueError):
    """Workloads that depend on each other. `first` is the one whose `after` closes the cycle."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"these wait for each other and could never start: {' -> '.join(names)}")
        self.first = names[0]


@dataclass(frozen=True, slots=True)
class Unmet:
    """An invalid entry of `after`, and why."""

    index: int
    message: str


def key_of(spec: Workload) -> Key:
    return spec.namespace, spec.name


def names_outside(specs: Sequence[Workload]) -> set[Key]:
    """Names in `after` that are not among the workloads themselves."""
    named = {(spec.namespace, after.workload) for spec in specs for after in spec.after}
    return named - set(map(key_of, specs))


def in_order(specs: Sequence[Workload]) -> list[int]:
    """Their indices in dependency order, otherwise as given. Raises CircularWait."""
    if not any(spec.after for spec in specs):
        return list(range(len(specs)))
    place = {key_of(spec): index for index, spec in enumerate(specs)}
    found: dict[int, None] = {}
    for start in range(len(specs)):
        # Depth-first search without recursion: a chain may be as long as the submission.
        path = {} if start in found else {start: _before(specs[start], place)}
        while path:
            index, rest = next(reversed(path.items()))
            following = next(rest, None)
            if following is None:
                del path[index]
                found[index] = None
            elif following in path:
                circle = [*path][[*path].index(following) :]
                raise CircularWait([specs[i].name for i in (*circle, following)])
            elif following not in found:
                path[following] = _before(specs[following], place)
    return list(found)


def _before(spec: Workload, place: Mapping[Key, int]) -> Iterator[int]:
    return iter([place[key] for after in spec.after if (key := (spec.namespace, after.workload)) in place])


def resolve(
    state: EngineState, spec: Workload, together: Mapping[Key, int], ended_before: Ended, now: float
) -> tuple[After, list[Unmet]]:
    """The ids it depends on, and the invalid entries. `together`: ids of workloads submitted with it; `ended_before`:
    what the store knows about finished workloads that the engine may have forgotten."""
    wanted: dict[int, Condition] = {}
    unmet: list[Unmet] = []
    for index, after in enumerate(spec.after):
        key = (spec.namespace, after.workload)
        found = (together[key], WorkloadState.PENDING) if key in together else _known(state, key, now)
        found = found or ended_before.get(key)
        if found is None:
            unmet.append(Unmet(index, f"no workload {after.workload!r} in namespace {spec.namespace!r}; {_FIRST}"))
            continue
        id_, how = found
        if not how.finished:
            if wanted.get(id_) is not Condition.SUCCEEDED:  # named twice, the stricter condition counts
                wanted[id_] = after.condition
        elif after.condition is Condition.SUCCEEDED and how is not WorkloadState.SUCCEEDED:
            words = f"{after.workload} {_ENDED[how]} (workload {id_}), so it can no longer succeed"
            unmet.append(Unmet(index, f"{words}; submit it again, or write condition: finished"))
    return tuple(wanted.items()), unmet


def _known(state: EngineState, key: Key, now: float) -> tuple[int, WorkloadState] | None:
    """The newest workload of that name that the engine remembers, and its state. A workload that finished since the
    last `take_changes` is still in the directory, but its dependents were released already."""
    live = state.cluster.placements.directory.get(key)
    if live is None:
        return state.ended.get(key)
    work = state.work[live[0]]
    return work.id, WorkloadState.RUNNING if work.done < work.replicas else work.record(now).state
