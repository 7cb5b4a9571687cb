"""The part of a soak that kills servers counts what it did, and says which seed repeats a finding."""

from collections import Counter

import pytest
from tests.e2e.kills.harness import KillReport, KillRun
from tests.soak import kills
from tests.soak.findings import Finding


def test_rounds_are_added_up_and_their_findings_kept_with_their_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    def struck(seed: int, faults_until: float) -> KillReport:
        wrong = ["an_attempt_begins_once: attempt 1.0.1 began 2 times"] if seed == 8 else []
        return KillReport(seed, Counter(kill=3, fill_disk=1), acknowledged=10, began=12, wrong=wrong)

    said: list[str] = []
    monkeypatch.setattr(kills, "_round", struck)
    part = kills.run_kills(0.0, 7, said.append)
    assert (part.rounds, part.tests) == (2, 8)
    assert part.findings == [
        Finding("the audit after faults", 8, "an_attempt_begins_once: attempt 1.0.1 began 2 times")
    ]
    assert part.figures["faults"] == {"kill": 6, "fill_disk": 2}
    assert part.figures["all_faults"] == 8
    assert said[-1].startswith("kills: in all: 8 faults in 0 s")


def test_a_server_that_does_not_serve_again_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck(KillRun):
        def __init__(self, *_: object, **__: object) -> None:
            self.report = KillReport(7)

        def run(self, enough: object) -> KillReport:
            raise AssertionError("the server was not ready in 60 s")

    monkeypatch.setattr(kills, "KillRun", Stuck)
    monkeypatch.setattr(kills, "AT_ONCE", 1)
    part = kills.run_kills(0.0, 7, lambda _: None)
    assert [finding.says for finding in part.findings] == ["the server was not ready in 60 s"]
