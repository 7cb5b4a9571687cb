"""`dovetail demo`: the crowd's sums, and a whole demo in a process of its own."""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from tests.patience import wait_for

from dovetail.cli.program.demo import ChapterName, advice
from dovetail.cli.program.demo_chapters import CHAPTERS
from dovetail.cli.program.demo_crowd import ESTIMATES, GANG_NAME, DemoCrowd, as_users_write_it
from dovetail.cli.program.demo_scene import DemoScene
from dovetail.client import Client, ConnectError, DovetailError
from dovetail.model.workloads.workload import Workload
from dovetail.responses.system import HistoryRow


@pytest.mark.parametrize("rate", [0.5, 6.0, 100.0])
def test_whatever_the_rate_the_work_fills_the_wanted_share_of_the_gpus(rate: float) -> None:
    stream = DemoCrowd(rate=rate, gpus=8000, target=0.88, seed=1).stream()
    assert stream.rate * stream.mean_gpu_seconds == pytest.approx(0.88 * 8000)


def test_work_says_how_long_it_runs_at_most_and_trainings_on_several_whole_nodes_are_gangs() -> None:
    crowd, chance = DemoCrowd(rate=6.0, gpus=8000, target=0.92, seed=1), Random(1)
    for _, plain in islice(crowd.stream().arrivals(1), 500):
        spec = as_users_write_it(plain, chance)
        assert plain.run.simulate is not None
        assert plain.run.simulate.run_time is not None
        assert spec.deadline.run_for is not None
        assert plain.run.simulate.run_time < spec.deadline.run_for <= plain.run.simulate.run_time * max(ESTIMATES) + 2
        whole_nodes = spec.replicas > 1 and spec.resources.gpu >= 8
        assert (spec.gang is not None and spec.gang.min == spec.replicas) == whole_nodes


def test_advice_names_what_is_really_there() -> None:
    large = Workload.model_validate({"name": "large", "namespace": "research", "replicas": 9, "resources": {"gpu": 8}})
    lines = advice("http://127.0.0.1:1234", [Workload(name="small"), large])
    assert "  export DOVETAIL_URL=http://127.0.0.1:1234" in lines
    assert "  dovetail explain large -n research" in lines


@pytest.mark.needs_server
@pytest.mark.slow
def test_a_demo_serves_a_busy_cluster_and_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dovetail.cli.main", "demo", "--port", "0", "--no-story"]
    env = os.environ | {"TMPDIR": str(tmp_path)}
    demo = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert demo.stdout is not None
        url = ""
        for line in demo.stdout:
            url = url or "".join(re.findall(r"listens on (http://\S+)", line))
            if line.startswith("Ctrl-C"):
                break
        with Client(url) as client:
            summary = client.summary()
            assert summary["nodes"]["total"] == 1000
            assert summary["resources"]["gpu"]["capacity"] > 7000
            assert sum(summary["workloads"].values()) > 100
            waiting = client.explain("sixteen-gpus")
            assert "gpu short by 8" in waiting["answer"]
            assert {gpu["model"] for gpu in client.node("gpu-s1-l1-n01")["gpus"]} == {"H200"}
            wait_for(lambda: any(row["starts_at"] and GANG_NAME in row["name"] for row in client.queue()))
        demo.terminate()
        rest, errors = demo.communicate()
    finally:
        demo.kill()
    assert demo.returncode == 0, errors
    assert "the demo has ended" in rest
    assert list(tmp_path.iterdir()) == []


class Witness:
    """Looks at a demo from outside while it runs, and keeps what the story's facts have to agree with."""

    def __init__(self, url: str) -> None:
        self.borrowed: list[float] = []
        self.fragmented: list[float] = []
        self.out: list[int] = []
        self.events: list[HistoryRow] = []
        self.places: dict[str, list[set[str]]] = {}
        self._url = url
        looks = (self._look_at_queues, self._look_at_fragments, self._look_at_nodes, self._look_at_training)
        works: list[Callable[[], None]] = [self._listen, *(partial(self._again, look) for look in looks)]
        self._threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def _again(self, look: Callable[[Client], None]) -> None:
        """Until the demo ends. Each in a thread of its own, so that none misses much."""
        with suppress(ConnectError, DovetailError), Client(self._url) as client:
            while True:
                look(client)
                time.sleep(0.2)

    def _look_at_queues(self, client: Client) -> None:
        rows = client.queues()["queues"]
        self.borrowed += [row["resources"]["gpu"]["borrowed"] for row in rows if row["path"] == "research"]

    def _look_at_fragments(self, client: Client) -> None:
        found = client.fragmentation()["cluster"]
        self.fragmented.append(found["unusable_gpus"] / max(1.0, found["free_gpus"]))

    def _look_at_nodes(self, client: Client) -> None:
        self.out.append(sum(row["status"] != "online" for row in client.nodes()))

    def _look_at_training(self, client: Client) -> None:
        for row in client.workloads(name="pretrain", state="running")["items"]:
            nodes = {str(task["node"]) for task in client.tasks(row["id"]) if task["state"] == "running"}
            if len(nodes) == row["replicas"]:
                self.places.setdefault(row["name"], []).append(nodes)

    def _listen(self) -> None:
        with suppress(ConnectError, DovetailError), Client(self._url) as client:
            self.events.extend(client.events())

    def done(self) -> None:
        for thread in self._threads:
            thread.join(30)


def leaf_of(node: str) -> str:
    return node.rpartition("-")[0]


@pytest.mark.needs_server
@pytest.mark.slow
def test_what_the_story_tells_really_happens() -> None:
    command = [sys.executable, "-m", "dovetail.cli.main", "demo", "--port", "0", "--nodes", "200", "--rounds", "1"]
    with subprocess.Popen([*command, "--speed", "10", "--seed", "3"], stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        lines: list[str] = []
        witness = None
        for line in demo.stdout:
            lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):  # everybody has moved in
                witness = Witness(lines[0].split()[-1])
        assert demo.wait(60) == 0
    assert witness is not None
    witness.done()
    told = "\n".join(lines)
    assert "✗" not in told, told
    titles = [line.removeprefix("— ") for line in lines if line.startswith("— ")]
    assert titles == [chapter.title for chapter in CHAPTERS.values()]
    # A tenant borrowed, and gave back.
    most = max(witness.borrowed)
    assert most > 0.05 * 1600
    assert witness.borrowed[-1] < most / 2
    # Fragmentation rose and fell.
    highest = witness.fragmented.index(max(witness.fragmented))
    assert 0 < highest < len(witness.fragmented) - 1
    assert min(witness.fragmented[highest:]) < max(witness.fragmented) - 0.04
    # There were preemptions: of the sweep, for the launch, and for the incident of whoever was cheapest.
    victims = {
        preemptor: {row["name"] for row in witness.events if f"preempted by {preemptor} " in row["message"]}
        for preemptor in ("launch-1", "incident-1")
    }
    assert "sweep-1" in victims["launch-1"]
    assert victims["incident-1"]
    # The training was whole on its leaf, then with another node of the same leaf, then in another leaf.
    [places] = witness.places.values()
    steps = [place for number, place in enumerate(places) if not number or place != places[number - 1]]
    assert all(len({leaf_of(node) for node in place}) == 1 for place in steps)
    assert len({leaf_of(node) for place in steps for node in place}) == 2
    assert any(row["kind"] == "recovery" and "pretrain" in str(row["name"]) for row in witness.events)
    # The leaf went and came back.
    assert max(witness.out) == 8
    assert witness.out[-1] == 0


def test_the_same_seed_breaks_the_same_things() -> None:
    def chosen(seed: int) -> list[int]:
        scene = DemoScene(Client("http://127.0.0.1:9"), 8, print, threading.Event(), seed=seed)
        return [scene.chance("failure").randrange(1000) for _ in range(3)]

    assert chosen(1) == chosen(1)
    assert chosen(1) != chosen(2)


def test_a_chapter_that_is_none_is_said() -> None:
    command = [sys.executable, "-m", "dovetail.cli.main", "demo", "--chapter", "epilogue"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tempfile.gettempdir())
    assert found.returncode == 2
    assert "'fragmentation'" in found.stderr


def test_every_chapter_can_be_the_first() -> None:
    assert set(get_args(ChapterName)) == set(CHAPTERS)


def test_a_duration_that_is_none_is_said() -> None:
    command = [sys.executable, "-m", "dovetail.cli.main", "demo", "--duration", "soon"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tempfile.gettempdir())
    assert found.returncode == 2
    assert "--duration: 'soon' is not a duration" in found.stderr
