"""Exponential backoff with jitter, and the settings of promotion and quarantine.

The jitter is derived from a seed and the name of what is retried, so a replay retries at the same times.
"""

from hashlib import blake2b
from typing import Annotated

from pydantic import Field

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.workload import Priority


class BackoffSettings(Strict):
    """The n-th retry waits `first` x 2^(n-1), at most `most`, plus or minus the fraction `jitter`."""

    first: Duration = 1.0
    most: Duration = 300.0
    jitter: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.2


class PromotionSettings(Strict):
    """Every `after` seconds of waiting raise a workload by one priority class, up to `most`."""

    after: Annotated[Duration, Field(gt=0)]
    most: Priority = Priority.HIGH


class QuarantineSettings(Strict):
    """After `failures` consecutive failed placements a node gets no tasks for `pause`, then one more try. The pause
    doubles each time that try fails, up to `most`."""

    failures: Annotated[Count, Field(ge=1, le=1000)] = 5
    pause: Annotated[Duration, Field(gt=0)] = 60.0
    most: Annotated[Duration, Field(gt=0)] = 3600.0


def backoff_s(settings: BackoffSettings, failures: int, seed: int, name: str) -> float:
    """How long the `failures`-th retry waits."""
    plain: float = min(settings.first * 2.0 ** min(failures - 1, 60), settings.most)
    digest = blake2b(f"{seed}/{name}/{failures}".encode(), digest_size=8).digest()
    chance = int.from_bytes(digest, "big") / 2**64
    return plain * (1.0 + settings.jitter * (2.0 * chance - 1.0))
