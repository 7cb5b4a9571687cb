"""A copy of the live state, made in another process: where it lies, and what is not in the store.

The copy is as of the last durable step. Distances that agents measured are in no store and come along.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.engine.settings import EngineSettings
from dovetail.snapshots.conversion import document_of
from dovetail.snapshots.document import SnapshotDistances, SnapshotDocument, SnapshotSource
from dovetail.store.copying import read_copy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class LiveCopy:
    """It can be pickled: the process that makes the copy gets it. `measured`: names, and distances between them."""

    database: Path
    settings: EngineSettings
    name: str
    measured: "tuple[tuple[str, ...], npt.NDArray[np.float32]] | None" = None

    def document(self) -> SnapshotDocument:
        """Raises StoreError. Takes a while: call it where nobody waits."""
        copy = read_copy(self.database)
        source = SnapshotSource(kind="dovetail", name=self.name)
        return document_of(
            copy.snapshot, copy.definitions, self.settings, time.time(), source, self._measured(copy.snapshot.nodes)
        )

    def _measured(self, nodes: object) -> SnapshotDistances | None:
        if self.measured is None or not nodes:
            return None
        names, distance = self.measured
        rows = [[None if one != one else round(one, 4) for one in row] for row in distance.tolist()]
        return SnapshotDistances(names=list(names), distance=rows)
