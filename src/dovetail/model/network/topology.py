"""The network topology as an operator describes it: levels, domains, links, rules.

A level is a node label. A topology lists the levels, widest first, with the links between them; `nodes` and `domains`
assign hosts to domains if their labels do not. Alternatively it has a graph of links between hosts and switches, where
`switches` gives the level of each. Guarantees: a valid topology is consistent: every used level is listed, every host
is in one domain of a level, every link has two ends.
`dovetail.cluster.network` applies it to nodes; `topology_readers` read other formats.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dovetail.model.text.hostlist import expanded
from dovetail.model.text.quantity import Bandwidth, Count, Latency
from dovetail.model.text.strict import AtField, Name, Strict, closest, is_word, shared, shown, text_format
from dovetail.model.workloads.affinity import HOST, Level
from dovetail.model.workloads.selection import AS_TEXT, LabelKey, LabelValue

MAX_LEVELS = 20
MAX_HOSTS = 1_000_000
MAX_LINKS = 500_000
#: Hosts with different links; those with equal links to the same switches count once.
MAX_LINK_PATTERNS = 4096
#: Default names of the first tiers; then `tier-4` and so on.
TIERS = ("leaf", "spine", "core")

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]


def tier_name(tier: int) -> str:
    """The default name of a tier; 0 are the switches that hosts are connected to."""
    return TIERS[tier] if tier < len(TIERS) else f"tier-{tier + 1}"


def _check_vertex(value: str) -> str:
    if not is_word(value, 253):
        raise ValueError(f"{shown(value)} is not the name of a host or a switch; 1 to 253 characters without spaces")
    return value


Vertex = Annotated[str, AS_TEXT, AfterValidator(_check_vertex), text_format("vertex", least=1, most=253)]


class LinkDefaults(NamedTuple):
    """Defaults for the uplink of a domain: typical values of data centres."""

    mbps: int
    latency_ns: int


#: By level: the uplink of a domain to the next wider level.
DEFAULT_LINKS: dict[str, LinkDefaults] = {
    HOST: LinkDefaults(100_000, 1_000),
    "rack": LinkDefaults(1_600_000, 1_000),
    "leaf": LinkDefaults(3_200_000, 1_500),
    "spine": LinkDefaults(6_400_000, 3_000),
    "core": LinkDefaults(6_400_000, 10_000),
    "zone": LinkDefaults(1_000_000, 250_000),
    "region": LinkDefaults(100_000, 10_000_000),
}
#: For levels with other names.
OTHER_LINK = LinkDefaults(1_600_000, 2_000)


def default_link(level: str) -> LinkDefaults:
    """`topology.kubernetes.io/zone` is a zone."""
    return DEFAULT_LINKS.get(level.rsplit("/", 1)[-1], OTHER_LINK)


class TopologyLevel(Strict):
    """A level, and the uplink of each of its domains. `label` is the node label with the domain's name, by default the
    name of the level."""

    name: Level
    label: LabelKey | None = None
    bandwidth: Annotated[Bandwidth, Field(ge=1)] | None = None
    latency: Latency | None = None
    loss: Share = 0.0

    @property
    def key(self) -> str:
        return self.label or self.name

    @property
    def mbps(self) -> int:
        return default_link(self.name).mbps if self.bandwidth is None else self.bandwidth

    @property
    def latency_ns(self) -> int:
        return default_link(self.name).latency_ns if self.latency is None else self.latency

    @property
    def says_how_fast(self) -> bool:
        return self.bandwidth is not None or self.latency is not None or self.loss > 0


class TopologyLink(Strict):
    """A bidirectional link between two hosts or switches. Parallel links add up. `utilisation` is the share of the
    bandwidth that other traffic uses."""

    start: Vertex = Field(alias="from")
    end: Vertex = Field(alias="to")
    bandwidth: Annotated[Bandwidth, Field(ge=1)] | None = None
    latency: Latency | None = None
    loss: Share = 0.0
    utilisation: Share = 0.0


class HopRule(Strict):
    """A level defined by the maximum number of links between two nodes. Two hosts on one switch: two links."""

    name: Name
    hops: Annotated[Count, Field(ge=1, le=1000)]


class DistanceWeights(Strict):
    """The weights of latency, bandwidth and loss in the distance between two nodes."""

    latency: Weight = 50.0
    bandwidth: Weight = 40.0
    loss: Weight = 10.0

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        if not self.latency + self.bandwidth + self.loss:
            raise ValueError("are all 0; give one of latency, bandwidth and loss some weight")
        return self


def _as_members(value: Any) -> Any:
    """A hostlist (`node[001-064]`), or a list of them."""
    lists = [value] if isinstance(value, str) else value
    if not isinstance(lists, list) or not all(isinstance(one, str | int) for one in lists):
        return lists
    return [name for one in lists for name in expanded(str(one))]


def _as_switches(value: Any) -> Any:
    return dict.fromkeys(value) if isinstance(value, list) and all(isinstance(one, str) for one in value) else value


Members = Annotated[
    list[Vertex],
    BeforeValidator(_as_members, json_schema_input_type=list[Vertex] | str),
    Field(max_length=MAX_HOSTS),
]
Place = dict[Level, LabelValue]


class Topology(Strict):
    """`domains`: by level and name, the hosts or narrower domains in it. `switches`: the level of each switch; by
    default it follows from the distance to the hosts. Linked names that are no switches are hosts."""

    levels: Annotated[list[TopologyLevel], Field(max_length=MAX_LEVELS, description="widest first")] = shared([])
    nodes: Annotated[dict[Vertex, Place], Field(max_length=MAX_HOSTS)] = shared({})
    domains: dict[Level, dict[LabelValue, Members]] = shared({})
    switches: Annotated[
        dict[Vertex, Level | None],
        BeforeValidator(_as_switches, json_schema_input_type=dict[Vertex, Level | None] | list[str]),
    ] = shared({})
    links: Annotated[list[TopologyLink], Field(max_length=MAX_LINKS)] = shared([])
    rules: Annotated[list[HopRule], Field(max_length=20)] = shared([])
    weights: DistanceWeights = shared(DistanceWeights())

    @model_validator(mode="after")
    def _check_unique_levels(self) -> Self:
        seen: set[str] = set()
        for index, level in enumerate(self.levels):
            if level.name == HOST and index < len(self.levels) - 1:
                raise AtField(("levels", index, "name"), f"{HOST} is the narrowest level; put it last")
            for field, word in (("name", level.name), ("label", level.key)):
                if word in seen:
                    raise AtField(("levels", index, field), f"{shown(word)} is given twice")
            seen |= {level.name, level.key}
        for index, rule in enumerate(self.rules):
            if rule.name in seen or rule.name in (HOST, "node"):
                raise AtField(("rules", index, "name"), f"{rule.name!r} is a level already; choose another name")
            seen.add(rule.name)
        return self

    @model_validator(mode="after")
    def _check_known_levels(self) -> Self:
        known = {level.name for level in self.inner_levels}
        for path, level in self._named_levels():
            if level == HOST:
                raise AtField(path, f"{HOST} is each node by itself; name a wider level")
            if level not in known:
                listed = ", ".join(sorted(known)) or "none"
                words = f"{shown(level)} is not among the levels.{closest(level, known)} Listed: {listed}"
                raise AtField(path, words)
        return self

    def _named_levels(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        for host, place in self.nodes.items():
            yield from ((("nodes", host, level), level) for level in place)
        yield from ((("domains", level), level) for level in self.domains)
        for switch, of_level in self.switches.items():
            if of_level is not None:
                yield ("switches", switch), of_level

    @model_validator(mode="after")
    def _check_links(self) -> Self:
        for index, link in enumerate(self.links):
            if link.start == link.end:
                raise AtField(("links", index, "to"), f"{shown(link.end)} is linked to itself")
        if self.links:
            linked = {name for link in self.links for name in (link.start, link.end)}
            for switch in self.switches:
                if switch not in linked:
                    raise AtField(("switches", switch), f"no link leads to {shown(switch)}; give one, or leave it out")
        elif self.switches:
            raise AtField(("switches",), "need links: without them, domains says who is where")
        ranked = [level for level in self.switches.values() if level is not None]
        if ranked and len(ranked) < len(self.switches):
            missing = next(switch for switch, level in self.switches.items() if level is None)
            raise AtField(("switches", missing), "has no level although others have; give all of them one, or none")
        return self

    @model_validator(mode="after")
    def _check_link_patterns(self) -> Self:
        """A distance is stored for each pair, so their number is limited."""
        near: dict[str, dict[str, set[tuple[object, ...]]]] = {}
        for link in self.links:
            kind = (link.bandwidth, link.latency, link.loss, link.utilisation)
            for one, other in ((link.start, link.end), (link.end, link.start)):
                if one not in self.switches:
                    near.setdefault(one, {}).setdefault(other, set()).add(kind)
        patterns = set()
        for host, others in near.items():
            other, kinds = next(iter(others.items()))
            patterns.add((other, *sorted(map(str, kinds))) if len(others) == 1 and other in self.switches else (host,))
        if len(patterns) > MAX_LINK_PATTERNS:
            words = f"{len(patterns):,} hosts are each linked in their own way, and {MAX_LINK_PATTERNS:,} are the most"
            raise AtField(("links",), f"{words}; describe levels and domains instead of links")
        return self

    @model_validator(mode="after")
    def _check_hosts(self) -> Self:
        self.places()
        return self

    @property
    def inner_levels(self) -> list[TopologyLevel]:
        """Levels whose domains hold several nodes, widest first."""
        return [level for level in self.levels if level.name != HOST]

    @property
    def host_link(self) -> TopologyLevel:
        """The link from a node to the network."""
        return next((level for level in self.levels if level.name == HOST), TopologyLevel(name=HOST))

    def places(self) -> dict[str, dict[str, str]]:
        """By host, its domain at each level. Raises AtField if `nodes` and `domains` disagree."""
        found: dict[str, dict[str, str]] = {}
        narrower: dict[str, list[str]] = {}  # by domain of the narrower levels: its hosts
        for level in reversed(self.inner_levels):
            hosts_of: dict[str, list[str]] = {}
            for domain, members in self.domains.get(level.name, {}).items():
                hosts_of[domain] = [host for member in members for host in narrower.get(member, (member,))]
                _put(found, hosts_of[domain], level.name, domain)
            narrower |= hosts_of
        for host, place in self.nodes.items():
            mine = found.setdefault(host, {})
            for name, domain in place.items():
                if mine.setdefault(name, domain) != domain:
                    words = f"is {shown(domain)}, but by domains it is in {shown(mine[name])}"
                    raise AtField(("nodes", host, name), words)
        return found


def _put(found: dict[str, dict[str, str]], hosts: Iterable[str], level: str, domain: str) -> None:
    for host in hosts:
        place = found.setdefault(host, {})
        if place.setdefault(level, domain) != domain:
            words = f"{shown(host)} is in it and in {shown(place[level])}; a host is in one domain of a level"
            raise AtField(("domains", level, domain), words)
