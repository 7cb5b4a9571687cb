"""Fragmentation as people see it."""

from typing import Any

from tests.unit.cli.answers import drawn, widest

from dovetail.cli.render.fragmentation import FIRST_ASKS, WORST_DOMAINS, fragmentation_report
from dovetail.responses.questions import FragmentationReport


def domain(level: str, name: str, free: float, unusable: float) -> Any:
    found = {"level": level, "name": name, "gpus": 64.0, "free_gpus": free}
    return found | {"unusable_gpus": unusable, "useless_gpus": unusable / 2}


def ask(words: str, share: float, tasks: int) -> Any:
    found = {"ask": words, "gpu": 1.0, "gpu_models": [], "cpu": 4.0, "memory": 2**30}
    return found | {"share": share, "nodes": min(tasks, 3), "tasks": tasks}


def report(**fields: Any) -> FragmentationReport:
    found: Any = {
        "tasks_seen": 500,
        "cluster": domain("cluster", "cluster", 20.0, 5.0),
        "domains": [domain("rack", f"r{i}", 10.0, float(i)) for i in range(8)],
        "typical": [ask("8 GPUs, 64 CPU, 512GiB", 0.25, 0), ask("0.5 of a GPU, 4 CPU, 16GiB", 0.75, 31)],
        "unplaceable_share": 0.25,
        "defragmentation": {"estimate": True, "won_gpus": 3.25, "moves": 7, "tried": 100, "movable": 140},
    }
    return found | fields  # type: ignore[no-any-return]


def test_it_says_what_is_lost_what_fits_nowhere_and_what_could_be_won_back() -> None:
    text = drawn(fragmentation_report(report()))
    assert "20 of 64 GPUs are free; a typical task cannot use 5.0 (25%) of that" in text
    assert "moving 7 tasks would win back about 3.2 GPUs (estimate; 100 of 140 were tried)" in " ".join(text.split())
    assert "25% of tasks fit nowhere" in text
    (line,) = [line for line in text.splitlines() if line.startswith("8 GPUs")]
    assert line.split()[-1] == "none"
    assert widest(text) <= 80


def test_the_worst_domains_of_a_level_come_first_and_wide_shows_all() -> None:
    names = [line.split()[1] for line in drawn(fragmentation_report(report())).splitlines() if line.startswith("rack")]
    assert names == ["r7", "r6", "r5", "r4", "r3"]
    assert len(names) == WORST_DOMAINS
    wide = drawn(fragmentation_report(report(), wide=True), 160)
    assert sum(line.startswith("rack") for line in wide.splitlines()) == 8


def test_only_the_commonest_asks_are_shown_unless_wide() -> None:
    many = [ask(f"{i} GPUs", 0.01, i) for i in range(1, 31)]
    text = drawn(fragmentation_report(report(typical=many)))
    assert f"the {FIRST_ASKS} commonest of 30" in text
    assert "all 30" in drawn(fragmentation_report(report(typical=many), wide=True), 160)


def test_a_guess_is_called_a_guess() -> None:
    assert "a guess from what the cluster has" in drawn(fragmentation_report(report(tasks_seen=0)))


def test_a_cluster_without_gpus_is_said_to_have_none() -> None:
    none = {**domain("cluster", "cluster", 0.0, 0.0), "gpus": 0.0}
    assert drawn(fragmentation_report(report(cluster=none))) == "no node that takes work has GPUs"


def test_nothing_to_win_is_said() -> None:
    nothing = {"estimate": True, "won_gpus": 0.0, "moves": 0, "tried": 12, "movable": 12}
    assert "would win nothing back (estimate; 12 were tried)" in drawn(
        fragmentation_report(report(defragmentation=nothing))
    )
