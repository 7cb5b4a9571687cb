"""The chapters of the demo's story. Each brings its own work, shows one thing, and cleans up, so that any can be first.

Sizes are shares of the cluster: the crowd keeps about `CROWD` of the GPUs busy, the rest is for the story. What every
tenant is guaranteed is in `GUARANTEES`.
"""

from collections.abc import Callable
from typing import NamedTuple

from dovetail.cli.program.demo_scene import GPUS_OF_A_NODE, REASON, WHOLE_NODE, DemoScene

CROWD = 0.42
GUARANTEES = {"research": 0.30, "vision": 0.14, "serving": 0.40, "analytics": 0.10, "students": 0.06}


class Chapter(NamedTuple):
    """`look`: commands that show it; `page`: of the dashboard. `happens`: what it does."""

    title: str
    words: str
    look: tuple[str, ...]
    page: str
    happens: Callable[[DemoScene], None]


def _quiet(scene: DemoScene) -> None:
    scene.hold(10)
    summary = scene.until(scene.client.summary)
    if summary is not None:
        share = summary["resources"]["gpu"]["share"]
        scene.fact(True, f"{share:.0%} of the GPUs are in use, {summary['nodes']['online']} nodes are online")
    scene.hold(15)


def _borrowing(scene: DemoScene) -> None:
    sweep = scene.submit(
        "research",
        "sweep",
        replicas=int(0.40 * scene.gpus / 4),
        priority="low",
        resources={"cpu": 32, "memory": "256GiB", "gpu": 4},
    )
    guaranteed = GUARANTEES["research"] * scene.gpus
    most = scene.until(lambda: _settled_loan(scene, sweep))
    scene.fact(most, f"research borrows {most or 0:.0f} GPUs beyond its guarantee of {guaranteed:.0f}")
    scene.hold(18)
    scene.tell("  serving has a launch and wants what it is guaranteed: research has to give back")
    launch = scene.submit("serving", "launch", replicas=int(0.30 * scene.gpus / GPUS_OF_A_NODE), resources=WHOLE_NODE)
    runs = scene.until(lambda: scene.running(launch))
    left = scene.queue("research")["borrowed"]
    scene.fact(runs and most and left < most, f"serving runs its launch; research borrows {left:.0f} GPUs now")
    scene.hold(18)
    scene.finish(launch, sweep)
    back = scene.until(lambda: scene.queue("research")["borrowed"] <= (most or 0) / 10)
    scene.fact(back, "the launch and the sweep are done; the loan is paid back")
    scene.hold(6)


def _settled_loan(scene: DemoScene, sweep: str) -> float | None:
    """What research borrows, once its sweep has all that it gets."""
    row, borrowed = scene.client.workload(sweep), scene.queue("research")["borrowed"]
    return borrowed if borrowed > 0 and (row["pending"] == 0 or bool(row["reason"])) else None


def _fragmentation(scene: DemoScene) -> None:
    free, unusable, before = scene.unusable()
    scene.tell(f"  before: a typical task cannot use {unusable:.0f} of {free:.0f} free GPUs, {before:.0%}")
    fits = scene.room(**WHOLE_NODE)
    render = scene.submit(
        "vision",
        "render",
        replicas=max(2, int(0.7 * fits)),
        resources={"cpu": 8, "memory": "64GiB", "gpu": 5},
        priority="low",
    )
    scene.until(lambda: scene.running(render))
    risen = scene.until(lambda: scene.unusable()[2] > before + 0.05)
    free, unusable, most = scene.unusable()
    scene.fact(risen, f"every task takes 5 of 8 GPUs: {unusable:.0f} of {free:.0f} free ones are of no use, {most:.0%}")
    left = scene.room(**WHOLE_NODE)
    wanted = left + max(1, int(0.3 * fits))
    thesis = scene.submit(
        "students", "thesis", replicas=wanted, gang={"min": wanted}, resources=WHOLE_NODE, priority="low"
    )
    waits = scene.until(lambda: bool(scene.client.workload(thesis)["reason"]))
    scene.fact(waits, f"{thesis} waits for {wanted} whole nodes, and {left} are whole; dovetail explain {thesis}")
    scene.hold(24)
    scene.finish(render)
    runs = scene.until(lambda: scene.running(thesis))
    scene.fact(runs, f"render is done, and {thesis} runs")
    scene.hold(15)
    scene.finish(thesis)
    fallen = scene.until(lambda: scene.unusable()[2] < (before + most) / 2)
    free, unusable, share = scene.unusable()
    scene.fact(fallen, f"the pattern is gone: {unusable:.0f} of {free:.0f} free GPUs are of no use, {share:.0%}")
    scene.hold(3)


def _preemption(scene: DemoScene) -> None:
    more = scene.nodes // 10  # some of it always waits: nothing stays free when the work of others ends
    homework = scene.submit(
        "students", "homework", replicas=scene.room(**WHOLE_NODE) + more, resources=WHOLE_NODE, priority="batch"
    )
    full = scene.until(lambda: _some_runs_and_some_waits(scene, homework))
    scene.fact(full, "homework of students fills every whole node that nobody else wanted")
    scene.hold(12)
    urgent = max(2, scene.nodes_per_leaf // 2)
    incident = scene.submit(
        "serving",
        "incident",
        replicas=urgent,
        gang={"min": urgent},
        resources=WHOLE_NODE,
        priority="critical",
        topology={"required": "leaf"},
    )
    runs = scene.until(lambda: scene.running(incident))
    victims = scene.preempted(by=incident)
    scene.fact(
        runs and victims, f"{incident} runs on {urgent} nodes of one leaf; {victims} less urgent tasks made room"
    )
    scene.hold(20)
    scene.finish(incident, homework)


def _some_runs_and_some_waits(scene: DemoScene, name: str) -> bool:
    row = scene.client.workload(name)
    return row["active"] > 0 and row["pending"] > 0 and bool(row["reason"])


def _failure(scene: DemoScene) -> None:
    size = max(2, scene.nodes_per_leaf // 2)
    pretrain = scene.submit(
        "research",
        "pretrain",
        replicas=size,
        gang={"min": size},
        resources=WHOLE_NODE,
        priority="high",
        topology={"required": "leaf"},
    )
    scene.until(lambda: scene.running(pretrain))
    nodes = sorted(scene.nodes_of(pretrain))
    [leaf] = scene.leaves_of(nodes) or {""}
    scene.fact(leaf, f"{pretrain} trains on {size} nodes of leaf {leaf}")
    scene.hold(8)
    lost = scene.chance("failure").choice(nodes)
    scene.client.fail("node", lost, reason=REASON)
    whole = scene.until(lambda: _complete_without(scene, pretrain, {lost}))
    others = set(whole or ()) - set(nodes)
    inside = scene.leaves_of(whole or ()) == {leaf}
    scene.fact(inside, f"{lost} failed; its task went on in the same leaf on {', '.join(sorted(others))}")
    scene.hold(8)
    scene.tell(f"  now the whole leaf {leaf} fails")
    report = scene.client.fail("leaf", leaf, reason=REASON)
    for line in report["recoveries"][:3]:
        scene.tell(f"    {line}")
    moved = scene.until(lambda: _complete_without(scene, pretrain, set(report["nodes"])))
    leaves = scene.leaves_of(moved or ())
    found = moved and len(leaves) == 1
    scene.fact(found, f"{pretrain} is whole again, together in leaf {', '.join(sorted(leaves))}")
    scene.hold(18)
    scene.finish(pretrain)


def _complete_without(scene: DemoScene, name: str, lost: set[str]) -> set[str] | None:
    """The nodes that a gang runs on, once all of it runs on others than these."""
    nodes = scene.nodes_of(name)
    return nodes if scene.running(name) and not nodes & lost else None


def _return(scene: DemoScene) -> None:
    broken = scene.out_of_service()
    if not broken:  # the story begins here
        leaf = f"s{scene.chance('return').randrange(1, 6)}-l1"
        broken = scene.client.fail("leaf", leaf, reason=REASON)["nodes"]
        scene.hold(10)
    for node in broken:
        scene.client.uncordon(node)
    back = scene.until(lambda: not scene.out_of_service())
    scene.fact(back, f"{len(broken)} nodes are repaired and take work again")
    scene.hold(20)


CHAPTERS: dict[str, Chapter] = {
    "quiet": Chapter(
        "A quiet start",
        "Five tenants share the cluster, each within its guarantee.",
        ("top", "queues"),
        "Overview",
        _quiet,
    ),
    "borrowing": Chapter(
        "A queue borrows and gives back",
        "research has a large sweep and borrows what others leave idle, until serving wants its part.",
        ("queues", "events -f --kind preempted"),
        "Queues",
        _borrowing,
    ),
    "fragmentation": Chapter(
        "A fragmentation pattern forms and dissolves",
        "vision renders with 5 GPUs a task. What is left on each node is of little use to others.",
        ("fragmentation", "topology --by fragmentation"),
        "Topology",
        _fragmentation,
    ),
    "preemption": Chapter(
        "A preemption",
        "The cluster is full when serving has an incident and needs half a leaf at once.",
        ("queue", "events -f --kind preempted"),
        "Workloads",
        _preemption,
    ),
    "failure": Chapter(
        "A leaf fails",
        "A training loses one node, then the switch above all of its nodes, and is made whole both times.",
        ("topology --by health", "events -f --kind recovery"),
        "Topology",
        _failure,
    ),
    "return": Chapter(
        "The leaf returns", "What was broken is repaired.", ("topology --by health", "nodes"), "Nodes", _return
    ),
}
