"""Talking to a Dovetail server from Python.

    from dovetail import Client

    with Client() as dovetail:
        dovetail.submit({"name": "hello", "run": {"command": ["echo", "hi"]}})

Names load on first use, so that importing this package costs nothing until a server is really asked.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.client.async_client import AsyncClient
    from dovetail.client.client import Client
    from dovetail.client.errors import ConnectError, DovetailError
    from dovetail.client.functions.executor import CallFailed, DovetailExecutor

__all__ = ["AsyncClient", "CallFailed", "Client", "ConnectError", "DovetailError", "DovetailExecutor"]

_HOMES = {
    "AsyncClient": "dovetail.client.async_client",
    "CallFailed": "dovetail.client.functions.executor",
    "Client": "dovetail.client.client",
    "ConnectError": "dovetail.client.errors",
    "DovetailError": "dovetail.client.errors",
    "DovetailExecutor": "dovetail.client.functions.executor",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dovetail.client' has no attribute {name!r}")
