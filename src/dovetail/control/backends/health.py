"""Health of one backend: latency and failures of its calls, and when one last succeeded.

Latencies cover the latest calls only, so they show the present. Whether a backend is used is left to `breaker`.
"""

import math
import time
from collections import deque
from collections.abc import Callable

KEPT = 500

Observe = Callable[[str, float, bool], None]


class CallHealth:
    """`observe` is called for every call: its name, its duration, whether it failed."""

    def __init__(self, observe: Observe = lambda _call, _took_s, _failed: None) -> None:
        self.calls = 0
        self.errors = 0
        self.last_success_at: float | None = None
        self.last_error_at: float | None = None
        self.last_error = ""
        self._observe = observe
        self._took_s: deque[float] = deque(maxlen=KEPT)

    def succeeded(self, call: str, took_s: float) -> None:
        self.last_success_at = time.time()
        self._count(call, took_s, failed=False)

    def failed(self, call: str, took_s: float, error: str) -> None:
        self.errors += 1
        self.last_error_at, self.last_error = time.time(), error
        self._count(call, took_s, failed=True)

    def latency_s(self, share: float) -> float | None:
        """A quantile of the latest durations; None before the first call."""
        if not self._took_s:
            return None
        ordered = sorted(self._took_s)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    def _count(self, call: str, took_s: float, *, failed: bool) -> None:
        self.calls += 1
        self._took_s.append(took_s)
        self._observe(call, took_s, failed)
