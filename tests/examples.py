"""How many random examples tests try. One place decides for all of them, by the Hypothesis profile.

- `quick`, for `make test`: a fifth of the examples that a test names, 20 where it names none. The same every time, so
  that a run says something about the change and not about chance; soaks look for what these do not find. Nor do they
  follow from the constants in the code: to read all of it takes every worker of a fresh clone eight seconds.
- `soak`, for `make soak`: `SOAK_FACTOR` times as many as named, of seeds that follow from `SOAK_SEED` in the
  environment. Failures are not remembered in a database, so that the seed alone reproduces them.

A test says what it needs with `@examples(25)` instead of `@settings(max_examples=25)`, with `seeds(400)` instead of
`range(400)`, and with `times(200)` where only the length of a history is to grow. Properties have no deadline: how long
an example takes says how busy the machine is.
"""

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

QUICK, SOAK = "quick", "soak"
QUICK_SHARE, SOAK_FACTOR = 5, 5
SOAK_SEED = "DOVETAIL_SOAK_SEED"
_DEFAULT = 100
_SEEDS_APART = 1_000_000


def register_profiles() -> None:
    settings.register_profile(QUICK, deadline=None, max_examples=_DEFAULT // QUICK_SHARE, derandomize=True)
    slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile(
        SOAK,
        deadline=None,
        max_examples=SOAK_FACTOR * _DEFAULT,
        database=None,
        derandomize=False,
        print_blob=True,
        suppress_health_check=slow_is_fine,
    )
    settings.load_profile(QUICK)
    from_the_code = providers._get_local_constants
    providers._get_local_constants = lambda: from_the_code() if in_soak() else providers._local_constants


def in_soak() -> bool:
    """The profile is chosen before test files are imported."""
    return settings.get_current_profile_name() == SOAK


def times(count: int) -> int:
    """So many in a quick run, and more in a soak: steps of a random history, for one."""
    return count * SOAK_FACTOR if in_soak() else count


def examples(count: int, **more: Any) -> settings:
    """As a decorator: a fifth of them in a quick run. Takes the other settings of Hypothesis too."""
    return settings(max_examples=_examples(count), **more)


def seeds(count: int) -> range:
    """The seeds of a test that loops over them: 0, 1, … in a quick run, others in each soak."""
    first = int(os.environ.get(SOAK_SEED, "0")) * _SEEDS_APART if in_soak() else 0
    return range(first, first + _examples(count))


def _examples(count: int) -> int:
    return count * SOAK_FACTOR if in_soak() else -(-count // QUICK_SHARE)
