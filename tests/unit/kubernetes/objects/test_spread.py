"""Topology spread constraints that must hold."""

from typing import Any

from tests.unit.kubernetes.manifests import HOST, ZONE, Little, app, node, pod

NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("c1")]  # the last is in no zone


def _spread(key: str = ZONE, selector: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    chosen = app("web") if selector is None else selector
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": chosen,
        **more,
    }


def _waiting(*constraints: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return pod("web", {"app": "web"}, topologySpreadConstraints=list(constraints), **spec)


def _web(name: str, **meta: Any) -> dict[str, Any]:
    found = pod(name, {"app": "web"})
    found["metadata"] |= meta
    return found


def test_no_domain_has_more_than_the_allowed_skew_above_the_emptiest() -> None:
    world = Little(NODES).put("a1", _web("1"))
    assert world.fits(_waiting(_spread())) == ["b1"]
    assert world.plugin(_waiting(_spread()), "a2") == ("PodTopologySpread", True)
    assert world.fits(_waiting(_spread(maxSkew=2))) == ["a1", "a2", "b1"]


def test_a_node_without_the_label_is_out_and_no_eviction_helps() -> None:
    assert Little(NODES).plugin(_waiting(_spread()), "c1") == ("PodTopologySpread", False)


def test_a_wish_keeps_nobody_away() -> None:
    world = Little(NODES).put("a1", _web("1"))
    assert world.fits(_waiting(_spread(whenUnsatisfiable="ScheduleAnyway"))) == ["a1", "a2", "b1", "c1"]


def test_only_pods_of_its_namespace_that_stay_count() -> None:
    other = pod("x", {"app": "web"}, namespace="other")
    world = Little(NODES).put("a1", other, _web("2", deletionTimestamp="2026-01-01T00:00:00Z"))
    assert world.fits(_waiting(_spread())) == ["a1", "a2", "b1"]


def test_fewer_domains_than_wanted_count_as_if_one_were_empty() -> None:
    world = Little(NODES).put("a1", _web("1")).put("b1", _web("2"))
    assert world.fits(_waiting(_spread(minDomains=2))) == ["a1", "a2", "b1"]
    assert world.fits(_waiting(_spread(minDomains=3))) == []


def test_a_pod_that_its_constraint_does_not_select_does_not_count_itself() -> None:
    world = Little(NODES).put("a1", pod("d", {"app": "db"}))
    assert world.fits(_waiting(_spread(selector=app("db")))) == ["a1", "a2", "b1"]


def test_an_empty_selector_counts_nobody_but_the_pod() -> None:
    world = Little(NODES).put("a1", _web("1"), _web("2"))
    assert world.fits(_waiting(_spread(selector={}))) == ["a1", "a2", "b1"]


def test_keys_of_labels_to_match_narrow_the_selector() -> None:
    world = Little(NODES).put("a1", pod("1", {"app": "web", "version": "1"}))
    waiting = _waiting(_spread(matchLabelKeys=["version", "absent"]))
    waiting["metadata"]["labels"]["version"] = "2"
    assert world.fits(waiting) == ["a1", "a2", "b1"]
    waiting["metadata"]["labels"]["version"] = "1"
    assert world.fits(waiting) == ["b1"]


def test_nodes_that_its_affinity_rules_out_count_only_if_it_says_so() -> None:
    world = Little(NODES).put("a1", _web("1"))
    chosen = {"nodeSelector": {ZONE: "a"}}
    assert world.fits(_waiting(_spread(), **chosen)) == ["a1", "a2"]
    assert world.fits(_waiting(_spread(nodeAffinityPolicy="Ignore"), **chosen)) == []


def test_nodes_whose_taints_it_does_not_tolerate_count_unless_it_says_otherwise() -> None:
    nodes = [*NODES[:2], node("b1", "b", taints=[{"key": "k", "effect": "NoSchedule"}])]
    world = Little(nodes).put("a1", _web("1"))
    assert world.fits(_waiting(_spread())) == []
    assert world.fits(_waiting(_spread(nodeTaintsPolicy="Honor"))) == ["a1", "a2"]


def test_the_mark_of_an_unschedulable_node_is_no_taint_of_it() -> None:
    world = Little([*NODES[:2], node("b1", "b", unschedulable=True)]).put("a1", _web("1"))
    assert world.fits(_waiting(_spread(nodeTaintsPolicy="Honor"))) == []


def test_only_nodes_with_all_labels_count() -> None:
    nodes = [node("a1", "a", labels={"rack": "1"}), node("a2", "a"), node("b1", "b", labels={"rack": "2"})]
    world = Little(nodes).put("a2", _web("1"), _web("2"))
    assert world.fits(_waiting(_spread(), _spread("rack"))) == ["a1", "b1"]


def test_several_constraints_must_all_hold() -> None:
    world = Little(NODES[:3]).put("a1", _web("1")).put("b1", _web("2"))
    assert world.fits(_waiting(_spread(), _spread(HOST))) == ["a2"]
