"""What heat strips can show: a module of its own, which the command line reads before anything is drawn."""

from enum import StrEnum


class HeatBy(StrEnum):
    UTILISATION = "utilisation"
    FRAGMENTATION = "fragmentation"
    HEALTH = "health"
