"""What the entry point names: the settings of this kind of backend, and how to build one.

Settings are read whenever Dovetail starts, so this module imports nothing heavy; the backend comes when it is built.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from dovetail.backends.contract import Backend
from dovetail.backends.pricing import Priced
from dovetail.model.text.quantity import Duration


class Settings(Priced):
    """A secret, had this backend one, would be a field of type `pydantic.SecretStr`."""

    folder: Annotated[str, Field(min_length=1, max_length=3000)]
    poll: Annotated[Duration, Field(ge=0.01, le=60)] = 0.5
    silent_after: Annotated[Duration, Field(ge=1)] = 30.0


def build(name: str, settings: Settings, folder: Path) -> Backend:  # noqa: ARG001 (it keeps nothing of its own)
    from dovetail_example_backend.backend import SpoolBackend

    return SpoolBackend(name, settings)
