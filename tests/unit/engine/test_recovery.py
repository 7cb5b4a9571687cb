"""Gangs that lost tasks with their nodes: the others run on, and as little as can be moves to make them whole."""

from dataclasses import dataclass, field
from typing import Any

from tests.simulation.notebook import Notebook
from tests.unit.engine.scene import Scene

from dovetail.model.batch import Changes
from dovetail.model.event import DomainFailed, NodeCordoned, NodeHealthChanged
from dovetail.model.recovery import RecoveryNote


@dataclass
class Diary(Notebook):
    recoveries: list[RecoveryNote] = field(default_factory=list)

    def write(self, changes: Changes) -> None:
        super().write(changes)
        self.recoveries += changes.recoveries


def scene_of(leaves: dict[str, int], cpu: float = 4, **recovery: Any) -> Scene:
    """Nodes a0, a1, … in leaf a."""
    scene = Scene(recovery=recovery)
    scene.notebook = Diary()
    for leaf, count in leaves.items():
        for number in range(count):
            scene.join(f"{leaf}{number}", cpu, labels={"leaf": leaf})
    return scene


def diary(scene: Scene) -> list[RecoveryNote]:
    assert isinstance(scene.notebook, Diary)
    return scene.notebook.recoveries


def run_gang(scene: Scene, name: str = "train", tasks: int = 3, **fields: Any) -> None:
    scene.run(name, 4, replicas=tasks, gang={"min": tasks}, **fields)


IN_ONE_LEAF = {"required": "leaf"}


def test_a_lost_task_is_replaced_in_the_same_leaf_and_the_others_run_on() -> None:
    scene = scene_of({"a": 4, "b": 4})
    run_gang(scene, topology=IN_ONE_LEAF)
    leaf = scene.on("train")[0][0]
    lost = scene.on("train")[1]
    before = {live.node: live.attempt for live in scene.work("train").tasks.values()}
    scene.leave(lost)
    assert len(scene.on("train")) == 3, "it was replaced before the event was over"
    assert {node[0] for node in scene.on("train")} == {leaf}
    assert lost not in scene.on("train")
    assert [stop.node for stop in scene.stops] == [lost], "only the lost one is told"
    kept = {live.node: live.attempt for live in scene.work("train").tasks.values() if live.node in before}
    assert set(kept.values()) == {1}
    (note,) = diary(scene)
    assert (note.outcome, note.lost, note.moved, note.took_s) == ("whole", 1, 0, 0.0)
    (new,) = set(scene.on("train")) - set(before)
    assert note.message == f"gang train lost 1 of 3 on {lost}: replaced on {new} (same leaf as all 2 others)"


def crowded(**recovery: Any) -> Scene:
    """Leaf a: a gang on three nodes, one single on the fourth; leaf b: one node, empty."""
    scene = scene_of({"a": 3}, **recovery)
    run_gang(scene, topology=IN_ONE_LEAF)
    scene.join("a3", 4, labels={"leaf": "a"})
    scene.run("batch", 2, priority="low")
    assert scene.on("batch") == ["a3"]
    scene.join("b0", 4, labels={"leaf": "b"})
    return scene


def test_a_single_makes_way_and_the_room_is_kept_for_both_until_it_has_gone() -> None:
    scene = crowded()
    scene.leave("a1")
    assert scene.stopping() == ["batch.0"]
    assert scene.on("train") == ["a0", "a2"]
    assert "lost 1 of 3 on a1, is being replaced; moved batch.0 away" in scene.why("train")[1]
    scene.submit("greedy", 4, replicas=2)
    assert scene.tick() == [], "both the cleared node and the one it moves to are kept"
    scene.stopped("batch")
    assert scene.tick(5) == ["batch.0", "train.1"]
    assert (scene.on("train"), scene.on("batch")) == (["a0", "a2", "a3"], ["b0"])
    assert [(note.outcome, note.moved) for note in diary(scene)] == [("moving", 1), ("whole", 1)]
    assert diary(scene)[-1].took_s == 5.0
    assert not scene.engine._state.recoveries


def test_who_may_not_be_disturbed_or_is_more_urgent_stays_and_the_gang_waits_honestly() -> None:
    for fields in ({"disruption": {"allowed": False}}, {"priority": "critical"}, {"gang": {"min": 1}}):
        scene = scene_of({"a": 3})
        run_gang(scene, topology=IN_ONE_LEAF)
        scene.join("a3", 4, labels={"leaf": "a"})
        scene.run("other", 2, **fields)
        scene.join("b0", 4, labels={"leaf": "b"})
        scene.leave("a1")
        assert scene.stopping() == ["train.0", "train.2"]
        assert "lost 1 of 3 on a1, no replacement fits" in scene.why("train")[1]
        scene.stopped()
        assert scene.tick() == []
        assert diary(scene)[-1].outcome == "given_up"


def test_a_gang_moves_to_another_leaf_as_a_whole_if_its_own_has_no_room() -> None:
    scene = scene_of({"a": 3})
    run_gang(scene, topology=IN_ONE_LEAF)
    for number in range(3):
        scene.join(f"b{number}", 4, labels={"leaf": "b"})
    scene.leave("a1")
    assert scene.stopping() == ["train.0", "train.2"]
    assert scene.on("train") == ["a0", "a2", "b1"], "the lost one starts there at once"
    scene.stopped()
    scene.tick()
    assert scene.on("train") == ["b0", "b1", "b2"]
    assert diary(scene)[-1].moved == 2


def test_a_slice_is_kept_in_one_rack_by_rank() -> None:
    scene = Scene()
    for rack in "abc":
        for number in range(3):
            scene.join(f"{rack}{number}", 4, labels={"rack": rack})
    run_gang(scene, tasks=4, topology={"slices": [{"size": 2, "within": "rack"}]})
    racks = [scene.work("train").tasks[rank].node[0] for rank in range(4)]  # type: ignore[index]
    assert racks[0] == racks[1]
    assert racks[2] == racks[3]
    lost = scene.work("train").tasks[2].node
    assert lost is not None
    scene.leave(lost)
    scene.tick()
    assert scene.work("train").tasks[2].node[0] == racks[3]  # type: ignore[index]
    assert scene.work("train").tasks[3].attempt == 1


def test_a_leaf_that_fails_is_cordoned_and_all_that_was_lost_is_planned_for_together() -> None:
    scene = scene_of({"a": 2, "b": 4, "c": 2})
    run_gang(scene, "one", 2, node_selector={"leaf": "a"})
    work = scene.work("one")
    scene.hear(DomainFailed("leaf", "a", "switch is dark"))
    assert not scene.on("one"), "nothing of it is left: it waits like anybody else"
    assert scene.notebook.nodes["a0"].cordoned
    assert "failed with leaf a: switch is dark" in scene.notebook.nodes["a0"].reason
    assert work.recovery is None
    scene.hear(NodeCordoned("a0", False, ""))
    scene.hear(NodeCordoned("a1", False, ""))
    assert len(scene.tick()) == 2


def test_a_broken_gang_holds_its_nodes_for_as_long_as_it_is_told_and_takes_what_comes() -> None:
    scene = scene_of({"a": 3}, hold="2m")
    run_gang(scene, topology=IN_ONE_LEAF)
    scene.leave("a1")
    assert scene.stopping() == []
    assert "keeps its nodes for 120 s" in scene.why("train")[1]
    scene.tick(60)
    assert scene.on("train") == ["a0", "a2"]
    scene.join("a9", 4, labels={"leaf": "a"})
    assert scene.tick(1) == ["train.1"]
    assert diary(scene)[-1].took_s == 61.0


def test_a_broken_gang_gives_its_nodes_back_when_nothing_came() -> None:
    scene = scene_of({"a": 3}, hold="2m")
    run_gang(scene, topology=IN_ONE_LEAF)
    scene.leave("a1")
    assert 120.0 in scene.wakes
    scene.tick(120)
    assert scene.stopping() == ["train.0", "train.2"]
    scene.stopped()
    scene.submit("next", 4, replicas=2)
    assert scene.tick() == ["next.0", "next.1"]


def test_a_restart_in_the_middle_goes_on_with_the_recovery() -> None:
    scene = crowded()
    scene.now = 10.0
    scene.leave("a1")
    scene.restart()
    recovery = scene.work("train").recovery
    assert recovery is not None
    assert (recovery.since, recovery.lost) == (10.0, {1: "a1"})
    scene.tick()
    scene.stopped()
    scene.tick(2)
    assert scene.on("train") == ["a0", "a2", "a3"]
    assert scene.on("batch") == ["b0"]
    assert len([stop for stop in scene.stops if stop.node == "a3"]) == 1, "it is not told twice"


def test_spares_are_left_empty_and_used_by_recoveries_alone() -> None:
    scene = scene_of({"a": 4}, spares={"level": "leaf", "nodes": 1})
    run_gang(scene, topology=IN_ONE_LEAF)
    scene.submit("more", 1)
    assert scene.tick() == [], "the fourth node is a spare one"
    assert scene.on("train") == ["a0", "a1", "a2"]
    scene.leave("a1")
    assert scene.on("train") == ["a0", "a2", "a3"]


def test_a_silent_node_keeps_its_tasks_unless_the_settings_say_for_how_long() -> None:
    for after, expected in ((None, ["a0", "a1", "a2"]), ("1m", ["a0", "a2", "a3"])):
        scene = scene_of({"a": 4}, lost_after=after)
        run_gang(scene, topology=IN_ONE_LEAF)
        scene.hear(NodeHealthChanged("a1", False, "no heartbeat"))
        scene.tick(30)
        assert scene.on("train") == ["a0", "a1", "a2"]
        scene.tick(31)
        assert scene.on("train") == expected


def test_a_node_that_speaks_again_in_time_loses_nothing() -> None:
    scene = scene_of({"a": 4}, lost_after="1m")
    run_gang(scene)
    scene.hear(NodeHealthChanged("a1", False, "no heartbeat"))
    scene.tick(30)
    scene.hear(NodeHealthChanged("a1", True, ""))
    scene.tick(60)
    assert scene.on("train") == ["a0", "a1", "a2"]


def test_switched_off_a_broken_gang_goes_back_whole() -> None:
    scene = scene_of({"a": 4}, enabled=False)
    run_gang(scene, topology=IN_ONE_LEAF)
    scene.leave("a1")
    assert scene.stopping() == ["train.0", "train.2"]


def test_a_storm_is_rate_limited_and_the_others_wait_for_their_turn() -> None:
    scene = scene_of({}, rate=1)
    for leaf in "ab":
        for number in range(2):
            scene.join(f"{leaf}{number}", 4, labels={"leaf": leaf})
        run_gang(scene, f"train-{leaf}", 2, node_selector={"leaf": leaf})
        scene.join(f"{leaf}9", 4, labels={"leaf": leaf})
        either = {"match": [{"key": "leaf", "operator": "In", "values": [leaf, "c"]}]}
        scene.run(f"batch-{leaf}", 2, priority="low", node_affinity={"required": [either]})
    scene.join("c0", 4, labels={"leaf": "c"})
    scene.leave("a0")
    scene.leave("b0")
    assert scene.stopping() == ["batch-a.0"]
    assert scene.on("train-b") == ["b1"], "it keeps its node meanwhile"
    scene.stopped()
    scene.tick(2)
    assert scene.on("train-a") == ["a1", "a9"]
    scene.tick(30)
    assert scene.stopping() == []
    scene.tick(30)
    assert scene.stopping() == ["batch-b.0"], "a minute later there is room for another move"
    scene.stopped()
    scene.tick(2)
    assert scene.on("train-b") == ["b1", "b9"]


def test_cancelling_a_gang_in_recovery_gives_everything_back() -> None:
    scene = crowded()
    scene.leave("a1")
    scene.cancel("train")
    scene.stopped()
    scene.tick()
    assert scene.record("train").state == "cancelled"
    assert not scene.engine._state.recoveries
    assert not scene.engine._state.cluster.resources.reserved.any()
    assert len(scene.on("batch")) == 1


def test_a_recovery_says_how_near_the_replacement_is_to_the_others() -> None:
    scene = scene_of({"a": 8, "b": 1})
    run_gang(scene, tasks=9, topology={"preferred": "leaf"})
    scene.join("a8", 4, labels={"leaf": "a"})
    scene.leave("a3")
    expected = "same leaf as 7 of its 8 others"
    assert diary(scene)[-1].message == f"gang train lost 1 of 9 on a3: replaced on a8 ({expected})"
    assert scene.decisions[-1].explanation.notes == (f"replaces the task lost on a3: {expected}",)


def test_where_nobody_is_near_a_replacement_nothing_is_said_of_it() -> None:
    scene = scene_of({"a": 3})
    run_gang(scene, topology={"preferred": "leaf"})
    scene.join("b0", 4, labels={"leaf": "b"})
    scene.leave("a1")
    assert diary(scene)[-1].message == "gang train lost 1 of 3 on a1: replaced on b0"


def test_in_a_storm_of_events_those_broken_before_wait_for_their_turn_and_fresh_ones_do_not() -> None:
    scene = scene_of({"a": 2, "b": 3}, hold="1m")
    run_gang(scene, "first", 2, node_selector={"leaf": "a"})
    run_gang(scene, "second", 2, node_selector={"leaf": "b"})
    scene.leave("a0")
    assert scene.work("first").recovery is not None
    scene.join("a9", 4, labels={"leaf": "a"})
    scene.leave(scene.on("second")[0])
    assert len(scene.on("second")) == 2, "what was lost now is replaced now"
    assert scene.on("first") == ["a1"], "looked at a moment ago"
    scene.tick(1)
    assert scene.on("first") == ["a1", "a9"]
