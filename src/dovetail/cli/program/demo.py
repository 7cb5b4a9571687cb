"""`dovetail demo`: the control plane on a simulated cluster, with tenants who keep it busy and a story that is told."""

import asyncio
import signal
import tempfile
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

import click

from dovetail.cli.program.serve import second_terminal
from dovetail.cli.terminal.options import seconds
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
    from dovetail.cli.program.demo_crowd import DemoCrowd
    from dovetail.control.plane import ControlPlane
    from dovetail.model.workloads.workload import Workload

SPINES, LEAVES_OF_A_SPINE, GPUS = 5, 5, 8
TARGET = 0.92  # of the GPUs in use, where only the crowd is there
NODE_PRICE = 31.5  # in USD an hour, about what a cloud asks for eight such GPUs
START_DELAY_S = 0.3
TIME_BETWEEN_FAILURES_S = 12 * 3600.0
REPAIR_TIME_S = 120.0
#: What the crowd of the story submits: nothing that is large enough to change the plot.
MIX = {"finetuning": 0.35, "inference": 0.1, "batch": 0.35, "notebook": 0.2}
_TIMEOUT_S = 60.0  # on a small machine the first work of all tenants takes a while

ChapterName = Literal["quiet", "borrowing", "fragmentation", "preemption", "failure", "return"]


def command(
    port: Annotated[int, Option(metavar="N", min=0, max=65535, help="Where to listen; 0: any free one.")] = 8080,
    host: Annotated[str, Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    data: Annotated[
        Path | None, Option(metavar="DIR", help="Keep everything here.  [default: a folder removed at the end]")
    ] = None,
    duration: Annotated[
        str | None, Option(metavar="DURATION", help="Stop by itself after this long: 5m.  [default: Ctrl-C]")
    ] = None,
    rounds: Annotated[
        int | None, Option(metavar="N", min=1, help="Stop by itself when the story was told so often.")
    ] = None,
    chapter: Annotated[ChapterName, Option(help="Where the story begins.", words=get_args(ChapterName))] = "quiet",
    no_story: Annotated[
        bool, Option("--no-story", help="Only the crowd: 92 % of the GPUs in use, large gangs that wait, failures.")
    ] = False,
    rate: Annotated[float, Option(metavar="N", min=0.1, max=500, help="Workloads a second of the crowd.")] = 6.0,
    speed: Annotated[
        float, Option(metavar="N", min=0.1, max=1000, help="How fast the story goes; 1: about four minutes.")
    ] = 1.0,
    nodes: Annotated[int, Option(metavar="N", min=100, max=10_000, help="How many nodes, in 25 leaves.")] = 1000,
    seed: Annotated[int, Option(metavar="N", help="Seed of the work and of the story.")] = 1,
) -> None:
    """Run the control plane on a simulated cluster of 1,000 nodes and 8,000 GPUs, and tell a story on it.

    Five tenants share it. In about four minutes, and then again: a queue borrows and gives back, a fragmentation
    pattern forms and dissolves, urgent work preempts, a leaf fails and a training recovers. Each chapter says what to
    look at. Everything but the cluster is real: submissions over HTTP, decisions, the store, and every other command
    works on it. Ctrl-C ends it and removes what it wrote.
    """
    from dovetail.cli.program.demo_chapters import CROWD
    from dovetail.cli.program.demo_crowd import DemoCrowd
    from dovetail.cli.program.serving import serve_until_stopped

    ends_after_s = seconds("--duration", duration)
    nodes_per_leaf = nodes // (SPINES * LEAVES_OF_A_SPINE)
    gpus = SPINES * LEAVES_OF_A_SPINE * nodes_per_leaf * GPUS
    crowd = (
        DemoCrowd(rate=rate, gpus=gpus, target=TARGET, seed=seed)
        if no_story
        else DemoCrowd(rate=rate, gpus=gpus, target=CROWD, seed=seed, gangs_waiting=0, mix=MIX)
    )
    plot = None if no_story else _Plot(chapter, rounds, speed, nodes_per_leaf, seed)
    kept: AbstractContextManager[Any] = (
        nullcontext(data)
        if data is not None
        else tempfile.TemporaryDirectory(prefix="dovetail-demo-", ignore_cleanup_errors=True)
    )
    with kept as folder:
        demo = _Demo(crowd, plot, ends_after_s)
        settings = _settings(str(folder), host, port, seed, nodes_per_leaf, story=plot is not None)
        serve_until_stopped(settings, demo.announce, demo.beside)
    click.echo("the demo has ended" + ("" if data is not None else "; its folder is removed"))


class _Plot(NamedTuple):
    """How the story is told."""

    first: str
    rounds: int | None
    speed: float
    nodes_per_leaf: int
    seed: int


def _settings(folder: str, host: str, port: int, seed: int, nodes_per_leaf: int, story: bool) -> Any:
    from dovetail.access.addresses import is_loopback
    from dovetail.cli.program.demo_chapters import GUARANTEES
    from dovetail.control.settings import Settings

    gpus = SPINES * LEAVES_OF_A_SPINE * nodes_per_leaf * GPUS
    cluster: dict[str, Any] = {
        "kind": "simulated",
        "leaf_spine": {
            "prefix": "gpu", "spines": SPINES, "leaves_per_spine": LEAVES_OF_A_SPINE,
            "nodes_per_leaf": nodes_per_leaf, "racks_per_leaf": 4, "zones": SPINES, "labels": {"gpu-model": "H200"},
            "gpus": [{"count": GPUS, "model": "H200", "memory": "141GiB"}],
        },
        "seed": seed,
        "start_delay": START_DELAY_S,
        "failure_rate": 0.01,
        "prices": {"*": NODE_PRICE},
    }  # fmt: skip
    scheduling: dict[str, Any] = {"default_profile": "best_fit", "seed": seed}
    if story:
        scheduling["queues"] = {name: {"guaranteed": {"gpu": int(part * gpus)}} for name, part in GUARANTEES.items()}
        scheduling["recovery"] = {"spares": {"level": "leaf", "nodes": max(1, nodes_per_leaf // 20)}}
    else:
        cluster["node_failures"] = {"mean_time_between": TIME_BETWEEN_FAILURES_S, "repair_time": REPAIR_TIME_S}
    return Settings.model_validate(
        {
            "data": folder,
            "listen": {"host": host, "port": port, "tls": None if is_loopback(host) else "self-signed"},
            "logging": {"level": "warning", "decisions": False},
            "scheduling": scheduling,
            "backends": {"dc1": cluster},
        }
    )


class _Demo:
    """What runs beside the server: the users and the story on a thread each, and the timer of --duration."""

    def __init__(self, crowd: "DemoCrowd", plot: _Plot | None, ends_after_s: float | None) -> None:
        self._crowd = crowd
        self._plot = plot
        self._ends_after_s = ends_after_s
        self._url = ""
        self._listens = asyncio.Event()

    def announce(self, plane: "ControlPlane", url: str, dashboard: str) -> None:
        click.echo(f"Dovetail demo listens on {url}")
        click.echo(f"  data     {plane.settings.folder}")
        nodes = self._crowd.gpus // GPUS
        click.echo(f"  cluster  {nodes} simulated nodes, {self._crowd.gpus} GPUs; tenants are moving in …")
        if dashboard:
            click.echo(f"  watch    {dashboard}")
        self._url = url
        self._listens.set()

    async def beside(self, _plane: "ControlPlane") -> None:
        await self._listens.wait()
        working = asyncio.create_task(asyncio.to_thread(self._live, self._url))
        try:
            await asyncio.wait([working], timeout=self._ends_after_s)
        finally:
            self._crowd.stop.set()
            with suppress(asyncio.CancelledError):
                await working
        signal.raise_signal(signal.SIGINT)  # the time is up: stop as Ctrl-C would

    def _live(self, url: str) -> None:
        """Until the story was told, or the demo stops."""
        from dovetail.client import Client, ConnectError, DovetailError

        with Client(url, timeout_s=_TIMEOUT_S) as client:
            try:
                there = self._crowd.settle_in(client)
            except (ConnectError, DovetailError) as error:
                if not self._crowd.stop.is_set():
                    click.echo(f"the tenants could not move in: {error}", err=True)
                return
            if not self._crowd.stop.is_set():
                click.echo("\n".join(advice(url, there)))
            if self._plot is None:
                self._crowd.work(client)
                return
            crowding = threading.Thread(target=self._crowd.work, args=(client,))
            crowding.start()
            try:
                self._tell(url, self._plot)
            finally:
                self._crowd.stop.set()
                crowding.join()

    def _tell(self, url: str, plot: _Plot) -> None:
        from dovetail.cli.program.demo_scene import DemoScene
        from dovetail.cli.program.demo_story import DemoStory
        from dovetail.client import Client

        with Client(url, timeout_s=_TIMEOUT_S) as client:
            scene = DemoScene(client, plot.nodes_per_leaf, click.echo, self._crowd.stop, plot.speed, plot.seed)
            DemoStory(scene, plot.first, plot.rounds).tell()


def advice(url: str, there: "Sequence[Workload]") -> list[str]:
    """What to try, with names that exist."""
    lines = second_terminal(url)
    lines += ["  dovetail top", "  dovetail queue", "  dovetail get --state running"]
    large = max(there, key=lambda spec: spec.replicas * spec.resources.gpu, default=None)
    if large is not None:
        lines += [
            f"  dovetail describe {large.name} -n {large.namespace}",
            f"  dovetail explain {large.name} -n {large.namespace}",
            "  dovetail topology --level leaf --gpus 8",
            "  dovetail explain sixteen-gpus",
            "  dovetail why-not newest-gpu gpu-s1-l1-n01",
        ]
    return [*lines, "  dovetail capacity --gpu 8 --cpu 96 --memory 768GiB", "Ctrl-C stops it."]
