"""A page of documentation as a list of blocks, in order, with what the page says about running them.

A block is fenced and names its language. HTML comments right before it, which readers do not see, direct the runner:

| comment | meaning |
|---|---|
| `<!-- not run: REASON -->` | left alone; the reason says what a test machine lacks, or what the block is |
| `<!-- file: NAME -->` | the block is written to this file |
| `<!-- exits: 2 -->` | the last command of the block ends with this status |
| `<!-- waits: REASON -->` | the workloads of the block are accepted, and stay pending on the page's server |
| `<!-- hook: NAME -->` | what the block does on another machine; the test does the same to its own server instead |
| `<!-- setup` … `-->` | commands that are run and not shown |
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

COMMANDS = ("console", "sh", "bash")
DATA = ("yaml", "json", "toml")
OUTPUT = "text"
LANGUAGES = (*COMMANDS, *DATA, "python", OUTPUT)

_FENCE = re.compile(r"^( *)```(.*)$")
_COMMENT = re.compile(r"<!--\s*(not run|file|exits|waits|hook|setup)\b:?\s*(.*?)\s*-->", re.DOTALL)
_FILE_NAME = re.compile(r"^# ([\w./-]+\.(?:yaml|json|toml|py|sh|csv))\b")
_COMMAND_LINE = re.compile(r"^\s*(?:\$ |dovetail |make |pip |kubectl |docker )", re.MULTILINE)


class BadPage(Exception):
    """The page has a block that can be neither run nor left out."""


@dataclass(slots=True)
class Block:
    page: str
    line: int  # of its first line, counted from 1
    language: str
    text: str
    told: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def not_run(self) -> str | None:
        return self.told.get("not run")

    @property
    def file_name(self) -> str | None:
        """The name of the file that the block shows: a comment before it, or its own first line, says so."""
        if "file" in self.told:
            return self.told["file"]
        found = _FILE_NAME.match(self.text)
        return found[1] if found else None


@dataclass(slots=True)
class Command:
    """One command and the output that the page shows for it; None if it shows none."""

    line: int
    words: str
    shown: list[str] | None


def read_page(path: Path, name: str) -> list[Block]:
    blocks: list[Block] = []
    for line, comment, fenced in _parts(path.read_text().splitlines()):
        if fenced is not None:
            blocks.append(Block(name, line, *fenced, told=dict(_COMMENT.findall(comment))))
        for words in (found for kind, found in _COMMENT.findall(comment) if kind == "setup"):
            at = len(blocks) - (fenced is not None)
            blocks.insert(at, Block(name, line, "sh", words))
    for block in blocks:
        _check(block)
    return blocks


def _parts(lines: list[str]) -> Iterator[tuple[int, str, tuple[str, str] | None]]:
    """(line, comments before it, (language, text) of a block or None at the end of a run of comments)."""
    comment, comment_open, index = "", False, 0
    while index < len(lines):
        text = lines[index]
        if comment_open or text.startswith("<!--"):
            comment += text + "\n"
            comment_open = "-->" not in text
        elif fence := _FENCE.match(text):
            end = next((at for at in range(index + 1, len(lines)) if lines[at].strip() == "```"), len(lines))
            body = [line.removeprefix(fence[1]) for line in lines[index + 1 : end]]
            yield index + 2, comment, (fence[2].strip(), "\n".join(body) + "\n")
            comment, index = "", end
        elif text.strip() and comment:
            yield index + 1, comment, None
            comment = ""
        elif text.startswith("    ") and not lines[index - 1].strip() and not _in_list(lines, index):
            raise BadPage(f"line {index + 1}: an indented block; fence it and name its language, so that it is run")
        index += 1


def _in_list(lines: list[str], index: int) -> bool:
    """Does the line continue an item of a list?"""
    before = next((line for line in reversed(lines[:index]) if line.strip() and not line.startswith("  ")), "")
    return bool(re.match(r"(?:[-*]|\d+\.) ", before))


def _check(block: Block) -> None:
    if block.language not in LANGUAGES:
        raise BadPage(f"{block.where}: language {block.language!r}; write one of {', '.join(LANGUAGES)}")
    if block.language == OUTPUT and not block.not_run and _COMMAND_LINE.search(block.text):
        raise BadPage(f"{block.where}: a `text` block with a command; make it `console`, so that it is run")
    if block.not_run == "":
        raise BadPage(f"{block.where}: `not run` without a reason")


def commands_of(block: Block) -> list[Command]:
    """In `console`, `$ ` begins a command and the lines below it are its output. In `sh` every line is a command."""
    if block.language != "console":
        return [Command(number, words, None) for number, words in _shell_lines(block)]
    found: list[Command] = []
    for number, text in enumerate(block.text.splitlines(), block.line):
        if text.startswith("$ "):
            found.append(Command(number, text.removeprefix("$ "), None))
        elif not found:
            raise BadPage(f"{block.where}: a `console` block begins with `$ ` and a command")
        elif found[-1].words.endswith("\\"):
            found[-1].words = found[-1].words.removesuffix("\\") + text.strip()
        else:
            found[-1].shown = [*(found[-1].shown or []), text]
    return found


def command_beginning(path: Path, words: str) -> str:
    """The one command of a page that begins so, without its comment: for tests that run what the runner cannot."""
    blocks = (block for block in read_page(path, path.name) if block.language in COMMANDS)
    lines = [command.words for block in blocks for command in commands_of(block)]
    (found,) = (line.split("  #")[0].rstrip() for line in lines if line.startswith(f"{words} "))
    return found


def _shell_lines(block: Block) -> Iterator[tuple[int, str]]:
    """One command a line; a line that ends with a backslash or a pipe, or opens a here-document, goes on."""
    kept, begin, until = "", 0, None
    for number, text in enumerate(block.text.splitlines(), block.line):
        begin = begin if kept else number
        kept += text + "\n"
        if until is None and (here := re.search(r"<<-?\s*'?(\w+)'?", text)):
            until = here[1]
        elif text.strip() == until:
            until = None
        if until is None and not text.endswith(("\\", "|")):
            if kept.strip() and not kept.strip().startswith("#"):
                yield begin, kept.rstrip("\n")
            kept = ""
