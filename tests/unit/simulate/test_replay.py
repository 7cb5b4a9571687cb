"""Simulations small enough to work out by hand, and large ones that must repeat themselves."""

from typing import Any

import pytest

from dovetail.engine.engine import Engine
from dovetail.model.command import Bind, Command
from dovetail.model.event import Event, Submitted, Tick
from dovetail.simulate.outcome import SimulationOutcome
from dovetail.simulate.replay import Simulation, Unplayable
from dovetail.simulate.scenario import Scenario

ONE_CORE: dict[str, Any] = {"nodes": [{"name": "only", "capacity": {"cpu": 1, "memory": "1GiB"}}]}


def job(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"cpu": 1}, "run": {"simulate": {"run_time": 100}}} | fields


def scenario(**fields: Any) -> Scenario:
    return Scenario.model_validate({"cluster": ONE_CORE} | fields)


def play(**fields: Any) -> SimulationOutcome:
    return Simulation.of(scenario(**fields)).run()


def busy_scenario(**fields: Any) -> Scenario:
    cluster = {
        "groups": [{"prefix": "n", "count": 20, "capacity": {"cpu": 64, "memory": "512GiB", "gpu": 8}}],
        "failure_rate": 0.05,
        "start_delay": "10s",
        "node_failures": {"mean_time_between": "5h", "repair_time": "10m"},
    }
    stream = {"rate": 0.03, "duration": "1h", "mix": {"finetuning": 1, "batch": 2}, "hopeless": 0.02}
    return scenario(cluster=cluster, stream=stream, horizon="2h", **fields)


# --- by hand -----------------------------------------------------------------------------------------------------


def test_waits_use_and_makespan_of_two_jobs_on_one_core() -> None:
    outcome = play(workloads=[job("a"), job("b", at="50s")])
    assert outcome.states == {"succeeded": 2}
    assert (outcome.waits.mean_s, outcome.waits.max_s, outcome.makespan_s) == (25.0, 50.0, 200.0)
    assert outcome.utilisation["cpu"].mean == 1.0
    assert outcome.queue.mean == pytest.approx(50 / 200)
    assert outcome.running.peak == 1


def test_shares_of_one_gpu_run_side_by_side_and_whole_ones_wait() -> None:
    node = {"name": "only", "capacity": {"cpu": 8}, "gpus": [{"count": 1, "model": "H100"}]}
    shares = [job(f"share{i}", resources={"cpu": 1, "gpu": 0.4}) for i in range(3)]
    whole = job("whole", resources={"cpu": 1, "gpu": 1, "gpu_model": ["H100"]}, at="10s")
    outcome = play(cluster={"nodes": [node]}, workloads=[*shares, whole])
    assert outcome.states == {"succeeded": 4}
    assert outcome.makespan_s == 300.0, "two shares, then the third, which the whole one has to wait for"


def test_a_start_delay_counts_as_use_not_as_wait() -> None:
    outcome = play(cluster=ONE_CORE | {"bind_delay": 5, "start_delay": 20}, workloads=[job("a")])
    assert (outcome.waits.max_s, outcome.makespan_s) == (0.0, 125.0)


def test_what_never_fits_is_reported_with_its_reason() -> None:
    outcome = play(workloads=[job("fits"), job("huge", resources={"cpu": 2})])
    assert outcome.states == {"succeeded": 1, "pending": 1}
    assert outcome.unplaced_by_reason == {"insufficient_resources": 1}
    assert "cpu short by" in outcome.unplaced[0].message


def test_the_horizon_ends_it_whatever_still_runs() -> None:
    outcome = play(workloads=[job("a"), job("b")], horizon="150s")
    assert outcome.ended_at_s == 150.0
    assert outcome.states == {"succeeded": 1, "running": 1}
    assert outcome.still_running == 1


def test_a_name_in_use_and_an_unknown_profile_are_turned_away_and_the_rest_goes_on() -> None:
    known = scenario(workloads=[job("a"), job("b", profile="magic")])
    arrivals = [*((0.0, spec) for spec in known.workloads), (10.0, known.workloads[0])]
    twice = Simulation(known.settings, known.cluster, arrivals, nodes=known.cluster.nodes).run()
    assert [turned["reason"] for turned in twice.turned_away] == ["invalid_strategy", "conflict"]
    assert twice.states == {"succeeded": 1}


def test_work_starts_after_what_it_waits_for_in_whatever_order_they_arrive() -> None:
    outcome = play(workloads=[job("last", after=[{"workload": "first"}]), job("first"), job("next", at="10s")])
    assert outcome.states == {"succeeded": 3}
    assert [(life.name, life.wait_s) for life in sorted(outcome.lives, key=lambda life: life.name)] == [
        ("first", 0.0),
        ("last", 100.0),
        ("next", 190.0),
    ]


def test_work_whose_dependencies_or_queue_cannot_be_had_is_turned_away() -> None:
    outcome = play(
        workloads=[
            job("a", after=[{"workload": "b"}]),
            job("b", after=[{"workload": "a"}]),
            job("c", after=[{"workload": "ghost"}]),
            job("d", queue="nowhere"),
            job("e"),
        ]
    )
    turned = {one["name"]: (one["reason"], one["message"]) for one in outcome.turned_away}
    assert {name: reason for name, (reason, _) in turned.items()} == {
        "a": "dependency",
        "b": "dependency",
        "c": "dependency",
        "d": "unknown_queue",
    }
    assert turned["a"][1].endswith("a -> b -> a")
    assert "no workload 'a'" in turned["b"][1]
    assert outcome.states == {"succeeded": 1}


def test_a_victim_runs_on_for_its_grace_period() -> None:
    victim = job("low", priority="batch", disruption={"grace": "30s"})
    outcome = play(workloads=[victim, job("high", priority="critical", at="10s")])
    waits = {life.name: life.wait_s for life in outcome.lives}
    assert waits["high"] == 30.0
    assert outcome.makespan_s == 10 + 30 + 100 + 100


def test_settings_whose_queues_make_no_tree_are_said_at_once() -> None:
    with pytest.raises(Unplayable, match="make no tree"):
        Simulation.of(scenario(workloads=[job("a")], settings={"queues": {"default": {"queues": {"x": {}}}}}))
    with pytest.raises(Unplayable, match="unknown ordering 'lifo'"):
        Simulation.of(scenario(workloads=[job("a")], settings={"schedulers": {"default": {"order": "lifo"}}}))


def test_a_drained_node_gives_its_work_to_another() -> None:
    nodes = [{"name": name, "capacity": {"cpu": 1}} for name in ("a", "b")]
    outcome = play(cluster={"nodes": nodes}, workloads=[job("moved")], events=[{"at": "40s", "drain": "a"}])
    assert outcome.states == {"succeeded": 1}
    assert (outcome.makespan_s, outcome.lives[0].attempts) == (140.0, 2)


def test_a_node_that_joins_later_takes_what_waited_for_it() -> None:
    joined = {"name": "large", "capacity": {"cpu": 4}}
    outcome = play(workloads=[job("wide", resources={"cpu": 3})], events=[{"at": "1h", "join": joined}])
    assert outcome.waits.max_s == 3600.0
    assert outcome.states == {"succeeded": 1}


def test_a_failed_node_takes_nothing_until_it_is_repaired() -> None:
    events = [{"at": "10s", "fail": "only"}, {"at": "60s", "repair": "only"}]
    outcome = play(workloads=[job("a", retries=1)], events=events)
    assert (outcome.makespan_s, outcome.states) == (160.0, {"succeeded": 1})


def test_shares_of_tenants_add_up() -> None:
    outcome = play(workloads=[job("a", namespace="x"), job("b", namespace="y"), job("c", namespace="y")])
    assert {name: tenant.shares["cpu"] for name, tenant in outcome.tenants.items()} == {
        "x": pytest.approx(1 / 3),
        "y": pytest.approx(2 / 3),
    }


def test_settings_that_cannot_be_decided_by_are_said_at_once() -> None:
    with pytest.raises(Unplayable, match="Did you mean 'balanced'"):
        Simulation.of(scenario(workloads=[job("a")]), profile="balancd")


def test_arrivals_out_of_order_are_refused() -> None:
    known = scenario(workloads=[job("a")])
    late = [(10.0, known.workloads[0]), (5.0, known.workloads[0])]
    with pytest.raises(ValueError, match="not in order"):
        Simulation(known.settings, known.cluster, late, nodes=known.cluster.nodes).run()


# --- the same again ----------------------------------------------------------------------------------------------


def test_the_same_scenario_and_seed_give_the_same_commands() -> None:
    first, second = Simulation.of(busy_scenario(), 7).run(), Simulation.of(busy_scenario(), 7).run()
    assert first.digest == second.digest
    assert first.to_dict(every_workload=True) == second.to_dict(every_workload=True)
    assert first.states["failed"]


def test_another_seed_or_profile_gives_other_commands() -> None:
    digests = {Simulation.of(busy_scenario(), seed).run().digest for seed in (7, 8)}
    digests.add(Simulation.of(busy_scenario(), 7, "best_fit").run().digest)
    assert len(digests) == 3


def test_an_engine_fed_the_recorded_events_gives_the_same_commands() -> None:
    known = busy_scenario()
    recorded: list[tuple[float, Event, list[Command]]] = []
    simulation = Simulation(
        known.settings,
        known.cluster,
        known.arrivals(3),
        3,
        nodes=known.cluster.fleet(),
        horizon_s=known.horizon,
        watch=lambda now, event, commands: recorded.append((now, event, commands)),
    )
    simulation.run()
    engine = Engine(known.settings.model_copy(update={"seed": 3}))
    for now, event, commands in recorded:
        assert engine.handle(event, now) == commands
        if isinstance(event, Tick):
            engine.take_changes(now)
    assert any(isinstance(event, Submitted) for _, event, _ in recorded)
    assert sum(isinstance(command, Bind) for _, _, commands in recorded for command in commands) > 100


def test_a_full_queue_and_an_unknown_policy_are_turned_away_as_in_production() -> None:
    queues = {"team": {"max_workloads": 1}}
    big = {"resources": {"cpu": 10_000}}
    outcome = play(
        settings={"queues": queues},
        horizon="10s",
        workloads=[
            job("first", queue="team", **big),
            job("second", queue="team", **big),
            job("ruled", policies=["ghost"]),
        ],
    )
    turned = {one["name"]: (one["reason"], one["message"]) for one in outcome.turned_away}
    assert {name: reason for name, (reason, _) in turned.items()} == {"second": "conflict", "ruled": "unknown_policy"}
    assert "takes no more than 1" in turned["second"][1]
