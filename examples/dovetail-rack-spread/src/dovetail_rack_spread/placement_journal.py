"""A hook that writes one JSON line for each task placed: when it is told, on which node, and by what margin."""

import json
from pathlib import Path
from typing import Any, ClassVar

from dovetail.model.text.strict import Strict


class PlacementJournalSettings(Strict):
    path: Path


class PlacementJournal:
    """Hooks run outside the engine and may do I/O; one that raises is named in the log and the rest goes on."""

    name: ClassVar[str] = "placement_journal"
    Settings: ClassVar[type[Strict]] = PlacementJournalSettings

    def __init__(self, settings: PlacementJournalSettings) -> None:
        self._path = settings.path

    def on_scheduled(self, task: str, workload: str, node: str, explanation: dict[str, Any]) -> None:
        best = explanation["best"]
        margin = best[0]["total"] - best[1]["total"] if len(best) > 1 else None
        line = {"task": task, "workload": workload, "node": node, "margin": margin}
        with self._path.open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(line) + "\n")
