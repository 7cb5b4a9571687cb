"""Places in an output: where the last lines begin, and what was written since a time."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.backends import log_tail
from dovetail.backends.contract import LogChunk
from dovetail.backends.local.supervisor.output_file import OutputFile
from dovetail.backends.local.supervisor.run_files import OUTPUT, OUTPUT_TIMES
from dovetail.backends.local.supervisor.watch import record_size
from dovetail.backends.log_streams import offset_at, read_output, tail_offset
from dovetail.backends.log_tail import tail_by_reading

OUTPUTS = st.text(alphabet="ab\n漢", max_size=60)


def last_lines(text: str, number: int) -> str:
    return "".join(text.splitlines(keepends=True)[-number:]) if number else ""


class Stream:
    """A log that can only be read from an offset on, as that of a container."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        text = self._content[offset:].decode()[: max(1, limit // 4)]
        following = offset + len(text.encode())
        return LogChunk(text, following, following == len(self._content))


@examples(200)
@given(text=OUTPUTS, lines=st.integers(0, 8), block=st.integers(1, 7))
def test_the_last_lines_of_a_file_are_found_in_blocks_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, text: str, lines: int, block: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "output.log"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dovetail.backends.log_streams.BLOCK_BYTES", block)
        offset = tail_offset(path, lines)
    assert text.encode()[offset:].decode() == last_lines(text, lines)


@examples(200)
@given(text=OUTPUTS, lines=st.integers(0, 8), size=st.integers(4, 40))
def test_the_last_lines_of_a_stream_are_found_by_reading_it(text: str, lines: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_tail, "READ_BYTES", size)
        offset = asyncio.run(tail_by_reading(Stream(text.encode()), "1.0.1", lines))  # type: ignore[arg-type]
    assert text.encode()[offset:].decode() == last_lines(text, lines)


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    assert tail_offset(tmp_path / "none", 3) == 0
    assert offset_at(tmp_path / "none", 1.0) == 0


def test_the_supervisor_writes_down_how_long_the_output_was_when(tmp_path: Path) -> None:
    run, output = str(tmp_path), tmp_path / OUTPUT
    times = tmp_path / OUTPUT_TIMES
    output.write_bytes(b"one\n")
    size = record_size(run, 0)
    assert record_size(run, size) == 4, "nothing new, nothing to write down"
    first = float(times.read_text().split()[0])
    output.write_bytes(b"one\ntwo\n")
    assert record_size(run, size) == 8
    assert len(times.read_text().splitlines()) == 2
    times.write_text(f"{first} 4\n{first + 10} 8\n")
    assert [offset_at(times, first + later) for later in (-1, 0, 9, 10, 99)] == [0, 4, 4, 8, 8]


def test_output_whose_beginning_was_removed_is_read_from_where_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    output = OutputFile(str(path), 64 * 1024)
    for number in range(20_000):
        output.write(f"line {number}\n".encode())
    if path.stat().st_blocks * 512 >= path.stat().st_size:
        pytest.skip("the file system of the temporary folder has no holes")
    chunk = read_output(path, 0, 2**20, ended=True)
    first, _, rest = chunk.text.partition("\n")
    assert first.startswith("dovetail: ")
    assert first.endswith(" bytes of older output were removed (output_limit)")
    assert rest.endswith("line 19998\nline 19999\n")
    assert len(rest) <= 64 * 1024
    assert (chunk.next_offset, chunk.ended) == (path.stat().st_size, True)
    assert read_output(path, tail_offset(path, 2), 100, ended=True).text == "line 19998\nline 19999\n"
    assert tail_offset(path, 10**6) == chunk.next_offset - len(rest)


def test_beyond_the_end_there_is_nothing_however_far() -> None:
    with TemporaryDirectory(dir="/var/tmp") as folder:  # on a disk, which refuses to look farther than files may reach
        path = Path(folder) / "output"
        path.write_bytes(b"all of it\n")
        for offset in (10, 2**45, 2**62):
            assert read_output(path, offset, 100, ended=True).text == ""
