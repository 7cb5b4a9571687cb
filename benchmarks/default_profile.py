"""The default profile against every other built-in one, on mixes of work that differ in what is scarce.

Each mix is some hours on a small cluster, played by `simulate` with several seeds. The figure of a profile is the mean
time from submission to end. The default is compared with the best of the others on each mix, whichever that is; the
waits are printed beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from benchmarks.harness import Bench, Measured, at_most, benchmark
from dovetail.placement.pipeline.profiles import BUILT_IN, DEFAULT_PROFILE
from dovetail.simulate.replay import Simulation
from dovetail.simulate.scenario import Scenario, read_scenario

SEEDS = (1, 2, 3)
#: `kubernetes` is for pods, and chance is no choice.
OTHERS = [name for name in BUILT_IN if name not in (DEFAULT_PROFILE, "kubernetes", "round_robin", "random")]
OVER_BEST = at_most("default_profile.over_best", 1.05, "×")


@dataclass(frozen=True, slots=True)
class Mix:
    name: str
    gpus: int  # a node
    rate: float  # workloads a second
    kinds: str
    hours: int = 12

    def scenario(self) -> Scenario:
        text = f"""
        cluster:
          leaf_spine: {{spines: 1, leaves_per_spine: 2, nodes_per_leaf: 6, cpu: 128, memory: 1TiB,
                       gpus_per_node: {self.gpus}}}
          start_delay: 20s
        stream: {{rate: {self.rate}, duration: {self.hours}h, mix: {{{self.kinds}}}}}
        """
        return read_scenario(text, self.name, None)


MIXES = (
    Mix("gpu cluster", 8, 0.0036, "finetuning: 30, batch: 50, notebook: 15, inference: 5"),
    Mix("training", 8, 0.0012, "finetuning: 70, batch: 30"),
    Mix("serving", 8, 0.0012, "inference: 30, batch: 50, notebook: 20"),
    Mix("much CPU work", 8, 0.024, "batch: 92, finetuning: 8", 3),
    Mix("no GPUs", 0, 0.027, "batch: 100", 3),
)


@benchmark(OVER_BEST)
def over_best(bench: Bench) -> Iterator[tuple[str, Measured]]:
    ratios = []
    for mix in MIXES:
        ended_s, waited_s = {}, {}
        for profile in (DEFAULT_PROFILE, *OTHERS):
            ended_s[profile], waited_s[profile] = _played(mix, profile)
        best = min(OTHERS, key=ended_s.__getitem__)
        ratios.append(ended_s[DEFAULT_PROFILE] / ended_s[best])
        bench.say(
            f"{mix.name}: {ended_s[DEFAULT_PROFILE]:,.0f} s to the end, {waited_s[DEFAULT_PROFILE]:,.0f} s of waiting; "
            f"best is {best} with {ended_s[best]:,.0f} s and {waited_s[best]:,.0f} s, "
            f"worst {max(ended_s.values()):,.0f} s"
        )
    yield OVER_BEST.name, Measured(max(ratios), min(ratios), max(ratios), f"the worst of {len(MIXES)} mixes")


def _played(mix: Mix, profile: str) -> tuple[float, float]:
    """Mean seconds from submission to end, and from submission to start."""
    ended_s, waited_s = [], []
    for seed in SEEDS:
        outcome = Simulation.of(mix.scenario(), seed, profile).run()
        ended_s += [life.finished_at - life.submitted_at for life in outcome.lives if life.finished_at is not None]
        waited_s.append(outcome.waits.mean_s or 0.0)
    return fmean(ended_s), fmean(waited_s)
