"""The page about backends: the times and counts that it names are those in force."""

import re
from pathlib import Path

from dovetail.control.backends import breaker, roster
from dovetail.control.services import backends
from dovetail.control.settings import Settings, secret_box
from dovetail.control.subsystems.built_in import BackendHealthSettings

PAGE = " ".join((Path(__file__).parents[3] / "docs" / "backends.md").read_text().split())
WORDS = {3: "three", 5: "five", 10: "ten"}


def test_the_times_that_the_page_names_are_those_in_force() -> None:
    loop = Settings().loop
    assert f"`loop.call_timeout` ({loop.call_timeout:g} s)" in PAGE
    assert f"`loop.slow_call` ({loop.slow_call:g} s)" in PAGE
    assert f"`open`, after {WORDS[breaker.FAILURES_UNTIL_OPEN]} failures in a row" in PAGE
    assert f"After {WORDS[breaker.FAILURES_UNTIL_OPEN]} of them in a row" in PAGE
    assert f"every {WORDS[int(breaker.LONGEST_PAUSE_S)]} seconds at last" in PAGE
    first_s, longest_s = breaker.FIRST_PAUSE_S, breaker.LONGEST_PAUSE_S
    assert f"after {first_s:g} s, {2 * first_s:g} s, … {longest_s:g} s" in PAGE
    assert f"looked at every {BackendHealthSettings().probe_every:g} s" in PAGE
    assert f"gets {WORDS[int(backends.STOP_WAIT_S)]} seconds to confirm the stops" in PAGE
    assert f"at most {WORDS[int(roster.FIRST_START_S)]} seconds for backends" in PAGE


def test_the_page_names_every_state_and_where_the_key_is() -> None:
    for circuit in breaker.Circuit:
        assert f"`{circuit}`" in PAGE
    assert f"`{secret_box.VARIABLE}`, or else the file `{secret_box.FILE}`" in PAGE


def test_the_metrics_that_the_page_names_are_those_that_there_are() -> None:
    source = (Path(roster.__file__).parent / "metrics.py").read_text()
    there = set(re.findall(r'"(dovetail_backend_\w+)"', source))
    assert {name.removesuffix("_total") for name in re.findall(r"`(dovetail_backend_\w+)`", PAGE)} == there
