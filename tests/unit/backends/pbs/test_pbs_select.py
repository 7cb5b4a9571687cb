"""The language of `select`, `place` and `exec_vnode`: what is written is read as the same, and nonsense is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.servers.openpbs.requests import chunks_of, placing_of

from dovetail.backends.pbs.select import (
    Chunk,
    ChunkSelect,
    Place,
    SelectError,
    read_exec_vnode,
    read_place,
    read_select,
    select_of,
)

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
VALUES = st.one_of(
    st.from_regex(r"[0-9]{1,5}", fullmatch=True),
    st.from_regex(r"[0-9]{1,4}[kmg]b", fullmatch=True),
    st.from_regex(r"[A-Za-z][A-Za-z0-9_.\[\]-]{0,8}", fullmatch=True),
    st.sampled_from(["a b", "x:y", "a+b", "k=v", 'say "it"', "(1)"]),
)
CHUNKS = st.builds(Chunk, st.integers(1, 999), st.dictionaries(NAMES, VALUES, max_size=4))
PLACES = st.builds(
    Place,
    st.sampled_from([None, "free", "pack", "scatter", "vscatter"]),
    st.sampled_from([None, "excl", "exclhost", "shared"]),
    st.none() | NAMES,
)


@given(chunks=st.lists(CHUNKS, min_size=1, max_size=4))
@examples(100)
def test_a_select_that_is_written_is_read_as_the_same(chunks: list[Chunk]) -> None:
    select = ChunkSelect(tuple(chunks))
    assert read_select(str(select)) == select


@given(place=PLACES)
@examples(100)
def test_a_place_that_is_written_is_read_as_the_same(place: Place) -> None:
    if str(place):
        assert read_place(str(place)) == place
        assert placing_of(str(place)).exclusive == (place.sharing in ("excl", "exclhost")), "so reads the stand-in"


@given(text=st.text("0123ncpus=mem:+gb()'\" ", max_size=30))
@examples(200)
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (read_select, read_place, read_exec_vnode):
        with suppress(SelectError):
            read(text)


def test_equal_neighbours_become_one_chunk_and_the_order_stays() -> None:
    one, other = {"ncpus": "1", "vnode": "a"}, {"ncpus": "1", "vnode": "b"}
    select = select_of([Chunk(1, one), Chunk(1, one), Chunk(1, other), Chunk(1, one)])
    assert str(select) == "2:ncpus=1:vnode=a+1:ncpus=1:vnode=b+1:ncpus=1:vnode=a"
    assert select.vnodes == ["a", "b", "a"]
    assert len(chunks_of(str(select), {"ncpus", "vnode"})) == 4


def test_a_chunk_without_a_count_is_one() -> None:
    assert read_select("ncpus=2:mem=4gb+3") == ChunkSelect((Chunk(1, {"ncpus": "2", "mem": "4gb"}), Chunk(3)))


def test_what_a_job_got_is_read() -> None:
    text = "(n1:ncpus=4:mem=8388608kb+n2[0]:ncpus=2)+(n3:ncpus=1)"
    assert read_exec_vnode(text) == [
        ("n1", {"ncpus": "4", "mem": "8388608kb"}),
        ("n2[0]", {"ncpus": "2"}),
        ("n3", {"ncpus": "1"}),
    ]


@pytest.mark.parametrize("text", ["", "ncpus", "1:ncpus", "1:ncpus=", "1+", "1:a=1:a=2", "1 2", "2:ncpus=1,mem=2"])
def test_a_wrong_select_is_refused(text: str) -> None:
    with pytest.raises(SelectError):
        read_select(text)


@pytest.mark.parametrize("text", ["", "near", "pack:scatter", "excl:shared", "group", "free:", "group=a:group=b"])
def test_a_wrong_place_is_refused(text: str) -> None:
    with pytest.raises(SelectError):
        read_place(text)
