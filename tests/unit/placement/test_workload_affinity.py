"""Near to and apart from other work, rule by rule, on clusters small enough to see why."""

from typing import Any

import pytest
from tests.unit.placement.scene import cluster_of, scored
from tests.unit.placement.workload_affinity_scene import Society

from dovetail.model.reason import Eviction

WEB: dict[str, Any] = {"labels": {"app": "web"}}


def near(**how: Any) -> list[dict[str, Any]]:
    return [{"near": WEB, **how}]


def apart(**how: Any) -> list[dict[str, Any]]:
    return [{"apart": WEB, **how}]


def test_near_means_in_one_domain_with_any_of_them() -> None:
    society = Society.of(zone="aabb-")
    society.place(1, "front", **WEB)
    assert society.allowed("workload_affinity", affinity=near(within="zone")) == "xx..."
    assert society.allowed("workload_affinity", affinity=near(within="host")) == ".x..."
    society.place(3, "front", **WEB)
    assert society.allowed("workload_affinity", affinity=near(within="zone")) == "xxxx."


def test_a_node_without_the_label_is_near_to_nobody_and_apart_from_everybody() -> None:
    society = Society.of(zone="a--")
    society.place(1, "front", **WEB)
    assert society.allowed("workload_affinity", affinity=near(within="zone")) == "..."
    assert society.allowed("workload_affinity", affinity=apart(within="zone")) == "xxx"
    assert society.allowed("workload_affinity", affinity=apart(within="host")) == "x.x"


def test_apart_means_in_no_domain_with_any_of_them() -> None:
    society = Society.of(zone="aabb-")
    society.place(1, "front", **WEB)
    assert society.allowed("workload_affinity", affinity=apart(within="zone")) == "..xxx"
    assert society.allowed("workload_affinity", affinity=apart()) == "x.xxx"


def test_only_tasks_of_the_namespaces_that_are_meant_count() -> None:
    society = Society.of(zone="ab")
    society.place(0, "front", namespace="y", **WEB)
    assert society.allowed("workload_affinity", affinity=apart(within="zone")) == "xx"
    for spaces in (["y"], ["*"], ["default", "y"]):
        rule = [{"apart": WEB | {"namespaces": spaces}, "within": "zone"}]
        assert society.allowed("workload_affinity", affinity=rule) == ".x"


def test_the_first_of_those_that_want_to_be_together_may_go_to_any_domain() -> None:
    society = Society.of(zone="ab-")
    assert society.allowed("workload_affinity", affinity=near(within="zone")) == "..."
    assert society.allowed("workload_affinity", affinity=near(within="zone"), **WEB) == "xx."
    assert society.allowed("workload_affinity", affinity=near(distance=10), **WEB) == "xxx"


def test_distance_counts_from_the_nearest_of_them() -> None:
    society = Society.of(rack="aab")  # one level: 50 within a rack, 100 beyond
    society.place(0, "front", **WEB)
    assert society.allowed("workload_affinity", affinity=near(distance=50)) == "xx."
    assert society.allowed("workload_affinity", affinity=near(distance=0)) == "x.."
    assert society.allowed("workload_affinity", affinity=apart(distance=50)) == "..x"
    assert society.allowed("workload_affinity", affinity=apart(distance=0)) == ".xx"


def test_regions_are_found_under_their_conventional_label() -> None:
    label = "topology.kubernetes.io/region"
    society = Society(cluster_of({"labels": {label: "e"}}, {"labels": {label: "e"}}, {"labels": {label: "w"}}))
    society.place(0, "db")
    assert society.allowed("workload_affinity", affinity=[{"in_same_region": ["db"]}]) == "xx."
    assert society.allowed("workload_affinity", affinity=[{"in_different_regions": ["other", "db"]}]) == "..x"


def test_in_n_regions_goes_to_a_new_one_until_there_are_so_many_and_then_stays() -> None:
    society = Society.of(region="eeww s-".replace(" ", ""))
    rule = [{"in_n_regions": ["db"], "n": 2}]
    assert society.allowed("workload_affinity", affinity=rule) == "xxxxx."
    society.place(0, "db")
    assert society.allowed("workload_affinity", affinity=rule) == "..xxx."
    society.place(2, "db")
    assert society.allowed("workload_affinity", affinity=rule) == "xxxx.."


def test_work_that_runs_keeps_those_away_that_it_must_be_apart_from() -> None:
    society = Society.of(zone="aab")
    hermit = society.place(0, "hermit", affinity=apart(within="zone"))
    assert society.allowed("workload_affinity", "front", **WEB) == "..x"
    assert society.allowed("workload_affinity", "db", labels={"app": "db"}) == "xxx"
    society.cluster.remove(hermit)
    assert society.allowed("workload_affinity", "front", **WEB) == "xxx"


def test_work_that_only_wishes_to_be_apart_keeps_nobody_away() -> None:
    society = Society.of(zone="ab")
    society.place(0, "hermit", affinity=apart(within="zone", weight=1))
    assert society.allowed("workload_affinity", "front", **WEB) == "xx"


def test_members_of_a_conflict_set_share_no_domain_with_another_workload_of_it() -> None:
    society = Society.of(zone="aab")
    society.place(0, "one", conflicts=["licence"])
    assert society.allowed("workload_affinity", "one", conflicts=["licence"]) == "xxx"
    assert society.allowed("workload_affinity", "two", conflicts=["licence"]) == ".xx"
    assert society.allowed("workload_affinity", "two", conflicts=[{"set": "licence", "within": "zone"}]) == "..x"
    assert society.allowed("workload_affinity", "two", conflicts=["other"]) == "xxx"
    assert society.allowed("workload_affinity", "two", namespace="y", conflicts=["licence"]) == "xxx"


def test_an_earlier_workload_of_the_same_name_that_was_in_no_set_hides_no_conflict() -> None:
    """It is being stopped, say, while the new one of its name waits."""
    society = Society.of(zone="aab")
    society.place(0, "one", conflicts=["licence"])
    society.place(1, "two")
    assert society.allowed("workload_affinity", "two", conflicts=[{"set": "licence", "within": "zone"}]) == "..x"


# --- words -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "reason", "words", "eviction"),
    [
        (
            {"affinity": near(within="zone")},
            "affinity_unsatisfied",
            "would not be near to [app In web] within one zone",
            Eviction.NEVER,
        ),
        (
            {"affinity": [{"apart": "db", "distance": 20}]},
            "affinity_unsatisfied",
            "would not be apart from workload db within distance 20",
            Eviction.HELPS,
        ),
        (
            {"labels": {"app": "db"}},
            "kept_away",
            "work in this zone keeps it away: it must stay apart from [app In db] within one zone",
            Eviction.HELPS,
        ),
    ],
)
def test_a_refusal_names_the_rule_and_whether_eviction_would_help(
    fields: dict[str, Any], reason: str, words: str, eviction: Eviction
) -> None:
    society = Society.of(zone="ab")
    society.place(0, "db", affinity=[{"apart": {"labels": {"app": "db"}}, "within": "zone"}])
    refused = society.refused("workload_affinity", 0, **fields)
    assert (refused.filter, refused.reason, refused.message) == ("workload_affinity", reason, words)
    assert refused.eviction is eviction


# --- wishes ------------------------------------------------------------------------------------------------------


def test_a_wish_to_be_near_counts_with_its_weight() -> None:
    society = Society.of(zone="ab")
    society.place(0, "front", **WEB)
    request = society.ask(affinity=near(within="zone", weight=0.5))
    assert scored("preferred", society.cluster, request) == [0.5, 0.0]
    assert society.allowed("workload_affinity", affinity=near(within="zone", weight=0.5)) == "xx"


def test_a_wish_to_be_apart_counts_against_nodes_where_it_would_not_be() -> None:
    society = Society.of(zone="ab")
    society.place(0, "front", **WEB)
    request = society.ask(affinity=apart(within="zone", weight=1))
    assert scored("avoided", society.cluster, request) == [1.0, 0.0]
    assert scored("affinity", society.cluster, request) == [0.0, 0.5]


def test_wishes_about_work_and_about_labels_share_the_whole_by_their_weights() -> None:
    society = Society.of(zone="ab")
    society.place(0, "front", **WEB)
    term = {"match": [{"key": "zone", "operator": "In", "values": ["b"]}], "weight": 100}
    wishes: dict[str, Any] = {"affinity": near(within="zone", weight=1), "node_affinity": {"preferred": [term]}}
    assert scored("preferred", society.cluster, society.ask(**wishes)) == [0.5, 0.5]
