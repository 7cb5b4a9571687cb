"""The network between the nodes in plain values: levels, domains, links up, distances.

Left to others: what a topology means (`cluster.topology`), changing it (events), and showing it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dovetail.cluster.network.distance import described_rows, distances_from
from dovetail.cluster.network.domain_table import DomainState
from dovetail.cluster.network.levels import PresentLevel, bandwidth_of, path_between, present_levels, shared_level
from dovetail.cluster.network.link_paths import F4
from dovetail.cluster.network.path import Path
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.network.topology import Topology
from dovetail.model.resources import Amounts
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


class DistanceSource(StrEnum):
    """Who says how far two nodes are apart; each is believed before those below it. MEASURED may be an estimate: who
    measures knows. BY_LEVEL: nobody says it, and shared levels divide the range evenly."""

    BY_HAND = "by_hand"
    DESCRIBED = "described"
    MEASURED = "measured"
    BY_LEVEL = "by_level"


@dataclass(frozen=True, slots=True)
class Apart:
    """How far two nodes are from each other, and who says so; `level` the narrowest that they share, `path` what lies
    between them as far as that is described."""

    distance: float
    source: DistanceSource
    level: str | None
    path: Path | None

    @property
    def by_hand(self) -> bool:
        return self.source is DistanceSource.BY_HAND


class NetworkQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state, self._cluster = state, state.cluster

    @property
    def topology(self) -> Topology:
        return self._cluster.topology.definition

    @property
    def hosts(self) -> Iterable[str]:
        """The hosts that the topology describes; some may be no nodes."""
        return self._cluster.topology.hosts

    @property
    def measured(self) -> tuple[tuple[str, ...], F4] | None:
        """What agents measured, as `DistancesMeasured` has it; None: nothing."""
        found = self._cluster.topology.measured
        return (found.names, found.distance) if found else None

    def levels(self) -> list[LevelState]:
        """Widest first."""
        cluster, found = self._cluster, []
        present = cluster.status.present[: cluster.width]
        for level in present_levels(cluster):
            codes = level.column.codes[: cluster.width][present]
            found.append(LevelState(level, len(np.unique(codes[codes > 0])), int((codes == 0).sum())))
        return found

    def domains(self, level: str | None, task: Amounts | None) -> list[DomainUse] | None:
        """Of one level (by name or label) or of all, widest first; None where no node is in a domain of that level.
        `task`: what one task of a gang would ask for, to tell how large a gang would fit."""
        levels = present_levels(self._cluster)
        wanted = [depth for depth, one in enumerate(levels) if level is None or level in (one.name, one.level.key)]
        if level is not None and not wanted:
            return None
        return [use for depth in wanted for use in self._domains(levels[depth], levels[:depth], task)]

    def _domains(self, level: PresentLevel, wider: Sequence[PresentLevel], task: Amounts | None) -> list[DomainUse]:
        cluster, table = self._cluster, self._state.domains
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

    @property
    def set_distances(self) -> list[tuple[str, str, float]]:
        """All that were set by hand."""
        return self._cluster.topology.distances.all()

    @property
    def set_distance_count(self) -> int:
        return len(self._cluster.topology.distances)

    def set_distance(self, one: str, other: str) -> float | None:
        """What was set by hand between two nodes or hosts; None if nothing was."""
        return self._cluster.topology.distances.get(one, other)

    def distances_from(self, node: str, to: Iterable[str] | None = None) -> dict[str, float]:
        """From a node to others, or to all. Unknown ones are left out; raises KeyError if `node` is."""
        rows = self._cluster.rows
        found = distances_from(self._cluster, rows[node])
        return {name: float(found[rows[name]]) for name in (rows if to is None else to) if name in rows}

    def apart(self, one: str, other: str) -> Apart:
        """Raises KeyError for an unknown node."""
        cluster = self._cluster
        rows = cluster.rows[one], cluster.rows[other]
        levels = present_levels(cluster)
        met = shared_level(levels, *rows)
        level = HOST if one == other else None if met is None else levels[met].name
        distance = float(distances_from(cluster, rows[0])[rows[1]])
        return Apart(distance, self._source(one, other), level, path_between(cluster, *rows))

    def _source(self, one: str, other: str) -> DistanceSource:
        cluster = self._cluster
        described = described_rows(cluster)
        if self.set_distance(one, other) is not None:
            return DistanceSource.BY_HAND
        if one == other or (described[cluster.rows[one]] and described[cluster.rows[other]]):
            return DistanceSource.DESCRIBED
        if cluster.topology.measured.get(one, other) is not None:
            return DistanceSource.MEASURED
        return DistanceSource.BY_LEVEL

    def domain_names(self, level: str) -> dict[str, str]:
        """By node, its domain of a level; without nodes that are in none."""
        found = next((one for one in present_levels(self._cluster) if one.name == level), None)
        if found is None:
            return {}
        codes = found.column.codes
        return {name: found.domain(int(codes[row])) for name, row in self._cluster.rows.items() if codes[row]}
