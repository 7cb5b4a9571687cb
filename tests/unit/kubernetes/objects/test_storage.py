"""Where the volumes of a pod let it go."""

from typing import Any

import pytest
from tests.unit.kubernetes.manifests import ZONE, Little, node, pod

NODES = [node("a", "a"), node("b", "b"), node("c")]
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def _claim(name: str = "c", volume: str = "", *, size: str = "1Gi", kind: str = "late", **meta: Any) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": kind}
    bound = {"annotations": BOUND} if volume else {}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **bound, **meta},
        "spec": spec | ({"volumeName": volume} if volume else {}),
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def _volume(name: str, zone: str | None = None, *, size: str = "5Gi", **more: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
    }
    if zone is not None:
        match = [{"key": ZONE, "operator": "In", "values": [zone]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": match}]}}
    labels = more.pop("labels", {})
    return {"metadata": {"name": name, "labels": labels}, "spec": spec | more, "status": {"phase": "Available"}}


def _class(name: str = "late", provisioner: str = "kubernetes.io/no-provisioner", **more: Any) -> dict[str, Any]:
    mode = {"volumeBindingMode": "WaitForFirstConsumer"}
    return {"metadata": {"name": name}, "provisioner": provisioner, **mode, **more}


def _uses(*claims: str) -> dict[str, Any]:
    each = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(claims)]
    return pod(volumes=each)


def test_a_bound_volume_is_used_where_it_can_be() -> None:
    world = Little(NODES, pvcs=[_claim(volume="v")], pvs=[_volume("v", "b")])
    assert world.fits(_uses("c")) == ["b"]
    assert world.plugin(_uses("c"), "a") == ("VolumeBinding", False)


def test_the_labels_of_a_volume_are_those_of_its_node_unless_that_says_nothing() -> None:
    volume = _volume("v", labels={"failure-domain.beta.kubernetes.io/zone": "a__x"})
    world = Little(NODES, pvcs=[_claim(volume="v")], pvs=[volume])
    assert world.fits(_uses("c")) == ["a", "c"]
    assert world.plugin(_uses("c"), "b") == ("VolumeZone", False)


@pytest.mark.parametrize(
    ("claims", "plugin"),
    [
        ([], "VolumeRestrictions"),
        ([_claim(kind="at once")], "VolumeBinding"),
        ([_claim(kind="")], "VolumeBinding"),
        ([_claim(volume="v", deletionTimestamp="2026-01-01T00:00:00Z")], "VolumeBinding"),
        ([_claim(volume="v") | {"status": {"phase": "Lost"}}], "VolumeBinding"),
        ([_claim(volume="v", annotations={})], "VolumeBinding"),
        ([_claim(volume="gone")], "VolumeZone"),
    ],
)
def test_claims_that_no_node_can_help_refuse_the_pod_everywhere(claims: list[Any], plugin: str) -> None:
    at_once = _class("at once") | {"volumeBindingMode": "Immediate"}
    world = Little(NODES, pvcs=claims, pvs=[_volume("v")], storageClasses=[_class(), at_once])
    assert world.fits(_uses("c")) == []
    assert {world.plugin(_uses("c"), name) for name in "abc"} == {(plugin, False)}


def test_a_claim_that_waits_takes_a_volume_that_is_there() -> None:
    world = Little(NODES, pvcs=[_claim()], pvs=[_volume("v", "a")], storageClasses=[_class()])
    assert world.fits(_uses("c")) == ["a"]
    assert world.plugin(_uses("c"), "b") == ("VolumeBinding", False)


def test_or_one_that_can_be_made_there() -> None:
    made = _class(provisioner="csi", allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}])
    assert Little(NODES, pvcs=[_claim()], pvs=[_volume("v", "a")], storageClasses=[made]).fits(_uses("c")) == ["a", "b"]
    anywhere = _class(provisioner="csi")
    assert Little(NODES, pvcs=[_claim()], storageClasses=[anywhere]).fits(_uses("c")) == ["a", "b", "c"]


def test_two_claims_never_take_the_same_volume() -> None:
    claims, kinds = [_claim("c"), _claim("d")], [_class()]
    one = Little(NODES, pvcs=claims, pvs=[_volume("v", "a")], storageClasses=kinds)
    assert one.fits(_uses("c", "d")) == []
    two = Little(NODES, pvcs=claims, pvs=[_volume("v", "a"), _volume("w", "a")], storageClasses=kinds)
    assert two.fits(_uses("c", "d")) == ["a"]


def test_the_smallest_claim_takes_the_smallest_volume_so_that_the_largest_is_left() -> None:
    claims = [_claim("large", size="8Gi"), _claim("small", size="1Gi")]
    volumes = [_volume("big", "a", size="10Gi"), _volume("little", "a", size="2Gi")]
    assert Little(NODES, pvcs=claims, pvs=volumes, storageClasses=[_class()]).fits(_uses("large", "small")) == ["a"]


@pytest.mark.parametrize(
    "change",
    [
        {"capacity": {"storage": "100Mi"}},
        {"volumeMode": "Block"},
        {"accessModes": ["ReadOnlyMany"]},
        {"storageClassName": "other"},
        {"claimRef": {"name": "somebody", "namespace": "default"}},
        {"claimRef": {"name": "c", "namespace": "default", "uid": "of-an-earlier-one"}},
    ],
)
def test_a_volume_that_does_not_suit_the_claim_is_not_taken(change: dict[str, Any]) -> None:
    assert (
        Little(NODES, pvcs=[_claim()], pvs=[_volume("v", **change)], storageClasses=[_class()]).fits(_uses("c")) == []
    )


def test_a_volume_that_is_kept_for_the_claim_is_the_only_one_for_it() -> None:
    kept = _volume("kept", "a", claimRef={"name": "c", "namespace": "default"})
    world = Little(NODES, pvcs=[_claim()], pvs=[kept, _volume("free", "b")], storageClasses=[_class()])
    assert world.fits(_uses("c")) == ["a"]


def test_a_claim_for_which_a_volume_is_being_made_goes_to_that_node() -> None:
    claim = _claim(annotations={"volume.kubernetes.io/selected-node": "b"})
    world = Little(NODES, pvcs=[claim], pvs=[_volume("v", "a")], storageClasses=[_class(provisioner="csi")])
    assert world.fits(_uses("c")) == ["b"]


def test_an_ephemeral_volume_has_a_claim_of_its_own() -> None:
    waiting = pod(volumes=[{"name": "scratch", "ephemeral": {}}])
    owner = {"uid": waiting["metadata"]["uid"], "controller": True}
    own = _claim("waits-scratch", ownerReferences=[owner])
    kinds = {"storageClasses": [_class(provisioner="csi")]}
    assert Little(NODES, pvcs=[own], **kinds).fits(waiting) == ["a", "b", "c"]
    assert Little(NODES, pvcs=[_claim("waits-scratch")], **kinds).fits(waiting) == []
    assert Little(NODES, **kinds).plugin(waiting, "a") == ("VolumeBinding", False)


def _csi(name: str) -> dict[str, Any]:
    return _volume(name, csi={"driver": "csi", "volumeHandle": name})


def test_a_node_attaches_no_more_volumes_than_it_can_and_each_once() -> None:
    limits = [{"metadata": {"name": "a"}, "spec": {"drivers": [{"name": "csi", "allocatable": {"count": 2}}]}}]
    claims = [_claim(name, volume=name) for name in ("u", "v", "w")]
    world = Little(NODES, pvcs=claims, pvs=[_csi("u"), _csi("v"), _csi("w")], csiNodes=limits)
    first, second = _uses("u", "v"), _uses("v")
    first["metadata"]["name"], second["metadata"]["name"] = "first", "second"
    world.put("a", first, second)
    assert world.fits(_uses("w")) == ["b", "c"]
    assert world.plugin(_uses("w"), "a") == ("NodeVolumeLimits", True)
    assert world.fits(_uses("u")) == ["a", "b", "c"]  # is attached already


def test_pods_are_read_again_when_volumes_change() -> None:
    world = Little(NODES, pvcs=[_claim()], storageClasses=[_class()])
    storage = world.scene.reader.storage
    assert world.fits(_uses("c")) == []
    storage.set_volume(_volume("v", "b"))
    assert world.fits(_uses("c")) == ["b"]
    storage.set_volume(_volume("v", "a"))
    assert world.fits(_uses("c")) == ["a"]
    storage.drop_volume("v")
    storage.provisioning.set_class(_class(provisioner="csi"))
    assert world.fits(_uses("c")) == ["a", "b", "c"]
    storage.provisioning.drop_class("late")
    assert world.fits(_uses("c")) == []
    storage.drop_claim("default", "c")
    assert world.plugin(_uses("c"), "a") == ("VolumeRestrictions", False)


# --- capacity to provision --------------------------------------------------------------------------------------


def _capacity(name: str, selector: dict[str, Any] | None, kind: str = "made", **amounts: str) -> dict[str, Any]:
    found = {"metadata": {"name": name, "namespace": "csi"}, "storageClassName": kind, **amounts}
    return found | ({} if selector is None else {"nodeTopology": selector})


def _zone(name: str) -> dict[str, Any]:
    return {"matchLabels": {ZONE: name}}


def _provisioned(*capacities: dict[str, Any], size: str = "10Gi", says: bool | None = True, **more: Any) -> Little:
    driver = {"metadata": {"name": "csi"}, "spec": {} if says is None else {"storageCapacity": says}}
    made = _class("made", "csi", **more)
    claims = [_claim(kind="made", size=size)]
    return Little(NODES, pvcs=claims, storageClasses=[made], csiDrivers=[driver], csiStorageCapacities=capacities)


def test_a_volume_is_provisioned_where_its_driver_has_capacity() -> None:
    world = _provisioned(_capacity("1", _zone("a"), capacity="9Gi"), _capacity("2", _zone("b"), capacity="10Gi"))
    assert world.fits(_uses("c")) == ["b"]
    assert world.plugin(_uses("c"), "a") == ("VolumeBinding", False)


def test_what_a_driver_can_make_at_most_counts_before_what_it_has() -> None:
    capacities = [_capacity("1", _zone("a"), capacity="90Gi", maximumVolumeSize="9Gi"), _capacity("2", _zone("b"))]
    assert _provisioned(*capacities).fits(_uses("c")) == []
    assert _provisioned(*capacities, size="9Gi").fits(_uses("c")) == ["a"]


def test_capacity_that_a_driver_does_not_publish_is_none() -> None:
    assert _provisioned().fits(_uses("c")) == []
    assert _provisioned(_capacity("1", None, capacity="1Ti")).fits(_uses("c")) == [], "of no node"
    assert _provisioned(_capacity("1", {}, capacity="1Ti")).fits(_uses("c")) == ["a", "b", "c"], "of all nodes"
    assert _provisioned(_capacity("1", {}, "other", capacity="1Ti")).fits(_uses("c")) == []


@pytest.mark.parametrize("says", [False, None])
def test_a_driver_that_does_not_publish_its_capacity_has_it_everywhere(says: bool | None) -> None:
    assert _provisioned(says=says).fits(_uses("c")) == ["a", "b", "c"]


def test_capacity_counts_only_where_the_class_allows_a_volume() -> None:
    only_a = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
    capacities = [_capacity("1", {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}, capacity="1Ti")]
    assert _provisioned(*capacities, allowedTopologies=only_a).fits(_uses("c")) == ["a"]


def test_a_volume_that_is_there_needs_no_capacity() -> None:
    world = Little(
        NODES,
        pvcs=[_claim()],
        pvs=[_volume("v", "b")],
        storageClasses=[_class(provisioner="csi")],
        csiDrivers=[{"metadata": {"name": "csi"}, "spec": {"storageCapacity": True}}],
    )
    assert world.fits(_uses("c")) == ["b"]


def test_capacity_that_comes_and_goes_is_noticed() -> None:
    world = _provisioned(_capacity("1", _zone("a"), capacity="1Gi"))
    storage = world.scene.reader.storage
    before = storage.version
    storage.provisioning.set_capacity(_capacity("1", _zone("b"), capacity="1Ti"))
    assert storage.version > before
    assert world.fits(_uses("c")) == ["b"]
    storage.provisioning.drop_capacity("csi", "1")
    assert world.fits(_uses("c")) == []
    storage.provisioning.drop_driver("csi")
    assert world.fits(_uses("c")) == ["a", "b", "c"]


def test_a_driver_of_nodes_own_disks_is_one_comparison() -> None:
    storage = _provisioned(
        *[_capacity(f"n{i}", {"matchLabels": {"node": f"n{i}"}}, capacity="1Ti") for i in range(500)]
    ).scene
    ask = storage.reader.storage.ask_of(_uses("c"))
    assert ask is not None
    assert [len(claim.fits_at or ()) for claim in ask.claims] == [1]
