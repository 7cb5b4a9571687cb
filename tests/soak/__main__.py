"""`python -m tests.soak --minutes 60 --seed 7 --only simulation`: long random runs, with a report of what they found.

The parts share the time evenly: the property tests, the random tests among the unit tests, the simulated clusters with
random faults, the whole contract of Docker over SSH, the random comparisons with kube-scheduler, servers under load
that are killed, paused and given a full disk again and again, servers that are killed around launches of instances,
random requests to a server, random texts for its parsers, and the Kubernetes scheduler under churn on a real server.
Without `--seed` the soak draws one and prints it. It ends with a table and writes build/soak.json. The exit status is 1
if anything was found, and 2 if nothing could be run.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from random import SystemRandom

from tests.servers.kubernetes.programs import command_of
from tests.servers.kubernetes.server import kube_server
from tests.soak.cloud_kills import cloud_kills
from tests.soak.findings import Finding, Part, SoakReport
from tests.soak.fuzz import fuzz
from tests.soak.kills import run_kills
from tests.soak.kubernetes_churn import Plan, soak
from tests.soak.parsers import parsers
from tests.soak.rounds import SELECTIONS, run_rounds
from tests.soak.vm_kills import vm_kills

OUTPUT = Path("build/soak.json")
MINUTES = 60.0
SEEDS = 10**6

Run = Callable[[float, int, Callable[[str], None]], Part]


def churn(seconds: float, seed: int, say: Callable[[str], None]) -> Part:
    """The Kubernetes scheduler in a cluster that is never the same for long."""
    part = Part("kubernetes-churn", seed)
    if command_of("kube-apiserver") is None:
        part.not_run = "the Kubernetes programs are not built; `make test-deps` builds them"
        return part
    with kube_server() as server:
        report = asyncio.run(soak(server, Plan(seconds, seed), say))
    say(str(report))
    part.seconds, part.rounds, part.tests, part.figures = report.seconds, 1, report.rests, report.to_dict()
    part.findings = [Finding("our state is the API's", seed, one) for one in report.drift]
    if not report.flat:
        growth = f"grows by {report.growth_mb_per_hour:.1f} MB an hour"
        part.findings.append(Finding("memory does not grow", seed, growth))
    return part


PARTS: dict[str, Run] = {
    **{name: partial(run_rounds, name) for name in SELECTIONS},
    "kills": run_kills,
    "cloud-kills": cloud_kills,
    "vm-kills": vm_kills,
    "fuzz": fuzz,
    "parsers": parsers,
    "kubernetes-churn": churn,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of all parts together")
    parser.add_argument("--seed", type=int, help="of the first round; the soak draws one if none is given")
    parser.add_argument("--only", metavar="PATTERN", default="*", help=f"parts to run, of: {', '.join(PARTS)}")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    told = parser.parse_args()
    chosen = {name: run for name, run in PARTS.items() if fnmatch(name, told.only)}
    if not chosen:
        parser.error(f"no part is called {told.only!r}; there are {', '.join(PARTS)}")
    seed = SystemRandom().randrange(SEEDS) if told.seed is None else told.seed
    say(f"seed {seed}")
    report = SoakReport(seed, told.minutes)
    for name, run in chosen.items():
        say(f"{name}:")
        report.parts.append(run(60 * told.minutes / len(chosen), seed, say))
    told.output.parent.mkdir(parents=True, exist_ok=True)
    told.output.write_text(json.dumps(report.to_dict(), indent=2) + "\n")
    say(f"\n{report}")
    return report.exit_status


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
