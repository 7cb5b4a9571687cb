"""Dovetail fits work to machines.

`import dovetail` stays cheap: the names below load their modules on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.model.workloads.workload import Workload

__version__ = "0.1.0"
__all__ = ["Client", "Workload", "__version__"]

_HOMES = {"Client": "dovetail.client", "Workload": "dovetail.model.workloads.workload"}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dovetail' has no attribute {name!r}")
