"""Tables in narrow terminals, and in pipes: nothing is lost."""

import sys
from io import StringIO

import pytest
from tests.unit.cli.answers import NOW, drawn, task, waiting, widest

from dovetail.cli.render.parts.table import Header, grid
from dovetail.cli.render.queues import queue_table
from dovetail.cli.render.workloads import task_list
from dovetail.cli.terminal.output import draw

SENTENCE = "gpu short by 8 or more on 612 nodes; nearest gpu-s1-l1-n01 (needs 16, 8 free)"
HEADERS = (Header("NAME"), Header("STATE"), Header("WHY", folds=True))


def test_a_sentence_goes_on_in_the_next_line() -> None:
    text = drawn(grid(HEADERS, [["train", "pending", SENTENCE]]), width=60)
    assert widest(text) <= 60
    assert " ".join(text.split()) == f"NAME STATE WHY train pending {SENTENCE}"
    assert "gpu short by 8 or more on 612 nodes" in text.splitlines()[1]


def test_names_stay_whole_and_the_sentence_stands_below_where_little_is_left_for_it() -> None:
    name = "a-workload-with-a-name-of-some-fifty-characters-0001"
    text = drawn(grid(HEADERS, [[name, "pending", SENTENCE], ["b", "running", ""]]), width=72)
    assert text.splitlines() == [
        f"{'NAME':<{len(name)}}  STATE",
        f"{name}  pending",
        "    gpu short by 8 or more on 612 nodes; nearest gpu-s1-l1-n01 (needs",
        "    16, 8 free)",
        f"{'b':<{len(name)}}  running",
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 80])
def test_nothing_is_cut_at_any_width(width: int) -> None:
    rows = [["x" * 70, "pending", SENTENCE], ["y", "running", "another sentence of many short words"]]
    text = drawn(grid((Header("NAME"), Header("STATE"), Header("WHY", folds=True)), rows), width=width)
    assert widest(text) <= width
    letters = "".join(text.split())
    assert "…" not in text
    assert letters.count("x") == 70
    assert SENTENCE.replace(" ", "") in letters or width < 40


def test_columns_without_any_value_are_left_out() -> None:
    unknown = {"starts_at": None, "starts_early": None, "starts_late": None}
    assert "STARTS" not in drawn(queue_table([waiting(1, **unknown), waiting(2, **unknown)], NOW))
    assert "STARTS" in drawn(queue_table([waiting(1, **unknown), waiting(2)], NOW))


def test_a_compact_table_has_one_line_a_row() -> None:
    text = drawn(queue_table([waiting(1), waiting(2)], NOW, compact=True))
    assert len(text.splitlines()) == 3
    assert widest(text) <= 80


def test_a_compact_table_keeps_names_whole_and_leaves_out_the_sentence() -> None:
    name = "research/a-training-run-with-a-long-name"
    headers = (Header("NAME", shrinks=True), Header("STATE"), Header("WHY", folds=True))
    narrow = drawn(grid(headers, [[name, "pending", SENTENCE]], compact=True), width=60)
    assert narrow.splitlines()[1].split() == [name, "pending"]
    assert SENTENCE[:20] in drawn(grid(headers, [[name, "pending", SENTENCE]], compact=True), width=90)


def test_names_stay_whole_and_stand_above_their_rows_where_they_are_too_long() -> None:
    name = "research/a-training-run-with-a-long-name"
    headers = (Header("NAME"), Header("STATE"), Header("SUBMITTED", right=True))
    text = drawn(grid(headers, [[name, "pending", "22:02:15"], ["short", "running", "22:02:16"]]), width=50)
    assert text.splitlines() == [
        "NAME",
        "    STATE    SUBMITTED",
        name,
        "    pending   22:02:15",
        "short",
        "    running   22:02:16",
    ]


def test_gpus_in_a_row_are_a_range() -> None:
    assert "  0–7" in drawn(task_list([task(0, devices=list(range(8)))], NOW - 60, NOW))


def test_a_pipe_gets_each_row_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    piped = StringIO()
    monkeypatch.setattr(sys, "stdout", piped)
    draw(grid(HEADERS, [["train", "pending", SENTENCE * 3]]))
    assert piped.getvalue().splitlines()[1] == f"train  pending  {SENTENCE * 3}"


def test_columns_of_the_environment_count_in_a_pipe_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    piped = StringIO()
    monkeypatch.setattr(sys, "stdout", piped)
    draw(grid(HEADERS, [["train", "pending", SENTENCE]]))
    assert widest(piped.getvalue()) <= 60
