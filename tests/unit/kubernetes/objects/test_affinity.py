"""Pod affinity and anti-affinity, from the pod that waits and from those that run."""

from typing import Any

from tests.unit.kubernetes.manifests import HOST, ZONE, Little, apart, app, near, node, pod

NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("c1")]  # the last is in no zone
RED, BLUE = {"metadata": {"name": "red", "labels": {"team": "red"}}}, {"metadata": {"name": "blue", "labels": {}}}


def _world(**objects: Any) -> Little:
    return Little(NODES, namespaces=[RED, BLUE], **objects)


def test_a_pod_goes_where_its_company_is() -> None:
    world = _world().put("a1", pod("db", {"app": "db"}))
    waiting = pod(affinity=near(ZONE, app("db")))
    assert world.fits(waiting) == ["a1", "a2"]
    assert world.plugin(waiting, "b1") == ("InterPodAffinity", False)


def test_company_on_a_node_without_the_label_is_no_company() -> None:
    world = _world().put("c1", pod("db", {"app": "db"}))
    assert world.fits(pod(affinity=near(ZONE, app("db")))) == []


def test_the_first_of_those_that_select_themselves_goes_wherever_the_label_is() -> None:
    waiting = pod("web", {"app": "web"}, affinity=near(ZONE, app("web")))
    assert _world().fits(waiting) == ["a1", "a2", "b1"]
    assert _world().put("b1", pod("w", {"app": "web"})).fits(waiting) == ["b1"]
    assert _world().fits(pod(affinity=near(ZONE, app("web")))) == []


def test_all_terms_speak_of_the_same_pods() -> None:
    both = near(ZONE, app("db"))
    terms = both["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    terms.append({"topologyKey": HOST, "labelSelector": {"matchLabels": {"tier": "be"}}})
    world = _world().put("a1", pod("one", {"app": "db"})).put("a2", pod("other", {"tier": "be"}))
    assert world.fits(pod(affinity=both)) == []
    assert world.put("b1", pod("whole", {"app": "db", "tier": "be"})).fits(pod(affinity=both)) == ["b1"]


def test_the_first_one_needs_every_label_and_no_company_anywhere() -> None:
    both = near(ZONE, app("web"))
    terms = both["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    terms.append({"topologyKey": "rack", "labelSelector": app("web")})
    nodes = [node("r", "a", labels={"rack": "1"}), node("z", "a")]
    waiting = pod("web", {"app": "web"}, affinity=both)
    assert Little(nodes).fits(waiting) == ["r"]
    # One of them runs in the zone, but in no rack: the others are not the first any more.
    assert Little(nodes).put("z", pod("w", {"app": "web"})).fits(waiting) == []


def test_a_pod_stays_apart_in_the_whole_domain_and_where_there_is_none_is_not_kept_away() -> None:
    world = _world().put("a1", pod("db", {"app": "db"})).put("c1", pod("db2", {"app": "db"}))
    waiting = pod(affinity=apart(ZONE, app("db")))
    assert world.fits(waiting) == ["b1", "c1"]
    assert world.plugin(waiting, "a2") == ("InterPodAffinity", True)


def test_those_that_run_keep_others_away() -> None:
    world = _world().put("a1", pod("db", affinity=apart(ZONE, app("web"))))
    assert world.fits(pod("web", {"app": "web"})) == ["b1", "c1"]
    assert world.fits(pod("other", {"app": "other"})) == ["a1", "a2", "b1", "c1"]
    assert world.plugin(pod("web", {"app": "web"}), "a2") == ("InterPodAffinity", True)


def test_an_empty_selector_is_about_everybody_and_a_missing_one_about_nobody() -> None:
    world = _world().put("a1", pod("db", {"app": "db"}))
    assert world.fits(pod(affinity=apart(ZONE, {}))) == ["b1", "c1"]
    assert world.fits(pod(affinity=apart(ZONE, None))) == ["a1", "a2", "b1", "c1"]
    assert world.fits(pod(affinity=near(ZONE, None))) == []


def test_terms_are_about_the_pods_own_namespace_unless_they_name_others() -> None:
    world = _world().put("a1", pod("db", {"app": "db"}, namespace="red"))
    everywhere, not_a = ["a1", "a2", "b1", "c1"], ["b1", "c1"]
    for term, expected in (
        ({}, everywhere),
        ({"namespaces": ["red"]}, not_a),
        ({"namespaces": ["blue"]}, everywhere),
        ({"namespaceSelector": {}}, not_a),
        ({"namespaceSelector": {"matchLabels": {"team": "red"}}}, not_a),
        ({"namespaceSelector": {"matchLabels": {"team": "green"}}}, everywhere),
        ({"namespaceSelector": {"matchLabels": {"team": "green"}}, "namespaces": ["red"]}, not_a),
    ):
        assert world.fits(pod(affinity=apart(ZONE, app("db"), **term))) == expected, term


NO_TEAM = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}


def test_a_namespace_selector_that_holds_of_no_labels_means_all_namespaces_to_the_pod_that_waits() -> None:
    world = _world().put("a1", pod("db", {"app": "db"}, namespace="red"))
    assert world.fits(pod(affinity=apart(ZONE, app("db"), namespaceSelector=NO_TEAM))) == ["b1", "c1"]


def test_and_to_those_that_run_only_the_namespaces_it_selects() -> None:
    world = _world().put("a1", pod("db", affinity=apart(ZONE, {}, namespaceSelector=NO_TEAM)))
    assert world.fits(pod("web", {"app": "web"}, namespace="red")) == ["a1", "a2", "b1", "c1"]
    assert world.fits(pod("web", {"app": "web"}, namespace="blue")) == ["b1", "c1"]


def test_a_topology_key_is_that_label_whatever_levels_are_called() -> None:
    nodes = [node("n1", "a", labels={"node": "x"}), node("n2", "a", labels={"node": "x"}), node("n3", "a")]
    world = Little(nodes).put("n1", pod("db", {"app": "db"}))
    assert world.fits(pod(affinity=apart("node", app("db")))) == ["n3"]
    assert world.fits(pod(affinity=apart("zone", app("db")))) == ["n1", "n2", "n3"]


def test_pods_are_read_again_when_the_labels_of_a_namespace_change() -> None:
    world = _world().put("a1", pod("db", {"app": "db"}, namespace="blue"))
    waiting = pod(affinity=apart(ZONE, app("db"), namespaceSelector={"matchLabels": {"team": "red"}}))
    assert world.fits(waiting) == ["a1", "a2", "b1", "c1"]
    world.scene.reader.set_namespace({"metadata": {"name": "blue", "labels": {"team": "red"}}})
    assert world.fits(waiting) == ["b1", "c1"]
    world.scene.reader.drop_namespace("blue")
    assert world.fits(waiting) == ["a1", "a2", "b1", "c1"]
