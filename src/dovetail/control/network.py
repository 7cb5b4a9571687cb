"""The doors of the network: topologies, domains, distances; checked, made durable, and asked about.

Guarantees: what names nodes that nobody knows is refused, or said; changes are durable when a door returns. Left to
others: what a topology means (`cluster.topology`), and how it is shown (`api.topology`).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np

from dovetail.cluster.network.distance import distances_from
from dovetail.cluster.network.domain_table import DomainState
from dovetail.cluster.network.levels import PresentLevel, bandwidth_of, path_between, present_levels, shared_level
from dovetail.cluster.network.path import Path
from dovetail.control.errors import Conflict, NotFound
from dovetail.control.settings import TopologyFile
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.event import DistancesCleared, DistancesSet, Event, TopologySet
from dovetail.model.network.distance_list import MAX_PAIRS
from dovetail.model.network.topology import Topology
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.resources import Amounts
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.listing import first_of
from dovetail.model.text.strict import closest
from dovetail.model.workloads.affinity import HOST


@dataclass(frozen=True, slots=True)
class LevelState:
    """A level that nodes are in, and how many are in none of its domains."""

    present: PresentLevel
    domains: int
    outside: int


@dataclass(frozen=True, slots=True)
class DomainUse:
    """A domain, the wider ones around it (by level, widest first), and its links up in Mbps: what they carry, what is
    held of it, and what is left after that and other traffic."""

    state: DomainState
    around: dict[str, str]
    up_mbps: float
    held_mbps: float
    free_mbps: float
    largest_gang: int | None


@dataclass(frozen=True, slots=True)
class Apart:
    """How far two nodes are from each other: `by_hand` if somebody said so, `level` the narrowest that they share,
    `path` what lies between them as far as that is known."""

    distance: float
    by_hand: bool
    level: str | None
    path: Path | None


def read_topology_file(named: TopologyFile | None) -> Topology | None:
    """What the settings name. Raises Invalid."""
    if named is None:
        return None
    try:
        text = FilePath(named.file).expanduser().read_bytes()
    except OSError as error:
        words = f"cannot be read: {error.strerror}; the settings name it as topology"
        raise Invalid([Complaint(named.file, None, "", words)]) from None
    return read_topology(text, named.file, named.format)


class NetworkDoors:
    """`told` returns when events are durable."""

    def __init__(self, state: EngineState, told: Callable[[list[Event]], Awaitable[None]]) -> None:
        self._state = state
        self._told = told

    # --- topology --------------------------------------------------------------------------------------------

    @property
    def topology(self) -> Topology:
        return self._state.cluster.topology.definition

    async def set_topology(self, topology: Topology) -> None:
        await self._told([TopologySet(topology)])

    def strangers(self) -> list[str]:
        """Hosts that are described and are no nodes."""
        rows = self._state.cluster.rows
        return sorted(host for host in self._state.cluster.topology.hosts if host not in rows)

    def levels(self) -> list[LevelState]:
        """Widest first."""
        cluster, found = self._state.cluster, []
        present = cluster.present[: cluster.width]
        for level in present_levels(cluster):
            codes = level.column.codes[: cluster.width][present]
            found.append(LevelState(level, len(np.unique(codes[codes > 0])), int((codes == 0).sum())))
        return found

    def domains(self, level: str | None = None, task: Amounts | None = None) -> list[DomainUse]:
        """Of one level or of all, widest first; `task`: what one task of a gang would ask for."""
        cluster = self._state.cluster
        levels = present_levels(cluster)
        if level is not None and all(level not in (one.name, one.level.key) for one in levels):
            known = [one.name for one in levels]
            listed = ", ".join(known) or "none"
            raise NotFound(f"no node is in a domain of level {level[:100]!r}.{closest(level, known)} Levels: {listed}")
        found: list[DomainUse] = []
        for depth, one in enumerate(levels):
            if level is None or level in (one.name, one.level.key):
                found += self._domains(one, levels[:depth], task)
        return found

    def _domains(self, level: PresentLevel, wider: Sequence[PresentLevel], task: Amounts | None) -> list[DomainUse]:
        cluster, table = self._state.cluster, self._state.domains
        carried, held, left = bandwidth_of(cluster, level.name)
        gang = None if task is None else table.largest_gang(level.name, {name: float(n) for name, n in task.items()})
        codes = level.column.codes[: cluster.width]
        member = np.full(len(level.column.vocabulary) + 1, -1)
        member[codes[::-1]] = np.arange(cluster.width)[::-1]  # the lowest row of each domain
        found = []
        for state in table.domains(level):
            code = level.column.code_of[state.name]
            row = int(member[code])
            around = {one.name: one.domain(int(one.column.codes[row])) for one in wider if one.column.codes[row]}
            largest = None if gang is None else int(gang[code])
            up = (float(carried[code]), float(held[code]), max(float(left[code]), 0.0))
            found.append(DomainUse(state, around, *up, largest))
        return found

    # --- distances -------------------------------------------------------------------------------------------

    def distances(self) -> list[tuple[str, str, float]]:
        """All that were set by hand."""
        return self._state.cluster.topology.distances.all()

    def apart(self, one: str, other: str) -> Apart:
        self._must_be_known([one, other])
        cluster = self._state.cluster
        rows = [cluster.rows.get(name) for name in (one, other)]
        by_hand = cluster.topology.distances.get(one, other)
        if rows[0] is None or rows[1] is None:
            missing = one if rows[0] is None else other
            raise NotFound(f"{missing!r} is described in the topology, but no node of that name has joined")
        levels = present_levels(cluster)
        met = shared_level(levels, rows[0], rows[1])
        level = HOST if one == other else None if met is None else levels[met].name
        distance = float(distances_from(cluster, rows[0])[rows[1]])
        return Apart(distance, by_hand is not None, level, path_between(cluster, rows[0], rows[1]))

    async def set_distances(self, pairs: Sequence[tuple[str, str, float]]) -> None:
        self._must_be_known([name for one, other, _ in pairs for name in (one, other)])
        kept = self._state.cluster.topology.distances
        if len(kept) + sum(kept.get(one, other) is None for one, other, _ in pairs) > MAX_PAIRS:
            raise Conflict(f"more than {MAX_PAIRS:,} distances would be set by hand; describe a topology instead")
        await self._told([DistancesSet(tuple(pairs))])

    async def unset_distance(self, one: str, other: str) -> None:
        if self._state.cluster.topology.distances.get(one, other) is None:
            raise NotFound(f"no distance was set between {one[:100]!r} and {other[:100]!r}")
        await self._told([DistancesSet(((one, other, None),))])

    async def clear_distances(self) -> int:
        """How many there were."""
        count = len(self._state.cluster.topology.distances)
        await self._told([DistancesCleared()])
        return count

    def _must_be_known(self, names: Sequence[str]) -> None:
        """As a node, or as a host of the topology."""
        rows, hosts = self._state.cluster.rows, self._state.cluster.topology.hosts
        missing = [name for name in dict.fromkeys(names) if name not in rows and name not in hosts]
        if missing:
            hint = closest(missing[0], rows) if len(rows) < 10_000 else ""
            listed = first_of(missing, words=lambda name: repr(name[:100]))
            raise NotFound(f"no node {listed}.{hint} GET /api/v1/nodes lists them")
