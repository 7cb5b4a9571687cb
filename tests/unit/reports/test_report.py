"""The report: what is called better, what the page holds, and that nothing in it can do harm."""

import re
from html.parser import HTMLParser

import pytest

from dovetail.reports.comparison import ReportRun, compare, half_interval
from dovetail.reports.sentences import answer
from dovetail.reports.sweep_report import sweep_report
from dovetail.simulate.run_figures import SLOWDOWN_POINTS, WAIT_POINTS_S, RunFigures, jain_index

HOSTILE = '<script>alert("x")</script>&'


def figures(wait_s: float, **numbers: float | None) -> RunFigures:
    course = {"span_s": 60.0, "samples": [0.2, 0.9, 0.5]}
    return {
        "digest": "d",
        "workloads": 10,
        "numbers": {"mean_wait_s": wait_s, "utilisation": 0.5, "preemptions": 0.0, **numbers},
        "waits": [min(1.0, point / 100) for point in WAIT_POINTS_S],
        "slowdowns": [min(1.0, point / 5) for point in SLOWDOWN_POINTS],
        "utilisation": course,  # type: ignore[typeddict-item]
        "fragmentation": None,
        "resource": "gpu",
        "tenants": {
            name: {"workloads": 5, "mean_wait_s": wait_s, "mean_slowdown": 1.0 + wait_s} for name in ("a", HOSTILE)
        },
    }


def runs(**waits: list[float]) -> list[ReportRun]:
    return [ReportRun(name, seed, figures(wait)) for name, each in waits.items() for seed, wait in enumerate(each)]


def test_a_difference_that_every_seed_shows_is_no_chance() -> None:
    """The means overlap widely; seed by seed one is always better."""
    found = compare(runs(one=[100.0, 200.0, 300.0, 400.0], other=[90.0, 189.0, 291.0, 390.0]))
    means = found.means["mean_wait_s"]
    assert means["other"].leads
    assert means["one"].leads is False
    assert means["one"].p is not None
    assert means["one"].p < 0.05
    assert found.leaders("utilisation") == []
    assert answer(found).startswith("other is best for waits (4 min, 4 % less than one).")
    assert "no difference beyond chance in utilisation and preemptions" in answer(found)


def test_a_difference_that_changes_with_the_seed_is_chance() -> None:
    found = compare(runs(one=[10.0, 30.0, 20.0], other=[30.0, 10.0, 21.0]))
    assert found.leaders("mean_wait_s") == []
    assert answer(found) == "No difference beyond chance in waits, utilisation and preemptions."


def test_one_seed_says_that_it_may_be_chance() -> None:
    found = compare(runs(one=[10.0], other=[30.0]))
    assert found.means["mean_wait_s"]["one"].plus_minus is None
    assert answer(found) == "one is best for waits. One seed only: this may be chance."


def test_the_order_of_runs_changes_nothing() -> None:
    there = runs(one=[1.0, 2.0, 4.0], other=[2.0, 2.5, 5.0], third=[9.0, 9.0, 9.5])
    assert compare(there[::-1]).means["mean_wait_s"].keys() == compare(there).means["mean_wait_s"].keys()
    for variant, one in compare(there).means["mean_wait_s"].items():
        assert compare(there[::-1]).means["mean_wait_s"][variant] == one


def test_intervals_are_those_of_students_t() -> None:
    assert half_interval([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(1.9632, abs=1e-4)
    assert half_interval([1.0]) is None


def test_jains_index_is_one_where_all_are_equal_and_one_by_n_where_one_has_all() -> None:
    assert jain_index([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert jain_index([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert jain_index([1.0]) is None


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_the_page_needs_nothing_from_elsewhere_and_runs_no_script() -> None:
    there = [ReportRun(name, seed, figures(10.0 * seed)) for name in ("plain", HOSTILE) for seed in (1, 2)]
    html = sweep_report(HOSTILE, there, HOSTILE, [HOSTILE])
    found = Elements()
    found.feed(html)
    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    assert not [name for name, _ in found.attributes if name in ("src", "href", "srcset") or name.startswith("on")]
    assert "url(" not in html
    assert not re.search(r"https?://", html)
    assert html.count("<svg") >= 5  # the sign, wait, slowdown, use, fairness


def test_every_question_has_a_panel_and_missing_figures_say_why() -> None:
    html = sweep_report("t", runs(one=[1.0, 2.0], other=[2.0, 3.5]))
    for title in (
        "Wait",
        "Slowdown",
        "Utilisation over time",
        "Fragmentation over time",
        "Traffic time",
        "Preemptions",
    ):
        assert f"<h2>{title}</h2>" in html
    assert "has no GPUs, so none can become unusable" in html
    assert sweep_report("t", runs(one=[1.0, 2.0], other=[2.0, 3.5])) == html


def test_more_variants_than_colours_are_all_in_the_table() -> None:
    html = sweep_report("t", runs(**{f"v{index}": [float(index), index + 1.0] for index in range(14)}))
    assert all(f"v{index}</td>" in html or f"v{index} " in html for index in range(14))


def test_who_is_worse_than_one_that_certainly_does_not_lead_does_not_lead_either() -> None:
    """It scatters so much that it cannot be told from the best; but its mean is the worst of all."""
    found = compare(runs(best=[10.0, 20.0, 30.0], sure=[12.0, 22.0, 32.1], wild=[1.0, 50.0, 20.0]))
    assert found.leaders("mean_wait_s") == ["best"]
