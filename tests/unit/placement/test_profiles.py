"""The built-in profiles carry the documented weights, and selection does what each says."""

from typing import Any

import pytest
from pydantic import ValidationError
from tests.unit.placement.scene import choose, cluster_of, occupy, pipeline_of, request_for

from dovetail.placement.pipeline.profiles import BUILT_IN, DEFAULT_PROFILE, ProfileSettings, UnknownProfile


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        (
            "auto",
            {
                "affinity": 1000,
                "gpu_packing": 100,
                "gpu_support": 100,
                "resource_utilisation": 0.4,
                "load_balance": 0.3,
                "network_proximity": 0.1,
            },
        ),
        ("balanced", {"resource_utilisation": 40, "load_balance": 30, "affinity": 20, "network_proximity": 10}),
        (
            "network",
            {"load_balance": 1, "preferred": 0.3, "avoided": -0.5, "colocation": 0.2, "related_proximity": 1},
        ),
        ("least_loaded", {"least_loaded": 1}),
        ("best_fit", {"best_fit": 1}),
        ("resource_balance", {"resource_balance": 1}),
        (
            "gpu_topology",
            {
                "domain_availability": 40,
                "topology_alignment": 30,
                "domain_utilisation": 20,
                "domain_history": 10,
                "gpu_packing": 0.01,
                "gpu_model_preference": 0.001,
                "network_proximity": 0.0001,
            },
        ),
        (
            "gpu_packing",
            {"gpu_packing": 1, "domain_packing": 0.01, "gpu_model_preference": 0.001, "network_proximity": 0.0001},
        ),
        ("fragmentation", {"fragmentation": 1, "gpu_scarcity": 1}),
        ("round_robin", {}),
        ("random", {}),
    ],
)
def test_a_profile_has_exactly_the_documented_weights(name: str, weights: dict[str, float]) -> None:
    assert BUILT_IN[name].scores == weights
    assert BUILT_IN[name].select == (name if name in ("round_robin", "random") else "best")
    assert BUILT_IN[name].order == "priority"


def test_the_default_packs_gpus_keeps_their_cpus_free_and_balances_the_rest() -> None:
    assert DEFAULT_PROFILE == "auto"
    gpus: dict[str, Any] = {"capacity": {"cpu": 16, "memory": "64GiB", "gpu": 8, "slots": 20}}
    cluster = cluster_of(gpus, gpus, {}, {})
    pipeline = pipeline_of(cluster, **BUILT_IN["auto"].model_dump(include={"scores"}))
    occupy(cluster, 1, gpu=2)
    occupy(cluster, 2, cpu=1)
    assert choose(pipeline, cluster, request_for(cluster, resources={"gpu": 2}), 0).row == 1
    assert choose(pipeline, cluster, request_for(cluster, resources={"cpu": 2}), 1).row == 3


def test_filters_of_outsiders_run_before_those_about_room() -> None:
    filters = ProfileSettings(filters=["rack_limit", "ready"]).all_filters
    assert filters == (
        *("ready", "scope", "backend", "node_selector", "node_affinity", "taints", "gpu_model"),
        *("constraints", "workload_affinity", "spread", "bandwidth"),
        "rack_limit",
        *("promised", "gpus", "resources"),
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"scores": {"best_fit": float("nan")}},
        {"scores": {"best_fit": 1e9}},
        {"select": "worst"},
        {"on_filter_error": "ignore"},
        {"weights": {}},
    ],
)
def test_settings_that_make_no_sense_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ProfileSettings.model_validate(fields)


def test_an_unknown_profile_is_named_with_those_that_exist() -> None:
    message = str(UnknownProfile("balancd", list(BUILT_IN)))
    assert "unknown profile 'balancd'" in message
    assert "Did you mean 'balanced'?" in message
    assert "round_robin" in message


# --- selection ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("repeats", [False, True])
def test_the_highest_total_wins_and_ties_go_to_the_node_that_joined_first(repeats: bool) -> None:
    cluster = cluster_of({}, {}, {})
    occupy(cluster, 0, cpu=1)
    pipeline = pipeline_of(cluster, scores={"least_loaded": 1})
    request = request_for(cluster, resources={"cpu": 1})
    rows = [choose(pipeline, cluster, request, i, repeats=repeats).row for i in range(5)]
    assert rows == [1, 2, 0, 1, 2]


@pytest.mark.parametrize("repeats", [False, True])
def test_round_robin_goes_around_all_feasible_nodes(repeats: bool) -> None:
    cluster = cluster_of({}, {}, {}, {})
    cluster.set_cordoned("n2", True)
    pipeline = pipeline_of(cluster, select="round_robin")
    request = request_for(cluster)
    assert [choose(pipeline, cluster, request, i, repeats=repeats).row for i in range(5)] == [0, 1, 3, 0, 1]
    cluster.set_cordoned("n2", False)
    assert choose(pipeline, cluster, request, 5, repeats=repeats).row == 2


@pytest.mark.parametrize("repeats", [False, True])
def test_random_repeats_itself_with_the_same_seed_and_uses_every_node(repeats: bool) -> None:
    def rows(seed: int) -> list[int | None]:
        cluster = cluster_of({}, {}, {})
        pipeline = pipeline_of(cluster, seed, select="random")
        request = request_for(cluster)
        return [choose(pipeline, cluster, request, i, repeats=repeats).row for i in range(20)]

    assert rows(1) == rows(1)
    assert rows(1) != rows(2)
    assert set(rows(1)) == {0, 1, 2}


def test_a_random_choice_depends_on_the_task_not_on_what_was_asked_before() -> None:
    cluster = cluster_of(*[{}] * 8)
    pipeline = pipeline_of(cluster, select="random")
    request = request_for(cluster)
    first = pipeline.decide(request, "1.0").row
    for i in range(10):
        pipeline.decide(request, f"2.{i}")
    assert pipeline.decide(request, "1.0").row == first


def test_the_explanation_shows_points_weights_and_totals_of_the_best_nodes() -> None:
    cluster = cluster_of({}, {}, {"labels": {"disk": "nvme"}})
    occupy(cluster, 0, cpu=2)
    pipeline = pipeline_of(cluster, scores={"least_loaded": 10, "preferred": 5})
    wish = {"match": [{"key": "disk", "operator": "Exists"}]}
    explanation = choose(pipeline, cluster, request_for(cluster, node_affinity={"preferred": [wish]}), 0).explanation
    assert explanation.outcome == "placed"
    assert explanation.weights == (("least_loaded", 10.0), ("preferred", 5.0))
    assert [line.node for line in explanation.best] == ["n2", "n1", "n0"]
    assert explanation.best[0].points == (1.0, 1.0)
    assert [line.total for line in explanation.best] == [15.0, 10.0, 8.0]
    assert [step.remaining for step in explanation.funnel] == [3] * 14


def test_a_chosen_node_leads_the_explanation_even_if_others_score_higher() -> None:
    cluster = cluster_of({}, {}, {})
    occupy(cluster, 0, cpu=2)
    pipeline = pipeline_of(cluster, select="round_robin", scores={"least_loaded": 1})
    choice = pipeline.decide(request_for(cluster), "1.0")
    assert choice.row == 0
    assert [line.node for line in choice.explanation.best] == ["n0", "n1", "n2"]
