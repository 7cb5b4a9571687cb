"""The declaration that the entry point names. It imports nothing heavy: the command line reads it at every start."""

from pathlib import Path

from dovetail.control.subsystems.declaration import SubsystemCommand, SubsystemDeclaration

_HERE = "dovetail_placement_counts"

PLACEMENT_COUNTS = SubsystemDeclaration(
    name="placement_counts",
    build=f"{_HERE}.counts:PlacementCounts",
    settings=f"{_HERE}.counts:PlacementCountSettings",
    metrics=f"{_HERE}.counts:placement_counter",
    migrations=Path(__file__).parent / "revisions",
    routes=f"{_HERE}.route:router",
    commands={
        "placement-counts": SubsystemCommand("How many tasks were placed on each node.", f"{_HERE}.command:command")
    },
)
