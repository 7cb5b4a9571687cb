"""Groups: workloads that ask for different things and start together, at the start and ever after."""

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.engine.scene import Scene
from tests.unit.engine.test_gang_layout import fabric, labels_of, take, told

from dovetail.model.event import DomainFailed
from dovetail.model.text.complaint import Invalid
from dovetail.model.workloads.reading import by_role, read_workloads
from dovetail.model.workloads.workload import Workload


def member(least: int, **more: Any) -> dict[str, Any]:
    return {"gang": {"min": least, "group": "g", **more}}


# --- roles ---------------------------------------------------------------------------------------------------

ROLES = """
name: train
resources: {cpu: 1, memory: 1GiB}
topology: {required: leaf}
labels: {team: nlp}
roles:
  - name: launcher
    run: {command: [launch]}
  - name: worker
    replicas: 4
    resources: {cpu: 2}
    labels: {fast: "yes"}
"""


def test_a_workload_with_roles_is_read_as_one_workload_a_role() -> None:
    launcher, worker = read_workloads(ROLES, "f.yaml")
    assert (launcher.name, worker.name) == ("train-launcher", "train-worker")
    assert (launcher.replicas, worker.replicas) == (1, 4)
    assert launcher.gang == worker.gang is not None
    assert (launcher.gang.group, launcher.gang.min) == ("train", 5) if launcher.gang else False
    assert launcher.resources.memory == 2**30, "what a role leaves out is as the workload has it"
    assert worker.resources.cpu == 2
    assert worker.labels == {"team": "nlp", "fast": "yes", "dovetail/role": "worker"}
    assert launcher.run.command == ["launch"]
    assert worker.run.command == []
    assert launcher.topology == worker.topology


@pytest.mark.parametrize(
    ("wrong", "field", "words"),
    [
        ("roles: [{name: a}, {name: a}]", "roles[1].name", "is given twice"),
        ("roles: [{name: a}]\nreplicas: 3", "replicas", "set by each role"),
        ("roles: [{name: a, replicas: 2}]\ngang: {min: 3}", "gang.min", "more than the 2 tasks"),
        ("roles: [{name: a}]\ngang: {min: 1, group: b}", "gang.group", "leave it out"),
        ("roles: [{name: a, resources: {cpu: 4}}]\nlimits: {cpu: 2}", "roles[0].limits.cpu", "is below"),
        ("roles: [{name: a, colour: red}]", "roles[0].colour", "unknown field"),
        (f"roles: [{{name: {'b' * 99}}}]", "roles[0].name", "longer than 100"),
    ],
)
def test_roles_that_make_no_sense_are_refused_with_their_line(wrong: str, field: str, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_workloads(f"name: train\n{wrong}\n", "f.yaml")
    (complaint,) = caught.value.complaints
    assert complaint.field == field
    assert words in complaint.message
    assert complaint.line is not None


# --- starting ------------------------------------------------------------------------------------------------


def test_a_group_waits_until_enough_of_it_is_there() -> None:
    scene = Scene()
    scene.join("n1", cpu=10)
    scene.submit("a", **member(3))
    assert scene.tick() == []
    assert scene.why("a") == ("group_incomplete", "its group g has 1 of 3 tasks")
    scene.submit("b", replicas=2, cpu=2, **member(3))
    assert scene.tick() == ["a.0", "b.0", "b.1"]


def test_a_group_starts_whole_or_not_at_all() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.submit("a", **member(3))
    scene.submit("b", replicas=2, cpu=2, **member(3))
    assert scene.tick() == []
    for name in ("a", "b"):
        reason, words = scene.why(name)
        assert reason == "insufficient_resources"
        assert words.startswith("3 tasks must start together, and a has no place: ")
    assert scene.engine._state.cluster.placements.by_task == {}
    scene.join("n2", cpu=1)
    assert scene.tick() == ["a.0", "b.0", "b.1"]


def test_a_group_comes_back_when_a_node_joins_that_only_the_other_member_fits() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.submit("a", cpu=1, **member(2))
    scene.submit("b", cpu=8, **member(2))
    assert scene.tick() == []
    scene.join("n2", cpu=8)
    assert sorted(scene.tick()) == ["a.0", "b.0"]


def test_members_beyond_the_least_follow_while_there_is_room() -> None:
    scene = Scene()
    scene.join("n1", cpu=3)
    scene.submit("a", **member(2))
    scene.submit("b", replicas=4, **member(2))
    assert len(scene.tick()) == 3
    scene.join("n2", cpu=2)
    assert len(scene.tick()) == 2


def test_many_alike_are_arranged_like_one_gang() -> None:
    scene = fabric()
    for number in range(8):
        scene.submit(f"p{number}", topology={"required": "leaf"}, **member(8))
    assert len(scene.tick()) == 8
    assert len({leaf for number in range(8) for leaf in labels_of(scene, f"p{number}", "leaf")}) == 1


def test_different_shapes_lie_in_one_domain() -> None:
    scene = fabric()  # leaves of 4 nodes with 2 cores
    take(scene, "n0", 1)
    scene.submit("a", replicas=2, cpu=2, topology={"required": "leaf"}, **member(6))
    scene.submit("b", replicas=4, cpu=1, topology={"required": "leaf"}, **member(6))
    assert len(scene.tick()) == 6
    leaves = {*labels_of(scene, "a", "leaf"), *labels_of(scene, "b", "leaf")}
    assert leaves == {"s0l1"} or len(leaves) == 1
    assert "s0l0" not in leaves, "that one is too full"


def test_a_group_that_fits_in_no_one_domain_says_so() -> None:
    scene = fabric(spines=1)
    for node in ("n0", "n4"):
        take(scene, node, 2)
    scene.submit("a", replicas=3, cpu=2, topology={"required": "leaf"}, **member(4))
    scene.submit("b", replicas=1, cpu=1, topology={"required": "leaf"}, **member(4))
    assert scene.tick() == []
    assert "4 tasks must start together, and b has no place" in scene.why("a")[1]


def test_a_quota_counts_all_members_together() -> None:
    queues = {"small": {"maximum": {"cpu": 3}}}
    scene = Scene(queues=queues)
    scene.join("n1", cpu=10)
    scene.submit("a", cpu=2, queue="small", **member(2))
    scene.submit("b", cpu=2, queue="small", **member(2))
    assert scene.tick() == []
    assert scene.why("a")[0] == "over_quota"


def test_less_urgent_work_gives_way_for_a_whole_group() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.join("n2", cpu=4)
    scene.run("low", cpu=1, replicas=8, priority="low")
    scene.submit("a", cpu=4, priority="high", **member(2))
    scene.submit("b", cpu=1, priority="high", **member(2))
    assert scene.tick() == []
    assert len(scene.stopping()) == 5
    assert scene.why("b")[0] == "preempting"
    scene.stopped("low")
    assert sorted(scene.tick())[:2] == ["a.0", "b.0"]


# --- ever after ----------------------------------------------------------------------------------------------


def started(scene: Scene) -> None:
    for name in ("a", "b"):
        scene.started(name)


def pair(scene: Scene, **more: Any) -> None:
    scene.submit("a", cpu=1, **member(4, **more))
    scene.submit("b", cpu=2, replicas=3, **member(4, **more), retries=2)
    assert len(scene.tick()) == 4
    started(scene)


def test_a_group_that_loses_a_node_gets_a_replacement_and_keeps_the_others() -> None:
    scene = Scene()
    for number in range(5):
        scene.join(f"n{number}", cpu=2)
    pair(scene)
    lost = scene.work("b").tasks[0].node
    scene.hear(DomainFailed("node", str(lost), "smoke"))
    placed = scene.tick()
    assert placed == ["b.0"]
    assert len(scene.stops) == 1, "only the lost one is told to stop"


def test_a_group_that_cannot_be_made_whole_gives_everything_back() -> None:
    scene = Scene()
    for number in range(4):
        scene.join(f"n{number}", cpu=2)
    pair(scene)
    lost = scene.work("b").tasks[0].node
    scene.hear(DomainFailed("node", str(lost), "smoke"))
    assert scene.tick() == []
    scene.stopped()
    assert scene.on("a") == scene.on("b") == []
    assert scene.tick() == []
    scene.join("n9", cpu=2)
    assert len(scene.tick()) == 4


def test_a_member_that_fails_for_good_fails_the_group() -> None:
    scene = Scene()
    for number in range(4):
        scene.join(f"n{number}", cpu=2)
    pair(scene)
    scene.end("a", code=1)
    assert scene.record("a").state == "failed"
    scene.stopped()
    assert scene.record("b").state == "failed"
    assert "1 of the 4 tasks of group g failed, and it needs 4" in scene.record("b").message


def test_what_a_finished_member_achieved_still_counts_after_a_restart() -> None:
    scene = Scene()
    for number in range(4):
        scene.join(f"n{number}", cpu=2)
    pair(scene)
    scene.end("a")
    assert scene.stops == []
    scene.restart()
    scene.end("b", 0)
    scene.end("b", 1)
    assert scene.stops == []
    scene.end("b", 2)
    assert scene.record("b").state == "succeeded"
    assert not scene.engine._state.groups.all()


def test_without_hold_the_others_run_on() -> None:
    scene = Scene()
    for number in range(4):
        scene.join(f"n{number}", cpu=2)
    pair(scene, hold=False)
    scene.end("a", code=1)
    assert scene.stops == []
    assert len(scene.on("b")) == 3


def test_a_gang_without_hold_runs_on_as_well() -> None:
    scene = Scene()
    scene.join("n1", cpu=3)
    scene.run("g", replicas=3, gang={"min": 3, "hold": False})
    scene.end("g", 0, code=1)
    assert scene.stops == []
    assert len(scene.on("g")) == 2


def test_a_cancelled_member_leaves_the_others_waiting_for_somebody_in_its_place() -> None:
    scene = Scene()
    for number in range(4):
        scene.join(f"n{number}", cpu=2)
    pair(scene)
    scene.cancel("a")
    scene.stopped()
    assert scene.on("b") == []
    assert scene.tick() == []
    scene.submit("a2", cpu=1, **member(4))
    assert len(scene.tick()) == 4


def test_a_group_that_lost_a_node_does_not_wait_for_a_member_that_is_cancelled_meanwhile() -> None:
    scene = Scene()
    for name in ("n1", "n2", "n3"):
        scene.join(name, cpu=1)
    for name in ("a", "b"):
        scene.submit(name, cpu=1, gang={"min": 2, "group": "g"})
    scene.tick()
    for name in ("a", "b"):
        scene.started(name)
    scene.leave(scene.on("a")[0])
    scene.cancel("a")
    scene.stopped()
    assert scene.on("b") == []
    scene.submit("a2", cpu=1, gang={"min": 2, "group": "g"})
    assert len(scene.tick()) == 2


# --- whatever happens ----------------------------------------------------------------------------------------


STEPS = ("tick", "end", "fail", "leave", "join", "lose", "stopped", "restart", "cancel")


def happen(scene: Scene, names: list[str], data: st.DataObject) -> None:
    step = data.draw(st.sampled_from(STEPS))
    if step == "tick":
        scene.tick(data.draw(st.sampled_from((0, 500))))
        for name in names:
            scene.started(name)
    elif step in ("end", "fail", "cancel"):
        _to_one(scene, names, data, step)
    elif step in ("leave", "lose", "join"):
        _to_a_node(scene, data, step)
    elif step == "stopped":
        scene.stopped()
    else:
        scene.restart()


def _to_one(scene: Scene, names: list[str], data: st.DataObject, step: str) -> None:
    live = [name for name in names if scene.ids[name] in scene.engine._state.work]
    running = [(n, replica) for n in live for replica, t in scene.work(n).tasks.items() if t.state == "running"]
    if step == "cancel" and live:
        scene.cancel(data.draw(st.sampled_from(live)))
    elif step != "cancel" and running:
        scene.end(*data.draw(st.sampled_from(running)), code=0 if step == "end" else 1)


def _to_a_node(scene: Scene, data: st.DataObject, step: str) -> None:
    nodes = list(scene.engine._state.cluster.rows)
    if step == "join":
        name = next(name for number in count() if (name := f"m{number}") not in nodes)  # nobody's, who might shrink
        scene.join(name, cpu=data.draw(st.integers(1, 4)))
    elif nodes and step == "leave":
        scene.leave(data.draw(st.sampled_from(nodes)))
    elif nodes:
        scene.hear(DomainFailed("node", data.draw(st.sampled_from(nodes)), "gone"))


@examples(60)
@given(st.data())
def test_a_group_is_whole_or_holds_nothing_whatever_happens(data: st.DataObject) -> None:
    scene = Scene()
    for number in range(3):
        scene.join(f"n{number}", cpu=data.draw(st.integers(1, 4)))
    names: list[str] = []
    for group in range(data.draw(st.integers(1, 3))):
        sizes = data.draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=3))
        least = sum(many for many, _ in sizes)
        for index, (many, cpu) in enumerate(sizes):
            name = f"w{group}x{index}"
            names.append(name)
            gang = {"min": least, "group": f"g{group}"}
            scene.submit(name, cpu=cpu, replicas=many, gang=gang, retries=data.draw(st.integers(0, 2)))
    for _ in range(data.draw(st.integers(1, 12))):
        happen(scene, names, data)
    scene.tick(500)
    scene.stopped()
    scene.tick(500)
    scene.stopped()
    for one in scene.engine._state.groups.all():
        assert not one.firm or not one.short, f"group {one.name} holds {one.firm} nodes and needs {one.short}"


def test_roles_reach_the_engine_by_any_door() -> None:
    scene = fabric()
    spec = Workload.model_validate({"name": "t", "roles": [{"name": "a"}, {"name": "b", "replicas": 2}]})
    for one in by_role(spec):
        scene.submit(**one.model_dump(exclude_unset=True, mode="json") | {"name": one.name})
    assert len(scene.tick()) == 3
    assert told(scene, "t-a").outcome == "placed"


def test_a_gang_is_a_group_with_one_member() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.submit("alone", cpu=1, replicas=2)
    scene.submit("gang", cpu=1, replicas=3, gang={"min": 2})
    (group,) = scene.engine._state.groups.all()
    assert group.is_solo
    assert (list(group.members), group.least, group.short) == ([scene.ids["gang"]], 2, 2)
    assert scene.engine._state.groups.named("default", "") is None
    scene.tick()
    assert (group.short, group.slack) == (0, 0)
    scene.end_all("alone")
    scene.tick()
    assert group.slack == 1
    scene.end_all("gang")
    assert not scene.engine._state.groups.all()


def test_after_a_restart_a_group_is_still_evicted_as_a_whole() -> None:
    scene = Scene()
    for number in range(4):
        scene.join(f"n{number}", cpu=2)
    pair(scene)
    scene.restart()
    units = {placement.victim_info.unit for placement in scene.engine._state.cluster.placements.by_task.values()}
    assert units == {scene.ids["a"]}
