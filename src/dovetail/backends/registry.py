"""Every kind of backend, in the open: its settings, and how to build one. Code loads only for kinds in use."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from dovetail.backends.contract import Backend
from dovetail.backends.local.settings import LocalSettings
from dovetail.backends.simulated.settings import SimulatedSettings


class LocalEntry(LocalSettings):
    kind: Literal["local"]


class SimulatedEntry(SimulatedSettings):
    kind: Literal["simulated"]


BackendEntry = Annotated[LocalEntry | SimulatedEntry, Field(discriminator="kind")]


def build(name: str, entry: LocalEntry | SimulatedEntry, folder: Path) -> Backend:
    """`folder` is the backend's own, for whatever it keeps on disk."""
    if isinstance(entry, LocalEntry):
        from dovetail.backends.local.backend import LocalBackend

        return LocalBackend(name, entry, folder)
    from dovetail.backends.simulated.backend import SimulatedBackend

    return SimulatedBackend(name, entry)
