"""Exclusive things that pods hold: host ports, disks, claims for a single pod.

Each is a mark on the pod (a label that users cannot set). A pod that wants the same gets a rule to stay apart from pods
with that mark: on one node, or anywhere for a claim.
"""

from collections.abc import Iterable, Mapping

from dovetail.cluster.network.domains import BY_LABEL
from dovetail.kubernetes_client.objects import Json
from dovetail.model.requests.asks import AffinityRule, Match, Relation, Selector
from dovetail.model.requests.pod_ask import CLAIM, DISK, EVERY_NODE, PORT
from dovetail.model.workloads.affinity import HOST
from dovetail.model.workloads.selection import Operator

Marks = dict[str, str]

_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - what a pod that names no address asks for
_WRITES, _READS = "rw", "ro"


def ports_of(spec: Json) -> list[tuple[str, str]]:
    """(protocol/port, address) of host ports. Init containers count only if they keep running."""
    staying = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    containers = (*staying, *(spec.get("containers") or ()))
    ports = [port for container in containers for port in container.get("ports") or ()]
    found = [_port(port) for port in ports if (port.get("hostPort") or 0) > 0]
    return list(dict.fromkeys(found))


def _port(port: Json) -> tuple[str, str]:
    return f"{port.get('protocol') or 'TCP'}/{port['hostPort']}", port.get("hostIP") or _ALL_ADDRESSES


def port_marks(ports: Iterable[tuple[str, str]]) -> Marks:
    found: Marks = {}
    for port, address in ports:
        found[PORT + port] = ""
        found[f"{PORT}{port}/{address}"] = ""
    return found


def port_rules(ports: Iterable[tuple[str, str]]) -> list[AffinityRule]:
    """A port on all addresses conflicts with that port on any address."""
    rules = []
    for port, address in ports:
        taken = [PORT + port]
        if address != _ALL_ADDRESSES:
            taken = [f"{PORT}{port}/{address}", f"{PORT}{port}/{_ALL_ADDRESSES}"]
        rules.append(_apart([(key, ("",)) for key in taken], HOST))
    return rules


def disk_uses(volumes: Iterable[Json]) -> dict[str, str]:
    """Disks with exclusive access: by disk, whether the pod writes."""
    found: dict[str, str] = {}
    for volume in volumes:
        for disk, read_only in _disks(volume):
            if found.get(disk) != _WRITES:
                found[disk] = _READS if read_only else _WRITES
    return {DISK + disk: use for disk, use in found.items()}


def disk_rules(uses: Mapping[str, str]) -> list[AffinityRule]:
    """Readers stay apart from writers, writers from everybody."""
    return [_apart([(disk, (_WRITES,) if use == _READS else (_WRITES, _READS))], HOST) for disk, use in uses.items()]


def claim_mark(namespace: str, claim: str) -> str:
    return f"{CLAIM}{namespace}/{claim}"


def claim_rule(mark: str) -> AffinityRule:
    """No other pod may use the claim, wherever it is."""
    return _apart([(mark, ("",))], BY_LABEL + EVERY_NODE)


def _disks(volume: Json) -> Iterable[tuple[str, bool]]:
    if disk := volume.get("gcePersistentDisk"):
        yield f"gce/{disk['pdName']}", bool(disk.get("readOnly"))
    if disk := volume.get("awsElasticBlockStore"):
        yield f"aws/{disk['volumeID']}", False
    if disk := volume.get("iscsi"):
        yield f"iscsi/{disk['iqn']}", bool(disk.get("readOnly"))
    if disk := volume.get("rbd"):
        for monitor in disk.get("monitors") or ():
            yield f"rbd/{monitor}/{disk.get('pool') or 'rbd'}/{disk['image']}", bool(disk.get("readOnly"))


def _apart(taken: Iterable[tuple[str, tuple[str, ...]]], level: str) -> AffinityRule:
    whom = tuple([Selector((), term=(Match(key, Operator.IN, values),)) for key, values in taken])
    return AffinityRule(Relation.APART, whom, level)
