"""Every `dovetail …` that a page mentions in a sentence is a command, with options that it has."""

import re
import shlex
from functools import cache
from pathlib import Path

import click
import pytest
from tests.every_command import every_command

ROOT = Path(__file__).parents[3]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MENTIONED = re.compile(r"(?<!`)`(dovetail [^`]+)`")
#: Options of the program itself.
OF_THE_PROGRAM = {"--help", "-h", "--version", "--url"}


@cache
def known() -> dict[str, click.Command]:
    return every_command()


def wrong_with(mention: str) -> str:
    """Empty for a command that exists with these options."""
    try:
        words = shlex.split(mention)[1:]
    except ValueError:
        return "cannot be read"
    ours = words[: words.index("--")] if "--" in words else words
    named = [command for name, command in known().items() if _is_called(name, ours)]
    if not named:
        return "" if ours[0].isupper() or ours[0].startswith("-") else "is no command"
    options = OF_THE_PROGRAM | {option for command in named for part in command.params for option in part.opts}
    options |= {option for command in named for part in command.params for option in part.secondary_opts}
    for word in ours[1:]:
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in options:
            return f"has no option {option}"
    return ""


def _is_called(name: str, words: list[str]) -> bool:
    """By all its words, as one of a group that is named alone, or as what a group does without an action."""
    parts = name.split()
    by_default = words[1:] == [] or parts[-1] in ("list", "show")
    return words[: len(parts)] == parts or (len(parts) > 1 and words[:1] == parts[:1] and by_default)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_that_a_page_mentions_exists(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    mentions = [" ".join(found.split()) for found in MENTIONED.findall(text)]
    assert {mention: said for mention in mentions if (said := wrong_with(mention))} == {}


@pytest.mark.parametrize(
    ("mention", "said"),
    [
        ("dovetail sumbit", "is no command"),
        ("dovetail get --nosuch", "has no option --nosuch"),
        ("dovetail nodes label NODE zone=a", ""),
        ("dovetail nodes --state online", ""),
        ("dovetail run --cpu 1 -- ls --all", ""),
    ],
)
def test_a_mention_is_judged(mention: str, said: str) -> None:
    assert wrong_with(mention) == said
