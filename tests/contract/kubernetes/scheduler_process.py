"""Our scheduler as a user would start it, in a process of its own, and killed without a word."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.servers.kubernetes.server import KubeServer


@asynccontextmanager
async def killed_in_the_end(server: KubeServer) -> AsyncIterator[None]:
    command = [sys.executable, "-m", "dovetail", "kubernetes", "scheduler", "--no-elect"]
    found = await asyncio.create_subprocess_exec(
        *command, "--kubeconfig", str(server.kubeconfig), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield
        assert found.returncode is None, f"it ended by itself, with status {found.returncode}"
    finally:
        with suppress(ProcessLookupError):
            found.kill()
        await found.wait()
