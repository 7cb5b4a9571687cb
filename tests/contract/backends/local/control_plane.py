"""A control plane in one file, to be killed: `python control_plane.py <folder> <attempts> <cgroup parent>`.

Some attempts it believes to be bound from before, as the real one does after a restart.
"""

import asyncio
import sys
from pathlib import Path

from tests.contract.backends.conformance import Rig
from tests.contract.backends.killed_control_plane import control
from tests.contract.backends.local.rig import local_subject

from dovetail.backends.contract import Assignment

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()


async def begins(rig: Rig, todo: list[Assignment]) -> None:
    confirmed = todo[::3]  # in the first life none of these leaves a trace
    await rig.backend.reconcile([work for work in confirmed if (FOLDER / "runs" / work.key / "order").exists()])


if __name__ == "__main__":
    asyncio.run(control(FOLDER, int(sys.argv[2]), local_subject(FOLDER, "auto", sys.argv[3]), begins=begins))
