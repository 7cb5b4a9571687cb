"""The summary of `dovetail kubernetes check`."""

from dovetail.kubernetes.checking.check import AgreementCount, CheckReport


def summary(report: CheckReport) -> str:
    """A table by plugin of kube-scheduler, and the three figures that count."""
    rows = [(plugin or "(may go there)", tally) for plugin, tally in report.plugins()]
    width = max([len(name) for name, _ in rows], default=0)
    lines = [f"{name.ljust(width)}  {tally.agreed:>6} of {tally.compared:<6} {_percent(tally)}" for name, tally in rows]
    victims = f"the same victims in {report.same_victims}"
    return "\n".join(
        [
            f"{report.scenarios} scenarios",
            "",
            *lines,
            "",
            f"Feasible nodes agree on {_words(report.feasible, 'pairs of pod and node')}.",
            f"Whether eviction could help agrees on {_words(report.eviction, 'refused pairs')}.",
            f"Where it nominates a node, so do we, and no worse, in {_words(report.nominated, 'cases')}; {victims}.",
        ]
    )


def _words(tally: AgreementCount, what: str) -> str:
    return f"{tally.agreed} of {tally.compared} {what} ({_percent(tally)})"


def _percent(tally: AgreementCount) -> str:
    """Never 100 unless it is all of them."""
    share = tally.share * 100
    return f"{min(share, 99.99) if tally.agreed < tally.compared else share:.2f} %"
