"""Whether a VM runs, and how it ended, in our own words: what is decided does not need libvirt."""

from enum import StrEnum


class Power(StrEnum):
    """`OFF` may be before the first start or after the end."""

    OFF = "off"
    RUNNING = "running"
    PAUSED = "paused"
    PANICKED = "panicked"


class LastEnd(StrEnum):
    """Why a domain is off, as libvirt remembers; it forgets when its daemon restarts."""

    UNKNOWN = "unknown"
    SHUT_DOWN = "shut down"
    DESTROYED = "destroyed"
    CRASHED = "crashed"
    MIGRATED = "migrated"
    FAILED = "failed"
