"""What it costs to ask us: plain pods bound a second by a stock kube-scheduler with our extender, beside one without.

Both on the same API server, in turn, on identical objects, as in `benchmarks.kubernetes`. Of each pod kube-scheduler
asks three times over TLS, and waits for each answer: which nodes may take it, how good they are, and to bind it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvloop
from tests.contract.kubernetes.extending import ExtenderProcess
from tests.servers.daemon import server_folder
from tests.servers.kubernetes.server import kube_server

from benchmarks.harness import Bar, Bench, Better, Measured, benchmark
from benchmarks.kubernetes import THEIRS, Scenario, plain, play, prepare, theirs, unbridled
from benchmarks.measuring import once

ASKED = Scenario("extender_1000", None, 1_000, 2_000, plain)
RATIO = Bar(f"kubernetes.{ASKED.name}", "x kube-scheduler", Better.HIGHER, None)


@benchmark(RATIO)
def with_extender(bench: Bench) -> Iterator[tuple[str, Measured]]:
    prepare()
    rates = []
    for words, run in (("alone", theirs), ("with the extender", _asking)):
        with kube_server(durable=True) as server:
            seconds, _ = uvloop.run(play(server, ASKED, THEIRS, run))
            rates.append(ASKED.pods / seconds)
            bench.say(f"{ASKED.name}, {THEIRS} {words}: {rates[-1]:.0f} pods/s")
    alone, asking = rates
    yield RATIO.name, once(asking / alone, f"{asking:.0f} to {alone:.0f} pods/s")


@contextmanager
def _asking(server: Any) -> Iterator[int]:
    with server_folder("extender") as folder:
        extender = ExtenderProcess(folder, server.kubeconfig)
        extender.start()
        try:
            with server.start_scheduler(extender.config() | unbridled(server)) as found:
                yield found.daemon.pid
        finally:
            extender.daemon.stop()
