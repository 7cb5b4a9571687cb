"""Our scheduler as a user would start it, in a process of its own, and killed without a word."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.servers.kubernetes.server import KubeServer
from tests.servers.warm_process import WarmProcess


@asynccontextmanager
async def killed_in_the_end(server: KubeServer) -> AsyncIterator[None]:
    command = [sys.executable, "-m", "dovetail", "kubernetes", "scheduler", "--no-elect"]
    command += ["--kubeconfig", str(server.kubeconfig)]
    found = await asyncio.to_thread(WarmProcess, command, stderr=subprocess.DEVNULL)
    try:
        yield
        assert found.poll() is None, f"it ended by itself, with status {found.returncode}"
    finally:
        found.kill()
        await asyncio.to_thread(found.wait)
