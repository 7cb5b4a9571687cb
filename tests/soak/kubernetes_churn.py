"""One soak: a real API server, our scheduler in this process, churn, and the API server restarted in the middle of it.

Every so often the churn pauses, and when the cluster has come to rest our state must be the API's and nobody may wait
who could go somewhere (`quiet`). All the while the scheduler's own auditor looks for differences that last. What became
of it all is a `Report`.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx
import psutil
from tests.servers.kubernetes.server import KubeServer
from tests.soak.churn import BEAT_S, FLOOD_BEAT_S, Churn
from tests.soak.churn_report import Report
from tests.soak.kubelets import Kubelets
from tests.soak.memory import WARM_UP, Sample
from tests.soak.quiet import differences_at_rest

from dovetail.kubernetes.scheduler.scheduler import PodScheduler
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
from dovetail.kubernetes_client.access import read_kubeconfig
from dovetail.kubernetes_client.api import Api

LINE_EVERY_S = 5.0
_MB = 1e6


@dataclass(frozen=True)
class Plan:
    """`compacting`: every so many restarts take etcd's memory of the past along. On a slow machine the churn
    goes on until `min_bound` pods were bound, for at most `max_seconds`."""

    seconds: float
    seed: int
    min_bound: int = 0
    max_seconds: float = 0.0
    restart_every_s: float = 75.0
    quiet_every_s: float = 45.0
    audit_every_s: float = 15.0
    compacting: int = 2


async def soak(server: KubeServer, plan: Plan, say: Callable[[str], None]) -> Report:
    access = read_kubeconfig([server.kubeconfig])
    async with Api(access, width=32) as api, Api(access, width=48) as own:
        settings = KubernetesSchedulerSettings(audit_every_s=plan.audit_every_s)
        run = _Run(server, plan, say, api, PodScheduler(own, settings))
        return await run.whole()


class _Run:
    def __init__(
        self, server: KubeServer, plan: Plan, say: Callable[[str], None], api: Api, scheduler: PodScheduler
    ) -> None:
        self._server, self._plan, self._say, self._api, self._scheduler = server, plan, say, api, scheduler
        self._chance = Random(plan.seed)
        self._churn = Churn(api, self._chance)
        self._auditor = scheduler.auditor
        self._process = psutil.Process(os.getpid())
        self._began = time.monotonic()
        self._report = Report(plan.seed)

    @property
    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def _left_s(self) -> float:
        little = self._scheduler.bound < self._plan.min_bound
        return (self._plan.max_seconds if little else self._plan.seconds) - self._elapsed_s

    async def whole(self) -> Report:
        await self._churn.begin()
        parts = {
            "scheduler": self._scheduler.run(),
            "kubelets": Kubelets(self._api).run(),
            "churn": self._churn.run(),
            "restarts": self._restart(),
            "lines": self._tell(),
        }
        async with _running(parts):
            while (left_s := self._left_s) > 0:
                warm = self._elapsed_s > self._plan.seconds * WARM_UP
                self._churn.beat_s = BEAT_S if warm else FLOOD_BEAT_S
                await asyncio.sleep(min(self._plan.quiet_every_s, left_s))
                await self._rest()
        report = self._report
        report.seconds, report.created, report.bound = self._elapsed_s, self._churn.created, self._scheduler.bound
        report.audits, report.calls_failed = self._auditor.audits, self._churn.failed
        report.interruptions = self._scheduler.informer.troubles
        report.relists = sum(max(0, one.lists - 1) for one in self._scheduler.informer.reflectors)
        return report

    async def _rest(self) -> None:
        await self._churn.pause()
        found = await differences_at_rest(self._api, self._auditor, self._scheduler.settings.names)
        self._report.rests += 1
        self._add(found, "at rest")
        self._churn.resume()

    async def _restart(self) -> None:
        while True:
            await asyncio.sleep(self._plan.restart_every_s * self._chance.uniform(0.5, 1.0))
            if self._report.restarts % self._plan.compacting == 0:
                await asyncio.to_thread(compact, self._server)
                self._report.compactions += 1
            await asyncio.to_thread(self._server.restart)
            self._report.restarts += 1

    async def _tell(self) -> None:
        created = 0
        while True:
            await asyncio.sleep(LINE_EVERY_S)
            mb = self._process.memory_info().rss / _MB
            self._report.memory.append(Sample(self._elapsed_s, mb))
            self._add([str(one) for one in self._auditor.last], "lasts")
            self._auditor.last = []
            churn, rate = self._churn, (self._churn.created - created) / LINE_EVERY_S
            created = churn.created
            waiting = sum(1 for _ in self._scheduler.tracker.waiting())
            self._say(
                f"{self._elapsed_s:5.0f} s  {rate:4.0f} pods/s  {self._scheduler.bound:6,} bound  {waiting:4} waiting"
                f"  {len(churn.pods):4} pods on {len(churn.nodes):2} nodes  {self._report.restarts} restarts"
                f"  drift {len(self._report.drift)}  {mb:.0f} MB"
            )

    def _add(self, found: list[str], when: str) -> None:
        self._report.drift += [f"{self._elapsed_s:.0f} s, {when}: {one}" for one in found]
        for one in found[:5]:
            self._say(f"{when}: {one}")


@asynccontextmanager
async def _running(parts: dict[str, Any]) -> AsyncIterator[None]:
    """None of them ends by itself; one that does takes the soak along, with its error."""
    body = asyncio.current_task()
    assert body is not None
    ended: list[asyncio.Task[None]] = []

    def done(task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            ended.append(task)
            body.cancel()

    tasks = [asyncio.create_task(part, name=name) for name, part in parts.items()]
    for task in tasks:
        task.add_done_callback(done)
    try:
        yield
    except asyncio.CancelledError:
        if not ended:
            raise
    finally:
        for task in tasks:
            task.remove_done_callback(done)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if ended:
        raise RuntimeError(f"{ended[0].get_name()} ended in the middle of the soak") from ended[0].exception()


def compact(server: KubeServer) -> None:
    """Takes etcd's memory of everything before now, so that watches cannot be taken up where they were."""
    with httpx.Client(base_url=server.etcd_url, verify=False) as client:
        asked = client.post("/v3/kv/range", json={"key": "AA==", "limit": "1"}).raise_for_status()
        revision = asked.json()["header"]["revision"]
        client.post("/v3/kv/compaction", json={"revision": revision, "physical": True}).raise_for_status()
