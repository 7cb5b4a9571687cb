"""A control plane in one file, to be killed: `python control_plane.py <folder> <attempts> <url>`."""

import asyncio
import sys
from pathlib import Path

from tests.contract.backends.aws_lambda.rig import TABLE, lambda_subject
from tests.contract.backends.killed_control_plane import control

if __name__ == "__main__":
    folder, attempts, url = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    subject = lambda_subject(folder, {"name": "kept", "table": TABLE, "concurrency": 100}, url)
    asyncio.run(control(folder, attempts, subject, at_once=4))
