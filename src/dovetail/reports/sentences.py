"""The answer in words: which variant is best for what, and where no difference can be seen."""

from dovetail.model.text.listing import count
from dovetail.reports.comparison import VariantComparison
from dovetail.reports.metrics import Metric

MOST_NAMED = 3


def answer(comparison: VariantComparison) -> str:
    """A few short sentences. Only differences that are more than chance count as better."""
    if len(comparison.variants) == 1:
        return _alone(comparison)
    spoken = [metric for metric in comparison.metrics if metric.praise]
    if len(comparison.seeds) == 1:
        return _one_seed(comparison, spoken)
    won: dict[str, list[str]] = {}
    shared: list[str] = []
    even: list[str] = []
    for metric in spoken:
        leaders = comparison.leaders(metric.key)
        if not leaders:
            even.append(metric.praise)
        elif len(leaders) == 1:
            won.setdefault(leaders[0], []).append(_by_how_much(comparison, metric, leaders[0]))
        else:
            shared.append(f"{metric.praise} ({_few(leaders)})")
    found = [f"{variant} is best for {joined(praises)}." for variant, praises in won.items()]
    if shared:
        found.append(f"Several are equally good for {joined(shared)}.")
    if even:
        found.append(f"{'No' if not found else 'Otherwise no'} difference beyond chance in {joined(even)}.")
    return " ".join(found)


def _alone(comparison: VariantComparison) -> str:
    variant = comparison.variants[0]
    parts = [
        f"{metric.title.lower()} {metric.written(comparison.means[metric.key][variant].mean)}"
        for metric in comparison.metrics
        if metric.key in ("mean_wait_s", "mean_slowdown", "utilisation")
    ]
    return f"{variant}: {', '.join(parts)}. Nothing to compare it with: give a second profile."


def _one_seed(comparison: VariantComparison, spoken: list[Metric]) -> str:
    best: dict[str, list[str]] = {}
    for metric in spoken:
        means = {variant: one.mean for variant, one in comparison.means[metric.key].items()}
        if len(means) < 2 or len(set(means.values())) == 1:
            continue
        pick = max if metric.higher_is_better else min
        best.setdefault(pick(means, key=means.__getitem__), []).append(metric.praise)
    found = [f"{variant} is best for {joined(praises)}." for variant, praises in best.items()]
    return " ".join([*(found or ["All variants are alike."]), "One seed only: this may be chance."])


def _by_how_much(comparison: VariantComparison, metric: Metric, winner: str) -> str:
    """`waits (12 s, 40 % less than balanced)`: against the next best."""
    means = comparison.means[metric.key]
    others = {variant: one.mean for variant, one in means.items() if variant != winner}
    pick = max if metric.higher_is_better else min
    second = pick(others, key=others.__getitem__)
    mine, theirs = means[winner].mean, others[second]
    if not theirs:
        return f"{metric.praise} ({metric.written(mine)}; {second}: {metric.written(theirs)})"
    change = abs(mine - theirs) / abs(theirs)
    much = f"{100 * change:.0f} %" if change >= 0.01 else "a little"
    word = "more" if mine > theirs else "less"
    return f"{metric.praise} ({metric.written(mine)}, {much} {word} than {second})"


def _few(variants: list[str]) -> str:
    if len(variants) <= MOST_NAMED:
        return ", ".join(variants)
    return f"{', '.join(variants[:MOST_NAMED])} and {len(variants) - MOST_NAMED} more"


def headline(comparison: VariantComparison, workloads: int) -> str:
    variants, seeds = count(len(comparison.variants), "variant"), count(len(comparison.seeds), "seed")
    return f"{variants}, {seeds} each, {count(workloads, 'workload')} a run on average"


def joined(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
