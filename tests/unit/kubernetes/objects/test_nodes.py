"""Nodes: what they have, what they bear, and which pods that keeps away."""

from tests.unit.kubernetes.manifests import HOST, Little, node, pod

from dovetail.kubernetes.objects.nodes import read_node
from dovetail.model.requests.pod_ask import NODE_NAME, VOLUME_LIMIT

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def test_amounts_are_what_can_be_allocated() -> None:
    found = node("10.0.0.1", cpu="1500m")
    found["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    read = read_node(found)
    assert read.name == "10.0.0.1"
    expected = {"cpu": 1500, "memory": 8 * 2**30, "disk": 100 * 2**30, "slots": 110, "nvidia.com/gpu": 8}
    assert read.capacity.amounts() == expected


def test_labels_hold_facts_that_selectors_know_by_other_names() -> None:
    found = node("n", "z")
    found["status"] |= {"images": [{"names": ["web:1"], "sizeBytes": 2**30}, {"names": ["tiny:1"], "sizeBytes": 9}]}
    drivers = [{"name": "d", "allocatable": {"count": 3}}, {"name": "unlimited"}]
    labels = read_node(found, {"spec": {"drivers": drivers}}).labels
    assert labels[HOST] == labels[NODE_NAME] == "n"
    assert labels["image/web:1"] == "present"
    assert "image/tiny:1" not in labels
    assert labels[VOLUME_LIMIT + "d"] == "3"
    assert VOLUME_LIMIT + "unlimited" not in labels


def test_an_unschedulable_node_refuses_all_but_those_that_tolerate_it() -> None:
    world = Little([node("n", unschedulable=True)])
    assert world.plugin(pod(), "n") == ("NodeUnschedulable", False)
    exists = {"key": UNSCHEDULABLE, "operator": "Exists", "effect": "NoSchedule"}
    assert world.fits(pod(tolerations=[exists])) == ["n"]
    assert world.fits(pod(tolerations=[{"operator": "Exists"}])) == ["n"]
    assert world.fits(pod(tolerations=[{"key": UNSCHEDULABLE, "effect": "NoSchedule"}])) == ["n"]
    assert world.fits(pod(tolerations=[{"key": UNSCHEDULABLE, "operator": "Exists", "effect": "NoExecute"}])) == []


def test_taints_are_tolerated_by_key_value_and_effect() -> None:
    world = Little([node("n", taints=[{"key": "spot", "value": "7", "effect": "NoExecute"}])])
    assert world.plugin(pod(), "n") == ("TaintToleration", False)
    for toleration, ok in (
        ({"key": "spot", "value": "7"}, True),
        ({"key": "spot", "operator": "Equal", "value": "8"}, False),
        ({"key": "spot", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": "spot", "operator": "Gt", "value": "6"}, True),
        ({"key": "spot", "operator": "Gt", "value": "7"}, False),
        ({"key": "spot", "operator": "Lt", "value": "10"}, True),
        ({"key": "spot", "operator": "Lt", "value": "010"}, False),  # not how a number is written
    ):
        assert world.fits(pod(tolerations=[toleration])) == (["n"] if ok else []), toleration


def test_soft_taints_keep_nobody_away() -> None:
    assert Little([node("n", taints=[{"key": "a", "effect": "PreferNoSchedule"}])]).fits(pod()) == ["n"]


def test_a_pod_that_names_its_node_goes_nowhere_else() -> None:
    world = Little([node("a"), node("b")])
    assert world.fits(pod(nodeName="b")) == ["b"]
    assert world.plugin(pod(nodeName="b"), "a") == ("NodeName", False)


def test_a_node_must_declare_the_features_that_a_pod_needs() -> None:
    able, plain = node("able"), node("plain")
    able["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
    waiting = pod()
    waiting["spec"]["containers"][0]["restartPolicyRules"] = [{"action": "RestartAllContainers"}]
    world = Little([able, plain])
    assert world.fits(waiting) == ["able"]
    assert world.plugin(waiting, "plain") == ("NodeDeclaredFeatures", False)
    assert world.fits(pod(hostNetwork=True, hostUsers=False)) == []


def test_room_is_counted_and_what_a_node_never_has_no_eviction_makes() -> None:
    world = Little([node("small", cpu="2"), node("large")])
    world.put("small", pod("a", cpu="1500m")).put("large", pod("b", cpu="3"))
    assert world.plugin(pod(cpu="2"), "small") == ("NodeResourcesFit", True)
    assert world.plugin(pod(cpu="3"), "small") == ("NodeResourcesFit", False)
    assert world.plugin(pod(cpu="2"), "large") == ("NodeResourcesFit", True)
    unknown = pod()
    unknown["spec"]["containers"][0]["resources"]["requests"]["example.com/none"] = "1"
    assert world.plugin(unknown, "large") == ("NodeResourcesFit", False)


def test_a_pod_that_asks_for_nothing_fits_where_others_have_more_than_there_is() -> None:
    world = Little([node("n", cpu="1")]).put("n", pod("a", cpu="3"))
    waiting = pod()
    waiting["spec"]["containers"] = [{"name": "c", "image": "x"}]
    assert world.fits(waiting) == ["n"]
