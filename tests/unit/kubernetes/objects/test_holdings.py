"""Ports of a node, disks and claims that one pod has and another wants."""

from typing import Any

import pytest
from tests.unit.kubernetes.manifests import Little, container, node, pod

NODES = [node("a"), node("b")]


def _port(port: int, protocol: str | None = None, address: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"containerPort": port, "hostPort": port}
    return found | ({"protocol": protocol} if protocol else {}) | ({"hostIP": address} if address else {})


def _with(port: dict[str, Any], name: str = "waits") -> dict[str, Any]:
    return pod(name, containers=[container("100m", ports=[port])])


@pytest.mark.parametrize(
    ("taken", "wanted", "ok"),
    [
        (_port(80), _port(80), False),
        (_port(80), _port(81), True),
        (_port(80, "UDP"), _port(80), True),
        (_port(80, "TCP", "10.0.0.1"), _port(80), False),
        (_port(80), _port(80, "TCP", "10.0.0.1"), False),
        (_port(80, "TCP", "10.0.0.1"), _port(80, "TCP", "10.0.0.2"), True),
        (_port(80, "TCP", "10.0.0.1"), _port(80, "TCP", "10.0.0.1"), False),
        (_port(80, "TCP", "0.0.0.0"), _port(80, "TCP", "10.0.0.1"), False),
    ],
)
def test_two_pods_of_a_node_never_have_the_same_port(taken: Any, wanted: Any, ok: bool) -> None:
    world = Little(NODES).put("a", _with(taken, "has"))
    assert world.fits(_with(wanted)) == (["a", "b"] if ok else ["b"])
    if not ok:
        assert world.plugin(_with(wanted), "a") == ("NodePorts", True)


def test_ports_of_init_containers_count_only_if_they_stay() -> None:
    world = Little(NODES).put("a", _with(_port(80), "has"))
    passing = pod(initContainers=[container("100m", name="i", ports=[_port(80)])])
    staying = pod(initContainers=[container("100m", name="i", ports=[_port(80)], restartPolicy="Always")])
    assert world.fits(passing) == ["a", "b"]
    assert world.fits(staying) == ["b"]


def _disk(kind: str, **fields: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "d", kind: fields}]}


@pytest.mark.parametrize(
    ("has", "wants", "ok"),
    [
        (_disk("gcePersistentDisk", pdName="d"), _disk("gcePersistentDisk", pdName="d", readOnly=True), False),
        (
            _disk("gcePersistentDisk", pdName="d", readOnly=True),
            _disk("gcePersistentDisk", pdName="d", readOnly=True),
            True,
        ),
        (_disk("gcePersistentDisk", pdName="d"), _disk("gcePersistentDisk", pdName="e"), True),
        (_disk("awsElasticBlockStore", volumeID="v"), _disk("awsElasticBlockStore", volumeID="v"), False),
        (_disk("iscsi", iqn="q", readOnly=True), _disk("iscsi", iqn="q"), False),
        (_disk("rbd", monitors=["m", "n"], image="i"), _disk("rbd", monitors=["n"], image="i"), False),
        (_disk("rbd", monitors=["m"], image="i"), _disk("rbd", monitors=["n"], image="i"), True),
    ],
)
def test_a_disk_is_shared_on_a_node_only_by_readers(has: Any, wants: Any, ok: bool) -> None:
    world = Little(NODES).put("a", pod("has", **has))
    assert world.fits(pod(**wants)) == (["a", "b"] if ok else ["b"])
    if not ok:
        assert world.plugin(pod(**wants), "a") == ("VolumeRestrictions", True)


def test_a_claim_for_one_pod_is_nobody_elses_on_any_node() -> None:
    claim = {
        "metadata": {"name": "c", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"accessModes": ["ReadWriteOncePod"], "volumeName": "v"},
    }
    volume = {"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "1Gi"}}}
    uses: dict[str, Any] = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]}
    world = Little(NODES, pvcs=[claim], pvs=[volume])
    assert world.fits(pod(**uses)) == ["a", "b"]
    world.put("a", pod("has", **uses))
    assert world.fits(pod(**uses)) == []
    assert world.plugin(pod(**uses), "b") == ("VolumeRestrictions", True)
    assert world.fits(pod(namespace="other")) == ["a", "b"]
