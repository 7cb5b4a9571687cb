"""`python -m tests.soak --minutes 20 --seed 1`: soaks, prints a line every few seconds, writes build/soak.json.

The exit status is 1 if our state ever drifted from the API's, or if memory grew by more than it may.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from tests.servers.kubernetes.programs import command_of
from tests.servers.kubernetes.server import kube_server
from tests.soak.soak import Plan, soak

OUTPUT = Path("build/soak.json")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    told = parser.parse_args()
    if command_of("kube-apiserver") is None:
        print("the Kubernetes programs are not built; `make test-deps` builds them", file=sys.stderr)
        return 2
    with kube_server() as server:
        report = asyncio.run(soak(server, Plan(60 * told.minutes, told.seed), say))
    told.output.parent.mkdir(parents=True, exist_ok=True)
    told.output.write_text(json.dumps(report.to_dict(), indent=2) + "\n")
    print(report)
    return 0 if report.flat and not report.drift else 1


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
