"""Random numbers by name: the same seed and name always give the same numbers, in any order of calls.

There is no generator and so no state: the fate of one attempt never depends on others, and a restart does not change
it.
"""

import math
from hashlib import blake2b
from struct import Struct

_WORDS = Struct("<4Q")
_STEPS = 2.0**52


def chances(seed: int, name: str) -> tuple[float, float, float, float]:
    """Four independent numbers, uniform in the open interval (0, 1): never 0 or 1, so logarithms are safe."""
    a, b, c, d = _WORDS.unpack(blake2b(f"{seed}/{name}".encode(), digest_size=32).digest())
    return (
        ((a >> 12) + 0.5) / _STEPS,
        ((b >> 12) + 0.5) / _STEPS,
        ((c >> 12) + 0.5) / _STEPS,
        ((d >> 12) + 0.5) / _STEPS,
    )


def normal(u: float, v: float) -> float:
    """A standard normal number from two uniform ones (Box and Muller)."""
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * v)


def exponential(u: float, mean: float) -> float:
    return -mean * math.log(u)
