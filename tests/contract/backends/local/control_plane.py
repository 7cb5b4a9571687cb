"""A control plane in one file, to be killed: `python control_plane.py <folder> <attempts> <cgroup parent>`.

Some attempts it believes to be bound from before, as the real one does after a restart.
"""

import asyncio
import sys
from functools import partial
from pathlib import Path

from tests.contract.backends.conformance import Rig
from tests.contract.backends.killed_control_plane import control
from tests.contract.backends.local.rig import local_subject

from dovetail.backends.contract import Assignment


async def begins(folder: Path, rig: Rig, todo: list[Assignment]) -> None:
    confirmed = todo[::3]  # in the first life none of these leaves a trace
    await rig.backend.reconcile([work for work in confirmed if (folder / "runs" / work.key / "order").exists()])


if __name__ == "__main__":
    folder, attempts, cgroup_parent = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    subject = local_subject(folder, "auto", cgroup_parent)
    asyncio.run(control(folder, attempts, subject, begins=partial(begins, folder)))
