"""Which ended containers go: the oldest, and never those whose output somebody may just be about to read. Pure."""

from collections.abc import Mapping

SETTLE_S = 600.0


def to_remove(ended_at: Mapping[str, float], keep: int, keep_for_s: float, now: float) -> list[str]:
    """Of names and when each of them ended."""
    newest = sorted(ended_at, key=lambda name: -ended_at[name])
    return [
        name
        for place, name in enumerate(newest)
        if now - ended_at[name] > SETTLE_S and (place >= keep or now - ended_at[name] > keep_for_s)
    ]
