"""What a machine's console says of its job: lines of `runner`, between those of the kernel and of others. Pure.

A line counts if it has the nonce of the job and its checksum fits. Consoles keep only their newest part, and lines may
be broken: each look adds what it shows, until the end is whole.
"""

import base64
import binascii
import json
import re
import zlib
from dataclasses import dataclass, field

_LINE = re.compile(r"(dovetail ([0-9a-f]{32}) (start|out|end) (\d{1,6}|-) (-|[A-Za-z0-9+/=]+)) ([0-9a-f]{8})(?=\s)")


MOST_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class JobEnd:
    """`parts`: of how many lines its output is made. `cut`: how many bytes of older output are not there."""

    exit_code: int | None
    reason: str
    parts: int
    cut: int


@dataclass(slots=True)
class ConsoleLines:
    nonce: str
    started: bool = False
    end: JobEnd | None = None
    _parts: dict[int, bytes] = field(default_factory=dict)

    def take(self, text: str) -> None:
        """What the console shows now."""
        for line, nonce, kind, number, content, check in _LINE.findall(text):
            if nonce != self.nonce or int(check, 16) != zlib.crc32(line.encode()):
                continue
            self.started = True
            try:
                held = b"" if content == "-" else base64.b64decode(content, validate=True)
            except binascii.Error:
                continue
            if kind == "out" and number != "-":
                self._parts[int(number)] = held
            elif kind == "end":
                self.end = _end_in(held) or self.end

    @property
    def whole(self) -> bool:
        return self.end is not None and all(number in self._parts for number in range(self.end.parts))

    def output(self) -> str:
        """With a line that says what is missing."""
        assert self.end is not None, "it has not ended"
        whole, unpacked = self.whole, zlib.decompressobj()
        content = b""
        for number in range(self.end.parts):
            room = MOST_BYTES - len(content)
            try:
                content += unpacked.decompress(self._parts[number], room) if room > 0 else b""
            except (KeyError, zlib.error):  # a job that knows its own word can write anything
                whole = False
                break
        first = f"dovetail: {self.end.cut} bytes of older output are not kept\n" if self.end.cut else ""
        last = "" if whole else "\ndovetail: the rest of the output was lost on the console\n"
        return first + content.decode("utf-8", "replace") + last


def _end_in(content: bytes) -> JobEnd | None:
    try:
        found = json.loads(content)
        code = None if found["exit_code"] is None else int(found["exit_code"]) & 0xFF
        return JobEnd(code, str(found["reason"])[:500], int(found["parts"]), int(found["cut"]))
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return None
