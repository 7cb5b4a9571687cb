"""Why work waits and what would help, one case at a time. That they do help is tested in `tests/property`."""

from typing import Any

from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.suggestions.suggestions import Impasse, Suggestion, impasse
from dovetail.model.event import NodeCordoned, NodeDrained, PolicySet
from dovetail.model.policy import Policy
from dovetail.model.workloads.workload import Workload

GPU_TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def asked(scene: Scene, **fields: Any) -> Impasse:
    """Of a workload that was submitted, and waits."""
    spec = {"name": "waits", "resources": {"cpu": 1}} | fields
    scene.submit("waits", **fields)
    scene.tick()
    return whole(impasse(scene.engine._state, Workload.model_validate(spec), scene.work("waits"), scene.now))


def core(found: Impasse) -> list[tuple[str, str, int]]:
    return [(member.requirement, member.field, member.nodes_alone) for member in found.core]


def of_kind(found: Impasse, kind: str) -> Suggestion:
    matching = [one for one in found.suggestions if one.kind == kind]
    assert matching, f"only {[one.words for one in found.suggestions]}"
    return matching[0]


# --- the core --------------------------------------------------------------------------------------------------


def test_the_core_names_the_fewest_requirements_that_no_node_satisfies_together() -> None:
    scene = Scene()
    scene.join("n1", labels={"zone": "a"}, capacity={"memory": "48GiB"})
    scene.join("n2", labels={"zone": "b"}, capacity={"memory": "64GiB"})
    found = asked(scene, resources={"memory": "64GiB", "cpu": 1}, node_selector={"zone": "a"})
    assert core(found) == [("zone=a", "node_selector.zone", 1), ("memory 64GiB free", "resources.memory", 1)]
    assert found.core_exact


def test_something_that_no_node_has_is_a_core_by_itself() -> None:
    scene = Scene()
    scene.join("n1", labels={"zone": "a"})
    found = asked(scene, resources={"example.com/fpga": 1}, node_selector={"zone": "c"})
    assert len(found.core) == 1
    assert found.core[0].nodes_alone == 0


def test_each_part_of_an_expression_is_a_requirement_of_its_own() -> None:
    scene = Scene()
    scene.join("n1", labels={"zone": "a"}, cpu=4)
    scene.join("n2", labels={"zone": "b"}, cpu=8)
    text = 'node.labels.zone == "a" && node.name.startsWith("n") && node.capacity.cpu > 4.0'
    found = asked(scene, constraints=[{"require": text}])
    assert core(found) == [
        ('node.labels.zone == "a"', "constraints[0].require", 1),
        ("node.capacity.cpu > 4.0", "constraints[0].require", 1),
    ]


def test_a_policy_is_named_in_the_core_and_no_suggestion_changes_it() -> None:
    scene = Scene()
    scene.join("n1", labels={"disk": "hdd"})
    constraint = {"require": 'node.labels.disk == "nvme"'}
    attached = {"name": "fast-disks", "constraints": [constraint], "applies_to": {"namespaces": ["default"]}}
    scene.hear(PolicySet(Policy.model_validate(attached), 1))
    found = asked(scene)
    assert core(found) == [('node.labels.disk == "nvme"', "policy fast-disks", 0)]
    assert found.suggestions == ()


def test_wishes_that_are_insisted_on_are_no_part_of_the_core() -> None:
    scene = Scene()
    scene.join("n1", cpu=2, labels={"zone": "a"})
    wish = {"priority": 1, "match": [{"key": "zone", "operator": "In", "values": ["b"]}]}
    found = asked(scene, resources={"cpu": 4}, node_affinity={"preferred": [wish]})
    assert core(found) == [("cpu 4 free", "resources.cpu", 0)]


def test_where_a_node_would_take_one_task_it_is_said_how_many_fit() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.join("n2", cpu=2)
    found = asked(scene, replicas=8, gang={"min": 8})
    assert found.core == ()
    assert found.waits_for == "free capacity for more: 6 of 8 tasks fit at once"
    assert of_kind(found, "gang").patch == {"gang": {"min": 6}, "concurrency": 6}


def test_work_over_its_quota_waits_for_that() -> None:
    scene = Scene(queues={"research": {"maximum": {"cpu": 4}}, "ml": {}})
    scene.join("n1", cpu=16)
    scene.run("old", cpu=2, queue="research")
    found = asked(scene, resources={"cpu": 4}, queue="research")
    assert found.core == ()
    assert found.waits_for.startswith("queue research: cpu 2 of 4 in use")
    assert of_kind(found, "resources").patch == {"resources": {"cpu": "2"}}
    assert of_kind(found, "queue").patch in ({"queue": "ml"}, {"queue": "default"})


# --- suggestions -----------------------------------------------------------------------------------------------


def test_less_is_asked_for_in_a_unit_that_people_write() -> None:
    scene = Scene()
    scene.join("n1", capacity={"memory": "50000MiB"})
    found = of_kind(asked(scene, resources={"memory": "64GiB"}), "resources")
    assert found.words == "ask for 48GiB memory instead of 64GiB"
    assert found.patch == {"resources": {"memory": "48GiB"}}


def test_another_zone_is_allowed_beside_the_one_that_was_selected() -> None:
    scene = Scene()
    scene.join("n1", labels={"zone": "b"})
    found = of_kind(asked(scene, node_selector={"zone": "a"}), "labels")
    assert found.words == "allow zone b"
    match = {"key": "zone", "operator": "In", "values": ["a", "b"]}
    assert found.patch == {"node_selector": None, "node_affinity": {"required": [{"match": [match]}]}}


def test_two_selected_labels_are_widened_together_where_that_is_what_it_takes() -> None:
    scene = Scene()
    scene.join("n1", labels={"zone": "b", "disk": "hdd"})
    found = of_kind(asked(scene, node_selector={"zone": "a", "disk": "nvme"}), "several")
    assert found.words == "allow disk hdd and allow zone b"
    assert found.patch is not None
    [term] = found.patch["node_affinity"]["required"]
    assert [match["key"] for match in term["match"]] == ["disk", "zone"]


def test_a_taint_is_tolerated() -> None:
    scene = Scene()
    scene.join("n1", taints=[GPU_TAINT])
    found = of_kind(asked(scene), "tolerations")
    assert found.words == "tolerate dedicated=gpu"
    assert found.patch is not None
    assert found.patch["tolerations"][0]["value"] == "gpu"


def test_a_comparison_in_an_expression_gets_more_values_and_the_rest_stays() -> None:
    scene = Scene()
    scene.join("n1", labels={"zone": "b"})
    text = 'node.load < 0.9 && node.labels.zone == "a"'
    found = of_kind(asked(scene, constraints=[{"require": text}]), "constraints")
    assert found.words == "allow zone b"
    assert found.patch == {"constraints": [{"require": 'node.load < 0.9 && node.labels.zone in ["a", "b"]'}]}


def test_a_bound_in_an_expression_is_moved_no_further_than_it_must() -> None:
    scene = Scene()
    scene.join("n1", capacity={"memory": "50000MiB"})
    found = of_kind(asked(scene, constraints=[{"require": "node.free.memory > GiB(64)"}]), "constraints")
    assert found.patch == {"constraints": [{"require": "node.free.memory > GiB(48)"}]}


def test_an_expression_of_another_kind_is_dropped() -> None:
    scene = Scene()
    scene.join("n1", labels={"spot": "yes"})
    found = of_kind(asked(scene, constraints=[{"require": "!has(node.labels.spot)"}]), "constraints")
    assert found.words == "drop the constraint !has(node.labels.spot)"
    assert found.patch == {"constraints": None}


def test_the_end_of_running_work_is_waited_for() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("old", cpu=4, deadline={"run_for": "1h"})
    found = of_kind(asked(scene, resources={"cpu": 4}, priority="batch"), "wait")
    assert found.words == "wait about 1 h: 1 task on n1 will have ended"
    assert found.action == {"wait_until": 3600.0}
    assert found.patch is None


def test_others_are_evicted_only_if_they_may_be_disturbed() -> None:
    scene = Scene()
    scene.join("n1")
    scene.join("n2")
    scene.run("kept", cpu=4, disruption={"allowed": False})
    scene.run("batch-7", cpu=4)
    found = asked(scene, resources={"cpu": 4})
    assert of_kind(found, "evict").words == "evict batch-7"
    assert of_kind(found, "evict").action == {"evict": ["default/batch-7.0"]}
    raised = of_kind(found, "priority")
    assert (raised.patch, raised.words) == (
        {"priority": "high"},
        "raise its priority to high: batch-7 would be preempted",
    )


def test_a_cordoned_node_is_named_but_not_one_that_is_being_emptied() -> None:
    scene = Scene()
    for name in ("n1", "n2"):
        scene.join(name)
    scene.hear(NodeCordoned("n1", True, "new disk"))
    scene.hear(NodeDrained("n2", "sold"))
    found = asked(scene)
    assert found.core == ()
    assert [(one.words, one.action) for one in found.suggestions] == [
        ("run dovetail uncordon n1 (cordoned: new disk)", {"uncordon": "n1"})
    ]
    assert scene.engine._state.cluster.status.cordon_reasons["n1"] == "new disk"


def test_a_rule_about_other_work_is_dropped() -> None:
    scene = Scene()
    scene.join("n1", labels={"zone": "a"})
    scene.run("db")
    found = asked(scene, affinity=[{"apart": "db", "within": "zone"}])
    assert core(found) == [("a place apart from workload db within one zone", "affinity[0]", 0)]
    assert of_kind(found, "affinity").patch == {"affinity": None}


def test_leaving_a_conflict_set_also_keeps_its_other_members_from_keeping_away() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("loud", conflicts=["noise"])
    found = asked(scene, conflicts=["noise"])
    assert [member.field for member in found.core] == ["conflicts[0]"]
    assert of_kind(found, "conflicts").patch == {"conflicts": None}


def test_work_that_others_keep_away_is_told_so() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("shy", affinity=[{"apart": {"labels": {"app": "web"}}, "within": "host"}])
    found = asked(scene, labels={"app": "web"})
    assert [member.requirement for member in found.core] == ["no other work that repels it"]


def test_a_larger_skew_is_suggested_where_spread_stands_in_the_way() -> None:
    scene = Scene()
    scene.join("n1", labels={"zone": "a"}, cpu=8)
    scene.join("n2", labels={"zone": "b"}, cpu=1)
    found = asked(scene, replicas=4, spread=[{"over": "zone"}])
    raised = of_kind(found, "spread")
    assert raised.patch is not None
    assert raised.patch["spread"][0]["max_skew"] > 1


def test_of_work_that_runs_in_part_the_whole_is_considered() -> None:
    scene = Scene()
    scene.join("n1", cpu=6)
    found = asked(scene, resources={"cpu": 2}, replicas=4)
    assert scene.work("waits").holding == 3
    assert of_kind(found, "resources").patch == {"resources": {"cpu": "1500m"}}
    assert of_kind(found, "replicas").patch == {"concurrency": 3}


def test_many_replicas_are_counted_rather_than_placed() -> None:
    scene = Scene()
    for i in range(4):
        scene.join(f"n{i}", labels={"zone": "b"}, cpu=64, capacity={"slots": 1000})
    found = asked(scene, resources={"cpu": "100m"}, replicas=2000, node_selector={"zone": "a"})
    assert of_kind(found, "labels").words == "allow zone b"


def test_nothing_is_suggested_to_work_that_is_impossible() -> None:
    scene = Scene()
    scene.join("n1")
    found = asked(scene, resources={"example.com/fpga": 1})
    assert found.suggestions == ()
    assert found.core[0].field == "resources['example.com/fpga']"
