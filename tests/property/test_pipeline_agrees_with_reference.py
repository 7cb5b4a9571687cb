"""On random clusters, work and mishaps, the pipeline picks the node that the plain per-node scheduler picks."""

from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.property.random_work import OVERCOMMIT, SCOPES, Join, a_fleet, a_step
from tests.property.side_by_side import SideBySide

from dovetail.placement.pipeline.profiles import BUILT_IN, ProfileSettings

pytestmark = pytest.mark.usefixtures("small_limits")

MIXED = ProfileSettings(
    scores={
        "colocation": 3,
        "best_fit": 0.7,
        "avoided": -1.3,
        "resource_balance": 0.1,
        "related_proximity": 0.01,
        "gpu_model_preference": 0.2,
        "image_locality": 0.4,
    },
)
PROFILES = {
    # Pods are compared with a reference of their own (`test_pods_agree`).
    **{name: profile for name, profile in BUILT_IN.items() if name != "kubernetes"},
    "mixed": MIXED,
    "mixed in turn": MIXED.model_copy(update={"select": "round_robin"}),
    "balanced, observed": BUILT_IN["balanced"].model_copy(update={"settings": {"resources": {"basis": "observed"}}}),
    "network, observed": BUILT_IN["network"].model_copy(update={"settings": {"resources": {"basis": "observed"}}}),
}


def run(profile: str, r: Random, length: int) -> None:
    both = SideBySide(PROFILES[profile], r.choice(OVERCOMMIT), r.choice(SCOPES))
    for node in a_fleet(r):
        both.take(Join(node))
    for _ in range(length):
        both.take(a_step(r))


@pytest.mark.parametrize("profile", PROFILES)
@examples(4, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_long_histories_keep_choosing_what_a_plain_scheduler_chooses(profile: str, seed: int) -> None:
    run(profile, Random(seed), length=100)


@pytest.mark.parametrize("profile", PROFILES)
@examples(
    6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(r=st.randoms(use_true_random=False), length=st.integers(1, 30))
def test_short_histories_that_shrink_choose_what_a_plain_scheduler_chooses(
    profile: str, r: Random, length: int
) -> None:
    run(profile, r, length)
