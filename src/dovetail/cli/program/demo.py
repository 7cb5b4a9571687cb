"""`dovetail demo`: the control plane on a simulated cluster, with tenants who keep it busy."""

import asyncio
import signal
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from dovetail.cli.program.serve import second_terminal
from dovetail.cli.terminal.options import seconds
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
    from dovetail.cli.program.demo_crowd import DemoCrowd
    from dovetail.control.plane import ControlPlane
    from dovetail.model.workloads.workload import Workload

SPINES, LEAVES, NODES, GPUS = 5, 5, 40, 8
TARGET = 0.92  # of the GPUs in use
START_DELAY_S = 20.0
TIME_BETWEEN_FAILURES_S = 30 * 86400.0
REPAIR_TIME_S = 2 * 3600.0
_TIMEOUT_S = 10.0


def command(
    port: Annotated[int, Option(metavar="N", min=0, max=65535, help="Where to listen; 0: any free one.")] = 8080,
    host: Annotated[str, Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    data: Annotated[
        Path | None, Option(metavar="DIR", help="Keep everything here.  [default: a folder removed at the end]")
    ] = None,
    duration: Annotated[
        str | None, Option(metavar="DURATION", help="Stop by itself after this long: 5m.  [default: Ctrl-C]")
    ] = None,
    rate: Annotated[float, Option(metavar="N", min=0.1, max=500, help="Workloads a second.")] = 6.0,
    speed: Annotated[
        float, Option(metavar="N", min=0.1, max=100_000, help="How fast nodes start work, fail and return.")
    ] = 60.0,
    seed: Annotated[int, Option(metavar="N", help="Seed of the work.")] = 1,
) -> None:
    """Run the control plane on a simulated cluster of 1,000 nodes and 8,000 GPUs that five tenants keep busy.

    Everything but the cluster is real: submissions over HTTP, decisions, the store, and every other command works on
    it. Ctrl-C ends it and removes what it wrote.
    """
    from dovetail.cli.program.demo_crowd import DemoCrowd
    from dovetail.cli.program.serving import serve_until_stopped

    ends_after_s = seconds("--duration", duration)
    crowd = DemoCrowd(rate=rate, gpus=SPINES * LEAVES * NODES * GPUS, target=TARGET, seed=seed)
    kept: AbstractContextManager[Any] = (
        nullcontext(data)
        if data is not None
        else tempfile.TemporaryDirectory(prefix="dovetail-demo-", ignore_cleanup_errors=True)
    )
    with kept as folder:
        demo = _Demo(crowd, ends_after_s)
        settings = _settings(str(folder), host, port, speed, seed)
        serve_until_stopped(settings, demo.announce, demo.beside)
    click.echo("the demo has ended" + ("" if data is not None else "; its folder is removed"))


def _settings(folder: str, host: str, port: int, speed: float, seed: int) -> Any:
    from dovetail.access.addresses import is_loopback
    from dovetail.control.settings import Settings

    cluster = {
        "kind": "simulated",
        "leaf_spine": {
            "prefix": "gpu", "spines": SPINES, "leaves_per_spine": LEAVES, "nodes_per_leaf": NODES,
            "racks_per_leaf": 4, "zones": SPINES, "labels": {"gpu-model": "H200"},
            "gpus": [{"count": GPUS, "model": "H200", "memory": "141GiB"}],
        },
        "seed": seed,
        "start_delay": START_DELAY_S / speed,
        "failure_rate": 0.01,
        "node_failures": {
            "mean_time_between": max(1.0, TIME_BETWEEN_FAILURES_S / speed),
            "repair_time": max(1.0, REPAIR_TIME_S / speed),
        },
    }  # fmt: skip
    return Settings.model_validate(
        {
            "data": folder,
            "listen": {"host": host, "port": port, "tls": None if is_loopback(host) else "self-signed"},
            "logging": {"level": "warning", "decisions": False},
            "scheduling": {"default_profile": "best_fit", "seed": seed},
            "backends": {"dc1": cluster},
        }
    )


class _Demo:
    """What runs beside the server: the users on a thread, and the timer of --duration."""

    def __init__(self, crowd: "DemoCrowd", ends_after_s: float | None) -> None:
        self._crowd = crowd
        self._ends_after_s = ends_after_s
        self._url = ""
        self._listens = asyncio.Event()

    def announce(self, plane: "ControlPlane", url: str, dashboard: str) -> None:
        click.echo(f"Dovetail demo listens on {url}")
        click.echo(f"  data     {plane.settings.folder}")
        click.echo("  cluster  1000 simulated nodes, 8000 GPUs; tenants are moving in …")
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
            self._crowd.work(client)


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
