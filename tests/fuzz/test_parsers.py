"""Parsers read any bytes, or refuse them with their own error: Hypothesis on the targets that Atheris has too."""

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.fuzz.targets import TARGETS

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.syntax.parser import forget, parse


def bytes_for(seeds: tuple[str, ...]) -> st.SearchStrategy[bytes]:
    """Anything, and more often what is nearly right: pieces of examples, put together again with something between."""
    signs = "".join(sorted(set("".join(seeds)))) + "{}[]()\"'\\:,%.-+\n 0٣½\0\ud7ff"
    pieces = st.builds(
        lambda seed, start, length: seed[start : start + length],
        st.sampled_from(seeds),
        st.integers(0, max(map(len, seeds))),
        st.integers(1, 60),
    )
    nearly = st.lists(pieces | st.text(signs, max_size=8), max_size=6).map("".join)
    return nearly.map(str.encode) | st.text(signs, max_size=40).map(str.encode) | st.binary(max_size=60)


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
@examples(200)
def test_a_parser_reads_what_it_is_given_or_says_what_is_wrong(name: str, data: st.DataObject) -> None:
    target = TARGETS[name]
    target(data.draw(bytes_for(target.seeds)))


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_reads_the_examples_that_fuzzers_start_from(name: str) -> None:
    target = TARGETS[name]
    for seed in target.seeds[:1]:
        target.read(seed.encode())


def work_of(text: str) -> int:
    """How many functions are called to parse it."""
    calls = 0

    def count(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event.endswith("call")

    forget()
    sys.setprofile(count)
    try:
        parse(text)
    except ExpressionError:
        pass
    finally:
        sys.setprofile(None)
    return calls


@given(st.text("abx01.\"'[](){}!-+?:&|=<>,\\ \n", min_size=1, max_size=6))
@examples(100)
def test_the_work_of_parsing_grows_with_the_length_of_the_text(unit: str) -> None:
    parse("true")  # the parser is loaded
    short, long = (work_of(unit * (length // len(unit))) for length in (300, 1200))
    assert long <= 5 * short + 2000, f"{unit!r}: {short} calls, and four times the text takes {long}"
