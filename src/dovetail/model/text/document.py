"""Parses YAML (or JSON, a subset) into plain data that knows the line of every field.

Guarantees: `read_documents` returns plain data (mappings with text keys, lists, text, numbers, booleans, null) or
raises `Invalid` with line and message. It builds no other objects, does not recurse on nested input, and its cost is
bounded by `max_bytes` however aliases are nested. Duplicate keys, cyclic references and tags are refused; anchors,
aliases and merge keys (`<<`) work. The caller reads files (`decode` takes the bytes); `reading` builds models.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.scalar import plain_value
from dovetail.model.text.strict import shown
from dovetail.model.text.syntax import explain_syntax

if TYPE_CHECKING:
    from yaml import Event

Path = tuple[str | int, ...]

MAX_BYTES = 8 * 2**20
MAX_DEPTH = 100
MAX_VALUES = 1_000_000  # with aliases expanded: ten lines must not become a billion values

_STR_TAGS = ("!", "tag:yaml.org,2002:str")
_COLLECTION_TAGS = ("!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_JSON_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file, or item `at` of its top-level list. `lines` are those of the whole document."""

    data: object
    source: str
    lines: Mapping[Path, int] = field(default_factory=dict)
    at: Path = ()

    def line_of(self, path: Path) -> int | None:
        """The line of a field, or of the nearest enclosing one that has a line (a missing field has none)."""
        whole = self.at + path
        for length in range(len(whole), len(self.at) - 1, -1):
            if whole[:length] in self.lines:
                return self.lines[whole[:length]]
        return None

    def items(self) -> "list[Document]":
        """The items of a list as separate documents; anything else is one document."""
        if not isinstance(self.data, list):
            return [self]
        return [Document(item, self.source, self.lines, (*self.at, index)) for index, item in enumerate(self.data)]


def decode(content: bytes, source: str) -> str:
    """Decode UTF-8 text."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Invalid([Complaint(source, None, "", "is UTF-16; save it as UTF-8")])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        words = f"byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise Invalid([Complaint(source, line, "", words)]) from None


def read_documents(
    text: str | bytes, source: str, max_bytes: int = MAX_BYTES, max_values: int = MAX_VALUES
) -> list[Document]:
    """All non-empty documents of the text."""
    if len(text) > max_bytes:
        unit = "bytes" if isinstance(text, bytes) else "characters"
        words = f"is {len(text)} {unit} long; at most {max_bytes} are read. Split it into several files"
        raise Invalid([Complaint(source, None, "", words)])
    if isinstance(text, bytes):
        text = decode(text, source)
    text = text.removeprefix("\ufeff")
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        line = text.count("\n", 0, forbidden.start()) + 1
        column = forbidden.start() - text.rfind("\n", 0, forbidden.start())
        words = f"character U+{ord(forbidden[0]):04X} cannot stand in a text file; remove it (column {column})"
        raise Invalid([Complaint(source, line, "", words)])
    if text.lstrip()[:1] in ("{", "["):
        text = _JSON_PAIR.sub(_join_pair, text)
    builder = _Builder(source, max_values)
    for event in _events(text, source):
        builder.take(event)
    return builder.documents


def _join_pair(found: re.Match[str]) -> str:
    """JSON escapes a character above U+FFFF as a surrogate pair; YAML needs one escape."""
    pair = bytes.fromhex(found[2] + found[3]).decode("utf-16-be")
    return f"{found[1]}\\U{ord(pair):08x}"


def _events(text: str, source: str) -> "Iterator[Event]":
    import yaml

    loader: Any = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
    try:
        yield from yaml.parse(text, Loader=loader)
    except yaml.YAMLError as error:
        line, words = explain_syntax(error, text)
        raise Invalid([Complaint(source, line, "", words)]) from None
    except (ValueError, OverflowError):  # PyYAML fails on impossible escapes and versions
        raise Invalid(
            [Complaint(source, None, "", "is not YAML: it holds an escape or a version that is impossible")]
        ) from None


@dataclass(slots=True)
class _Open:
    """A mapping or list that is not closed yet."""

    container: Any
    path: Path
    anchor: str | None
    key: str | None = None
    merging: bool = False  # the value of `<<` comes next
    merged: list[dict[str, Any]] = field(default_factory=list)
    size: int = 1
    height: int = 1


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: object
    size: int
    height: int


class _Builder:
    """Builds documents from parser events, without recursion."""

    def __init__(self, source: str, max_values: int) -> None:
        self.source = source
        self._max_values = max_values
        self.documents: list[Document] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored | None] = {}  # None while its value is still open
        self._lines: dict[Path, int] = {}
        self._root: object = None
        self._values = 0
        self._handlers: dict[str, Callable[[Any, int], None]] = {
            "DocumentStartEvent": self._start_document,
            "DocumentEndEvent": self._end_document,
            "ScalarEvent": self._scalar,
            "AliasEvent": self._alias,
            "MappingStartEvent": lambda event, line: self._begin({}, event, line),
            "SequenceStartEvent": lambda event, line: self._begin([], event, line),
            "MappingEndEvent": self._end,
            "SequenceEndEvent": self._end,
        }

    def take(self, event: "Event") -> None:
        handler = self._handlers.get(type(event).__name__)
        if handler:
            mark = event.start_mark
            handler(event, mark.line + 1 if mark else 1)

    def _refuse(self, line: int, words: str) -> NoReturn:
        raise Invalid([Complaint(self.source, line, "", words)])

    def _start_document(self, _event: Any, _line: int) -> None:
        self._anchors, self._lines, self._root = {}, {}, None

    def _end_document(self, _event: Any, _line: int) -> None:
        if self._root is not None:
            self.documents.append(Document(self._root, self.source, self._lines))

    def _scalar(self, event: Any, line: int) -> None:
        text: str = event.value
        if _SURROGATE.search(text):
            self._refuse(line, "an escape in double quotes is half a character; write the character itself")
        if event.tag is not None and event.tag not in _STR_TAGS:
            self._refuse_tag(event.tag, line)
        plain = event.implicit[0] and event.tag is None
        value = plain_value(text) if plain else text
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, 1, 0)
        top = self._open[-1] if self._open else None
        if top is not None and isinstance(top.container, dict) and top.key is None and not top.merging:
            self._name_next(top, text, plain, line)
            return
        self._place(value, 1, 0, line)

    def _name_next(self, top: _Open, key: str, plain: bool, line: int) -> None:
        if not key:
            self._refuse(line, "a field has no name before its ':'")
        if plain and key == "<<":
            if top.merged:
                self._refuse(line, "'<<' is used twice in one mapping; merge a list instead: '<<: [*one, *two]'")
            top.merging = True
            return
        path = (*top.path, key)
        if key in top.container:
            self._refuse(line, f"{shown(key)} was already given in line {self._lines[path]}; a field is written once")
        top.key, top.container[key] = key, None
        self._lines[path] = line

    def _alias(self, event: Any, line: int) -> None:
        if event.anchor not in self._anchors:
            words = f"'*{event.anchor[:40]}' refers to an anchor that is not defined before it"
            self._refuse(line, f"{words}; put text that starts with '*' in quotes")
        anchored = self._anchors[event.anchor]
        if anchored is None:
            self._refuse(
                line, f"'*{event.anchor[:40]}' is inside the value it refers to; references cannot go in circles"
            )
        if len(self._open) + anchored.height > MAX_DEPTH:
            self._refuse(line, f"is nested deeper than {MAX_DEPTH} levels")
        self._place(anchored.value, anchored.size, anchored.height, line)

    def _begin(self, container: object, event: Any, line: int) -> None:
        if event.tag is not None and event.tag not in _COLLECTION_TAGS:
            self._refuse_tag(event.tag, line)
        if len(self._open) >= MAX_DEPTH:
            self._refuse(line, f"is nested deeper than {MAX_DEPTH} levels")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open(container, self._next_path(line), event.anchor))

    def _end(self, _event: Any, _line: int) -> None:
        ended = self._open.pop()
        for base in ended.merged:
            for key, value in base.items():
                ended.container.setdefault(key, value)
        if ended.anchor is not None:
            self._anchors[ended.anchor] = _Anchored(ended.container, ended.size, ended.height)
        self._place(ended.container, ended.size, ended.height, self._lines[ended.path], counted=True)

    def _next_path(self, line: int) -> Path:
        """The path of the value that begins now; refuses lists and mappings as keys."""
        if not self._open:
            self._lines[()] = line
            return ()
        top = self._open[-1]
        if top.key is not None:
            return (*top.path, top.key)
        if not isinstance(top.container, list) and not top.merging:
            self._refuse(line, "a list or mapping cannot be a field's name; put text that starts with '{' in quotes")
        path = (*top.path, "<<" if top.merging else len(top.container))
        self._lines[path] = line
        return path

    def _place(self, value: Any, size: int, height: int, line: int, *, counted: bool = False) -> None:
        """Store a finished value. `counted`: its parts were counted before."""
        self._values += 1 if counted else size
        if self._values > self._max_values:
            self._refuse(line, f"holds more than {self._max_values} values once its references are followed")
        if not self._open:
            self._root = value
            self._lines[()] = line
            return
        top = self._open[-1]
        top.size += size
        top.height = max(top.height, height + 1)
        if isinstance(top.container, list):
            self._lines[(*top.path, len(top.container))] = line
            top.container.append(value)
        elif top.merging:
            self._merge(top, value, line)
        elif top.key is not None:
            top.container[top.key] = value
            top.key = None
        else:
            self._refuse(line, "a reference cannot be a field's name; write the name, or put it in quotes")

    def _merge(self, top: _Open, value: Any, line: int) -> None:
        bases = value if isinstance(value, list) else [value]
        if not bases or not all(isinstance(base, dict) for base in bases):
            self._refuse(line, "'<<' merges mappings: write '<<: *name' or '<<: [*one, *two]'")
        top.merging, top.merged = False, bases

    def _refuse_tag(self, tag: str, line: int) -> NoReturn:
        short = tag.replace("tag:yaml.org,2002:", "!!")
        self._refuse(line, f"the tag {shown(short)} is not allowed; write plain values (only !!str is understood)")
