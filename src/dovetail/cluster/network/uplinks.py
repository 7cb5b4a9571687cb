"""The uplink bandwidth that is left for one more task of a gang, or for the tasks of a new one.

Only links with a described bandwidth set a limit: in a graph of links all of them, by levels those with a `bandwidth`;
at the level `host` the link of each node. Other links are unknown and set no limit.
Guarantees: answers follow from where the gang is now, trials included. Left to others: what gangs hold (`gang_flows`),
and what that leaves (`levels.bandwidth_of`).
"""

from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.labels import ABSENT
from dovetail.cluster.network.gang_flows import Gang, Members
from dovetail.cluster.network.levels import bandwidth_of, limited_up, present_levels
from dovetail.cluster.state import Cluster
from dovetail.model.workloads.affinity import HOST


class Uplinks(NamedTuple):
    """One level. `codes` is intp[node]: its domain, at the level `host` its row; `left_mbps` float64[code]: endless
    where nothing is known of the links, and for nodes that are in no domain."""

    level: str
    codes: Rows
    left_mbps: F8


class UplinkShortage(NamedTuple):
    """Links up from a domain that would have to carry more than they have left."""

    level: str
    domain: str
    left_mbps: float
    needed_mbps: float


def limited_uplinks(cluster: Cluster) -> list[Uplinks]:
    """The levels at which links set a limit, widest first."""
    if not cluster.topology.has_speeds:
        return []
    found = []
    for level in present_levels(cluster):
        if (limited := limited_up(cluster, level.name)).any():
            left = np.where(limited, bandwidth_of(cluster, level.name)[2], np.inf)
            left[ABSENT] = np.inf
            found.append(Uplinks(level.name, level.column.codes[: cluster.width].astype(np.intp), left))
    if (limited := limited_up(cluster, HOST)).any():
        found.append(Uplinks(HOST, np.arange(cluster.width), np.where(limited, bandwidth_of(cluster, HOST)[2], np.inf)))
    return found


def unlimited_levels(cluster: Cluster) -> list[str]:
    """Levels whose uplinks have no known capacity in any domain; widest first."""
    names = [*(level.name for level in present_levels(cluster)), HOST]
    limited = {one.level for one in limited_uplinks(cluster)}
    return [name for name in names if name not in limited]


def room_to_join(cluster: Cluster, gang: Gang, mbps: float) -> B1 | bool:
    """bool[node]: where one more task of a gang could send so much to the others, and they to it."""
    members = cluster.placements.flows.members(gang)
    found: B1 | bool = True
    if len(members.rows):  # the first task of a gang sends to none yet
        for uplinks in limited_uplinks(cluster):
            needed, others = _after(uplinks, members, mbps)
            found = found & (needed[uplinks.codes] <= uplinks.left_mbps[uplinks.codes]) & others
    return found


def shortage_at(cluster: Cluster, gang: Gang, mbps: float, row: int) -> UplinkShortage:
    """Why a task of a gang cannot join at a row: asked only where it cannot."""
    members = cluster.placements.flows.members(gang)
    for uplinks in limited_uplinks(cluster):
        needed, others = _after(uplinks, members, mbps)
        code = int(uplinks.codes[row])
        if needed[code] > uplinks.left_mbps[code]:
            return _short(cluster, uplinks, code, float(needed[code]))
        if not others[row]:
            return _short(cluster, uplinks, int(uplinks.codes[members.rows[0]]), float(members.mbps.sum()))
    raise AssertionError("asked of a node that it can join on")


def _after(uplinks: Uplinks, members: Members, mbps: float) -> tuple[F8, B1]:
    """float64[code]: what the gang would hold there in addition to what it holds now, with one task more in that
    domain; and bool[node]: whether the links of the others would carry what they did not have to before."""
    needed = np.full(len(uplinks.left_mbps), float(mbps))
    others = np.ones(len(uplinks.codes), dtype=np.bool_)
    codes = uplinks.codes[members.rows]
    first = int(codes[0])
    if (codes == first).all() and (first != ABSENT or uplinks.level == HOST):
        # All are in one domain and hold nothing of its links; a task elsewhere makes all of them send out.
        needed[first] = 0.0
        if members.mbps.sum() > uplinks.left_mbps[first]:
            others = uplinks.codes == first
    return needed, others


def _short(cluster: Cluster, uplinks: Uplinks, code: int, needed_mbps: float) -> UplinkShortage:
    of_level = next((level for level in present_levels(cluster) if level.name == uplinks.level), None)
    domain = cluster.names[code] if of_level is None else of_level.domain(code)
    return UplinkShortage(uplinks.level, domain, float(uplinks.left_mbps[code]), needed_mbps)
