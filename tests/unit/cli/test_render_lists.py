"""Lists and pages at 80 columns: what must be whole is whole, what may shrink shrinks."""

from typing import Any

import pytest
from tests.unit.cli.answers import NOW, attempt, drawn, explanation, node, task, waiting, widest, workload

from dovetail.cli.render.cluster import cluster_frame
from dovetail.cli.render.description import description, timeline
from dovetail.cli.render.nodes import node_list
from dovetail.cli.render.parts.bars import bar, gauge
from dovetail.cli.render.parts.times import span
from dovetail.cli.render.queues import queue_list
from dovetail.cli.render.workloads import task_list, workload_list


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (0.044, "44ms"),
        (0.9996, "1.0s"),
        (9.96, "10s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (185, "3m05s"),
        (3599.7, "1h00m"),
        (7830, "2h10m"),
        (86400 * 4 + 3600 * 3, "4d03h"),
        (-5, "0s"),
        (None, "-"),
    ],
)
def test_a_span_has_the_two_figures_that_matter(seconds: float | None, shown: str) -> None:
    assert span(seconds) == shown


@pytest.mark.parametrize("share", [-1.0, 0.0, 0.001, 0.5, 0.999, 1.0, 7.0])
def test_a_bar_is_as_wide_as_asked_whatever_the_share(share: float) -> None:
    assert bar(share, 10).cells == 10


def test_a_bar_of_almost_nothing_is_not_nothing() -> None:
    assert bar(0.0001, 10).plain.strip()
    assert not bar(0.0, 10).plain.strip()


def test_a_gauge_of_nothing_is_a_dash() -> None:
    assert gauge(0, 0).plain == "-"


def test_workloads_are_summed_up_first_and_fit_eighty_columns() -> None:
    rows = [
        workload("a" * 32, state="pending", message="none of 12 nodes has room; nearest is n-1: memory short by 3GiB"),
        workload("b", state="failed", message="exit status 3", finished_at=NOW - 10),
    ]
    text = drawn(workload_list(rows, NOW))
    assert text.splitlines()[0] == "2 workloads: 1 pending, 1 failed"
    assert widest(text) <= 80
    assert "a" * 32 in text
    assert "nearest is n-1: memory short by 3GiB" in text
    assert "exit status 3" in text
    assert "…" not in text


def test_workloads_of_several_namespaces_say_which() -> None:
    text = drawn(workload_list([workload("a"), workload("b", namespace="research")], NOW))
    assert "research/b" in text
    assert "default/a" in text


def test_wide_tables_cut_nothing_off() -> None:
    message = "none of 12 nodes has room; nearest is n-1: " + "memory short by 32.8GiB, " * 5
    text = drawn(workload_list([workload("x" * 90, message=message)], NOW, wide=True), width=2000)
    assert "x" * 90 in text
    assert message.strip() in text


def test_an_empty_list_says_what_to_do_next() -> None:
    assert "dovetail submit" in drawn(workload_list([], NOW))
    assert "register" in drawn(node_list([]))
    assert drawn(queue_list([], NOW)) == "nothing waits"


def test_markup_in_names_and_messages_is_only_text() -> None:
    text = drawn(workload_list([workload("a", message="[red]x[/red] [link=y]")], NOW))
    assert "[red]x[/red]" in text


def test_nodes_show_how_much_is_taken_and_leave_out_what_nobody_has() -> None:
    text = drawn(node_list([node("n-1"), node("n-2", status="cordoned", tasks=1)]))
    assert text.splitlines()[0] == "2 nodes: 1 online, 1 cordoned; 4 tasks there"
    assert "75%" in text
    assert "GPU" not in text
    assert widest(text) <= 80


def test_quarantined_nodes_say_why_below_the_table() -> None:
    why = "quarantined for 60 s: 5 placements in a row failed there, last: no such image"
    rows = [node("n-1"), *(node(f"q-{i}", status="quarantined", reason=why) for i in range(7))]
    text = drawn(node_list(rows))
    assert text.splitlines()[0].startswith("8 nodes: 1 online, 7 quarantined")
    assert "q-0: quarantined for 60 s: 5 placements in a row failed there" in text
    assert text.splitlines()[-2:] == [
        "and 2 more; -o wide shows why",
        "dovetail nodes NAME says more; dovetail uncordon NAME ends a quarantine",
    ]
    assert widest(text) <= 80
    assert why in drawn(node_list(rows, wide=True), width=2000)


def test_wide_nodes_say_of_how_much() -> None:
    assert "75% of 16" in drawn(node_list([node("n-1")], wide=True), width=2000)


def test_the_queue_shows_order_tasks_and_time() -> None:
    text = drawn(queue_list([waiting(1), waiting(2)], NOW))
    assert text.splitlines()[0] == "2 workloads with 4 tasks waiting, the longest for 1m15s"
    assert "2/4" in text
    assert "in 14 m (5–40 m)" in text
    assert widest(text) <= 80


def test_work_that_waits_for_other_work_has_no_number_and_raised_priorities_are_marked() -> None:
    follower: Any = {**waiting(2, starts_at=None, message="starts after a"), "position": None}
    rows = [waiting(1, promoted_from="low"), follower]
    text = drawn(queue_list(rows, NOW))
    assert "high ↑" in text
    assert text.splitlines()[-1].startswith("-  job-2")
    assert "—" in text.splitlines()[-1]
    assert "high (was low)" in drawn(queue_list(rows, NOW, wide=True), width=2000)


def test_the_timeline_of_running_work_ends_with_the_time_so_far() -> None:
    text = timeline(workload(), [], NOW).plain
    assert text.startswith("submitted ")
    assert "─ 2.0s ─ placed ─ 1.0s ─ bound ─ 7.0s ─ ● running 50s so far" in text


def test_the_timeline_leaves_out_when_it_was_bound_where_nobody_knows() -> None:
    assert "placed ─ 8.0s ─ ● running" in timeline(workload(bound_at=None), [], NOW).plain


def test_the_timeline_of_waiting_work_says_how_long_it_waits() -> None:
    row = workload(state="pending", started_at=None, placed_at=None, bound_at=None)
    assert timeline(row, [], NOW).plain.endswith("─ ○ queued 1m00s so far")


def test_the_timeline_of_finished_work_ends_with_how_it_ended() -> None:
    row = workload(state="failed", finished_at=NOW - 20)
    assert timeline(row, [], NOW).plain.endswith(" ─ 30s ─ ✗ failed")


def test_the_timeline_of_work_that_waits_again_counts_from_the_end_of_its_last_attempt() -> None:
    row = workload(state="pending", started_at=NOW - 50, ran_s=20.0, running_since=None)
    assert timeline(row, [attempt(ended_at=NOW - 30)], NOW).plain.endswith("─ ○ queued 30s so far")


def test_the_timeline_of_work_that_was_stopped_once_counts_from_there() -> None:
    row = workload(state="pending", started_at=NOW - 50, ran_s=30.0, running_since=None)
    assert timeline(row, [], NOW).plain.endswith("─ ○ queued 20s so far")


def test_the_timeline_of_work_that_runs_again_leaves_out_the_time_between_attempts() -> None:
    row = workload(started_at=NOW - 50, ran_s=20.0, running_since=NOW - 15)
    assert timeline(row, [attempt(2, ended_at=None), attempt()], NOW).plain.endswith("● running 35s so far")


def test_a_description_holds_facts_tasks_decision_and_history_within_eighty_columns() -> None:
    decision: Any = {"workload": 7, "replica": 0, "attempt": 1, "at": NOW, "node": "node-3", "outcome": "placed"}
    line: Any = {
        "seq": 1,
        "at": NOW - 59,
        "kind": "placed",
        "message": "on node-0",
        "workload": 7,
        "replica": 0,
        "node": "",
    }
    whole: Any = {
        "workload": workload(failed=1),
        "tasks": [task(3, state="failed", message="exited with status 3"), task(1)],
        "attempts": [attempt(2, ended_at=None), attempt(1)],
        "decisions": [decision | {"explanation": explanation()}],
        "history": [line],
    }
    text = drawn(description(whole, (4, 9, 1), NOW))
    assert widest(text) <= 80
    assert text.startswith("default/train ● running")
    assert "echo 'two words'" in text
    assert "cpu 2, memory 4GiB, gpu_model A100 or H100" in text
    assert "1 of 4 tasks failed; the last was replica 3: exited with status 3" in text
    assert "what it wrote: dovetail logs train.3" in text
    assert "4 tasks, 2 of them, failed and unusual ones first" in text
    assert "2 more: dovetail describe train --tasks all" in text
    assert "7 more: dovetail describe train --all" in text
    assert "there is more: dovetail describe train --all" in text
    assert "on node-0" in text


@pytest.mark.parametrize("lines", [10, 24, 60])
def test_top_fits_the_screen(lines: int) -> None:
    use = {"unit": "cores", "capacity": 1000.0, "allocated": 640.0, "share": 0.64}
    summary = {
        "nodes": {"total": 100, "online": 99, "offline": 1, "cordoned": 0, "backend_down": 0},
        "resources": {"cpu": use, "memory": use | {"unit": "bytes"}},
        "workloads": {"running": 3, "pending": 1},
        "waiting": 1,
        "decisions_total": 12,
        "version": "0.1.0",
        "uptime_s": 90.0,
    }
    nodes = [node(f"n-{i}") for i in range(100)]
    queue = [waiting(i) for i in range(30)]
    text = drawn(cluster_frame(summary, nodes, queue, 312, lines, NOW))  # type: ignore[arg-type]
    assert len(text.splitlines()) <= max(lines, 17)
    assert widest(text) <= 80
    assert "64%" in text
    first = sum(" job-" in line for line in text.splitlines())
    assert f"the first {first} of 312 workloads that wait; dovetail queue lists them" in text
    busiest = sum(line.startswith("n-") for line in text.splitlines())
    assert f"the busiest {busiest} of 100 nodes; dovetail nodes lists them" in text


def test_tasks_with_gpus_show_which() -> None:
    shown = drawn(task_list([task(0, devices=[3, 4]), task(1, devices=[])], NOW - 60, NOW))
    header, first, second = [line for line in shown.splitlines() if line.strip()][:3]
    assert "GPU" in header
    assert "3, 4" in first
    assert "3, 4" not in second
    assert "GPU" not in drawn(task_list([task(0)], NOW - 60, NOW))
