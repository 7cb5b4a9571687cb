"""Snapshots as bytes: JSON with one node and one workload a line, gzipped where the name says so.

Guarantees: `read_snapshot` gives a document or `Invalid` with everything that is wrong, with the line where the file
is small enough to be read twice (`MOST_BYTES_WITH_LINES`).
"""

import gzip
import zlib
from collections.abc import Iterator

import orjson
from pydantic import ValidationError

from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import Document, read_documents
from dovetail.model.text.validation_errors import complaints_of
from dovetail.snapshots.document import FORMAT, SnapshotDocument

GZIP_MAGIC = b"\x1f\x8b"
MOST_BYTES = 2**30
MOST_BYTES_WITH_LINES = 32 * 2**20
MOST_VALUES = 20_000_000
_LISTS = ("nodes", "workloads", "terms", "reservations", "policies")


def written(document: SnapshotDocument) -> bytes:
    return b"".join(_pieces(document))


def compressed(data: bytes) -> bytes:
    """The same bytes for the same snapshot: no time is written into the header."""
    return gzip.compress(data, compresslevel=6, mtime=0)


def _pieces(document: SnapshotDocument) -> Iterator[bytes]:
    data = document.model_dump(mode="json", by_alias=True, exclude_unset=True)
    yield b"{"
    for place, (name, value) in enumerate(data.items()):
        yield b",\n" if place else b"\n"
        yield orjson.dumps(name) + b": "
        if name in _LISTS and value:
            yield b"[\n" + b",\n".join(map(orjson.dumps, value)) + b"\n]"
        else:
            yield orjson.dumps(value)
    yield b"\n}\n"


def unpacked(data: bytes, source: str) -> bytes:
    """Raises Invalid."""
    if not data.startswith(GZIP_MAGIC):
        return data
    reader = zlib.decompressobj(wbits=31)
    try:
        found = reader.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise _wrong(source, f"cannot be unpacked: {error}") from None
    if reader.unconsumed_tail:
        raise _wrong(source, f"unpacks to more than {MOST_BYTES} bytes, which is too much for a snapshot")
    if not reader.eof:
        raise _wrong(source, "is cut short: copy it again")
    return found


def is_snapshot(data: bytes) -> bool:
    """It begins like one: for telling files apart by their content."""
    if data.startswith(GZIP_MAGIC):
        try:
            data = zlib.decompressobj(wbits=31).decompress(data, 4096)
        except zlib.error:
            return False
    return FORMAT.encode() in data[:4096] and data.lstrip()[:1] == b"{"


def read_snapshot(data: bytes, source: str) -> SnapshotDocument:
    """Raises Invalid."""
    text = unpacked(data, source)
    try:
        return SnapshotDocument.model_validate(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise Invalid([Complaint(source, error.lineno, "", f"is not JSON: {error.msg}")]) from None
    except ValidationError as error:
        raise Invalid(complaints_of(error, SnapshotDocument, _with_lines(text, source))) from None


def _with_lines(text: bytes, source: str) -> Document:
    if len(text) > MOST_BYTES_WITH_LINES:
        return Document({}, source)
    found = read_documents(text, source, MOST_BYTES_WITH_LINES, MOST_VALUES)
    return found[0] if found else Document({}, source)


def _wrong(source: str, words: str) -> Invalid:
    return Invalid([Complaint(source, None, "", words)])
