"""A control plane in one file, to be killed: `python control_plane.py <folder> <attempts> <url> <url>`.

Half of its work goes to each host.
"""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from tests.contract.backends.docker.rig import docker_subject
from tests.contract.backends.killed_control_plane import control

from dovetail.backends.contract import Assignment

HOSTS = ("one", "two")


def placed(work: Assignment) -> Assignment:
    return replace(work, node=HOSTS[work.task.workload % 2])


if __name__ == "__main__":
    folder, attempts, urls = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    hosts = [{"name": name, "url": url} for name, url in zip(HOSTS, urls, strict=True)]
    asyncio.run(control(folder, attempts, docker_subject(folder, *hosts), placed=placed, at_once=attempts))
