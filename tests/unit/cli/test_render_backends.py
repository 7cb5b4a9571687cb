"""Backends on a terminal: the list in 80 columns, and one with everything."""

from tests.unit.cli.answers import drawn

from dovetail.cli.render.backends import backend_history, backend_list, one_backend
from dovetail.responses.backends import BackendDetail, BackendRow
from dovetail.responses.system import HistoryRow

NOW = 1_800_000_000.0
GOOD = BackendRow(
    name="sim",
    kind="simulated",
    source="settings",
    added_at=None,
    state="closed",
    problem="",
    nodes=400,
    tasks=12,
    waiting=0,
    calls=900,
    errors=0,
    latency_p50_s=0.0042,
    latency_p99_s=1.25,
    last_success_at=NOW - 3,
    last_error_at=None,
    last_error="",
    capabilities=["processes", "logs"],
)
BAD: BackendRow = {
    **GOOD,
    "name": "lab",
    "kind": "spool",
    "source": "added",
    "added_at": NOW - 90,
    "state": "open",
    "problem": "no answer within 60 s",
    "errors": 7,
    "waiting": 3,
    "latency_p50_s": None,
    "latency_p99_s": None,
    "last_success_at": None,
    "last_error_at": NOW - 61,
    "last_error": "no answer within 60 s",
}


def test_a_list_says_which_are_in_use_and_what_is_wrong_with_the_others() -> None:
    header, good, bad, _, problem = drawn(backend_list([GOOD, BAD], NOW)).splitlines()
    assert header.split() == ["BACKEND", "KIND", "STATE", "NODES", "TASKS", "P50", "P99", "ERRORS", "ANSWERED"]
    assert good.split() == ["sim", "simulated", "in", "use", "400", "12", "4.2", "ms", "1.25", "s", "0", "3.0s", "ago"]
    assert "left alone" in bad
    assert "never" in bad
    assert problem == "lab: no answer within 60 s"
    assert all(len(line) <= 80 for line in (header, good, bad))


def test_a_wide_list_says_where_each_comes_from_and_what_it_can_do() -> None:
    wide = drawn(backend_list([BAD], NOW, wide=True), width=200)
    assert "no answer within 60 s" in wide
    assert "added" in wide
    assert "processes, logs" in wide


def test_one_backend_shows_its_settings_one_by_one() -> None:
    row: BackendDetail = {
        **BAD,
        "sees_own_writes": False,
        "stale_for_s": 2.0,
        "settings": {"folder": "/srv", "login": {"user": "ann", "word": "•••"}},
    }
    text = drawn(one_backend(row, NOW))
    assert "lab, of kind spool (added" in text
    assert "open: left alone" in text
    assert "changes are known within 2 s; its own writes are seen later" in text
    assert "login.word: •••" in text


def test_its_history_says_when_and_what_in_full() -> None:
    message = "backend lab changed (folder, poll, prices) by ann: the disk of the old one was full"
    line: HistoryRow = {
        "seq": 7,
        "at": NOW - 90,
        "kind": "backend",
        "message": message,
        "workload": None,
        "replica": None,
        "node": None,
        "backend": "lab",
        "namespace": None,
        "name": None,
    }
    header, *lines = drawn(backend_history("lab", [line], NOW)).splitlines()
    assert header.split() == ["WHEN", "WHAT"]
    assert " ".join(" ".join(lines).split()).endswith(message)
    assert "nothing is remembered of a backend x" in drawn(backend_history("x", [], NOW))


def test_names_stay_whole_beside_very_short_answers() -> None:
    quick: BackendRow = {**GOOD, "name": "registered", "kind": "registered", "latency_p50_s": 0.000005}
    text = drawn(backend_list([{**quick, "latency_p99_s": 0.0000371, "nodes": 1000, "tasks": 2870}], NOW))
    assert "registered  registered" in text
    assert "<0.1 ms" in text
