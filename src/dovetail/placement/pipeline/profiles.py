"""Profiles: named sets of queue order, filters, weighted scores and a selection rule, with the seeds' numbers.

A profile is settings; `Pipeline` compiles it. Users add their own beside these or change a built-in one by name.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from dovetail.model.text.strict import Name, Strict, closest
from dovetail.placement.contract import FilterStage
from dovetail.placement.registry import FILTERS, MARKET_FILTERS, POD_FILTERS

Weight = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]


class ProfileSettings(Strict):
    """How nodes are chosen for a workload, and which work goes first."""

    filters: list[Name] = []
    """Filters of other packages, by name. The built-in ones always run."""
    scores: dict[str, Weight] = {}
    """The weight of each score, by name. Nodes are ranked by the weighted sum of points."""
    select: Literal["best", "round_robin", "random"] = "best"
    """Which of the feasible nodes is taken: the best, the next in turn, or any."""
    order: Name = "priority"
    """The order of pending work (`docs/queueing.md`)."""
    preemption: bool = True
    """May more urgent work preempt less urgent work."""
    victims: Literal["cheapest", "kubernetes"] = "cheapest"
    """How victims are chosen: the cheapest of all, or as kube-scheduler chooses them."""
    settings: dict[str, dict[str, Any]] = {}
    """Settings of filters and scores, by the name of the plugin (below)."""
    on_filter_error: Literal["refuse", "skip"] = "refuse"
    """What a filter that fails does: it refuses the node, or it is skipped."""

    @property
    def all_filters(self) -> tuple[str, ...]:
        """Filters of other packages before the built-in ones about capacity, so that the funnel ends with "is there
        enough free"."""
        eligibility = [name for name, plugin in FILTERS.items() if plugin.stage is FilterStage.ELIGIBILITY]
        extra = [name for name in self.filters if name not in FILTERS]
        return (*eligibility, *extra, *[name for name in FILTERS if name not in eligibility])


BUILT_IN: dict[str, ProfileSettings] = {
    # For those who choose none. What the task prefers comes first, then what keeps GPUs usable: GPU work is packed, and
    # other work goes where it takes no CPU from free GPUs. Nodes that are equal in this share the work evenly.
    "auto": ProfileSettings(
        scores={
            "affinity": 1000,
            "gpu_packing": 100,
            "gpu_support": 100,
            "resource_utilisation": 0.4,
            "load_balance": 0.3,
            "network_proximity": 0.1,
        }
    ),
    "balanced": ProfileSettings(
        scores={"resource_utilisation": 40, "load_balance": 30, "affinity": 20, "network_proximity": 10}
    ),
    "network": ProfileSettings(
        scores={"load_balance": 1, "preferred": 0.3, "avoided": -0.5, "colocation": 0.2, "related_proximity": 1}
    ),
    "least_loaded": ProfileSettings(scores={"least_loaded": 1}),
    "best_fit": ProfileSettings(scores={"best_fit": 1}),
    "resource_balance": ProfileSettings(scores={"resource_balance": 1}),
    # The domain by 40/30/20/10; its nodes tie in all of these, so the small weights choose among them alone: first the
    # one that is left fullest, then the one with the GPU model named first, then the one nearest to the work it belongs
    # with.
    "gpu_topology": ProfileSettings(
        scores={
            "domain_availability": 40,
            "topology_alignment": 30,
            "domain_utilisation": 20,
            "domain_history": 10,
            "gpu_packing": 0.01,
            "gpu_model_preference": 0.001,
            "network_proximity": 0.0001,
        }
    ),
    # Whole nodes stay free, and of nodes that are equally full those go first that leave whole domains free: a GPU of a
    # node that has less than a hundred outweighs any difference between domains.
    "gpu_packing": ProfileSettings(
        scores={"gpu_packing": 1, "domain_packing": 0.01, "gpu_model_preference": 0.001, "network_proximity": 0.0001}
    ),
    # Both count in GPUs: those that become unusable, and the price of those that others need more.
    "fragmentation": ProfileSettings(scores={"fragmentation": 1, "gpu_scarcity": 1}),
    # kube-scheduler's own weights, as near as our scores come to its: the room that is left, even use of it, what the
    # pod and its image say of nodes.
    "kubernetes": ProfileSettings(
        victims="kubernetes",
        filters=list(POD_FILTERS),
        scores={
            "resource_utilisation": 1,
            "resource_balance": 1,
            "preferred": 2,
            "avoided": -3,
            "image_locality": 0.5,
            "related_proximity": 3,  # to those that its annotations say it talks to
        },
    ),
    "round_robin": ProfileSettings(select="round_robin"),
    "random": ProfileSettings(select="random"),
}
DEFAULT_PROFILE = "auto"

#: What is added to the name of a profile for work that says what it prefers among places that could run it.
WITH_MARKET = "+market"
#: Far above all other weights: what the user prefers decides, and the profile where that leaves nodes equal.
MARKET_WEIGHT = 1e6
MARKET_SCORES = ("price", "start", "carbon", "egress", "risk", "local")


def with_market(profile: ProfileSettings) -> ProfileSettings:
    """The profile for such work. Other work is not slowed down by scores that do not concern it."""
    scores = {**profile.scores, **dict.fromkeys(MARKET_SCORES, MARKET_WEIGHT)}
    filters = [*profile.filters, *MARKET_FILTERS]
    return profile.model_copy(update={"scores": scores, "filters": filters})


class UnknownProfile(ValueError):
    """The typed outcome `invalid_strategy`: names the profile and lists those that exist."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"unknown profile {name!r}.{closest(name, known)} Known: {', '.join(known)}")
        self.name = name
