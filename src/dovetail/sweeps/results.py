"""Results of a sweep in a folder, one file a case, named by the key of the case.

Guarantees: a file is there whole or not at all, whenever the process is killed, so a sweep goes on where it was. What
cannot be read counts as not there, and is run again. Two sweeps may share a folder: equal cases are run once.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import orjson

from dovetail.simulate.run_figures import RunFigures
from dovetail.sweeps.cases import SweepCase


class ResultFolder:
    def __init__(self, path: Path) -> None:
        """Raises OSError where it cannot be made."""
        path.mkdir(parents=True, exist_ok=True)
        self._path = path

    def done(self, cases: Iterable[SweepCase]) -> dict[str, RunFigures]:
        """By key, those that were run before."""
        return {case.key: figures for case in cases if (figures := self._read(case.key)) is not None}

    def keep(self, case: SweepCase, figures: RunFigures) -> None:
        """Durable when it returns. Raises OSError."""
        named = {"variant": case.variant, "seed": case.seed, "figures": figures}
        place = self._path / f"{case.key}.json"
        unfinished = self._path / f".{case.key}.{os.getpid()}"
        with unfinished.open("wb") as file:
            file.write(orjson.dumps(named, option=orjson.OPT_INDENT_2))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(place)

    def _read(self, key: str) -> RunFigures | None:
        try:
            found = orjson.loads((self._path / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return cast("RunFigures", found["figures"]) if isinstance(found, dict) and "figures" in found else None
