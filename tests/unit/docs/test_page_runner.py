"""The reader of pages and the comparison of outputs (`tests/e2e/docs`): nothing on a page is passed over in silence."""

from pathlib import Path

import pytest
from tests.e2e.docs.comparing import matches
from tests.e2e.docs.documents import check_document, is_work
from tests.e2e.docs.page import BadPage, Block, commands_of, read_page
from tests.e2e.docs.runner import PageRunner


def blocks(folder: Path, text: str) -> list[Block]:
    page = folder / "page.md"
    page.write_text(text)
    return read_page(page, "page.md")


def test_a_console_block_is_its_commands_each_with_the_output_below_it(tmp_path: Path) -> None:
    (block,) = blocks(tmp_path, "# Page\n\n```console\n$ dovetail get\nNAME\na\n$ dovetail \\\n  queue\n```\n")
    found = [(one.line, one.words, one.shown) for one in commands_of(block)]
    assert found == [(4, "dovetail get", ["NAME", "a"]), (7, "dovetail queue", None)]


def test_every_line_of_a_sh_block_is_a_command_and_a_here_document_is_part_of_its_own(tmp_path: Path) -> None:
    (block,) = blocks(tmp_path, "```sh\n# first\ncat > f <<EOF\na\nEOF\ndovetail get \\\n  x\nls |\n  wc\n```\n")
    assert [one.words for one in commands_of(block)] == [
        "cat > f <<EOF\na\nEOF",
        "dovetail get \\\n  x",
        "ls |\n  wc",
    ]


def test_comments_before_a_block_direct_it_and_a_setup_is_a_block_of_its_own(tmp_path: Path) -> None:
    text = "<!-- setup\ndovetail cordon n1\n-->\nWords.\n\n<!-- exits: 2 -->\n<!-- waits: no -->\n```sh\nfalse\n```\n"
    setup, block = blocks(tmp_path, text)
    assert (setup.language, setup.text) == ("sh", "dovetail cordon n1")
    assert block.told == {"exits": "2", "waits": "no"}


def test_a_block_whose_first_line_is_a_file_name_is_that_file(tmp_path: Path) -> None:
    named, plain = blocks(tmp_path, "```yaml\n# jobs/a.yaml\nname: a\n```\n```yaml\n# a comment\nname: a\n```\n")
    assert named.file_name == "jobs/a.yaml"
    assert plain.file_name is None
    (script,) = blocks(tmp_path, "<!-- file: job.sh -->\n```sh\n#!/bin/bash\ntrue\n```\n")
    assert script.file_name == "job.sh"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Words:\n\n    dovetail get\n", "an indented block"),
        ("```\ndovetail get\n```\n", "language ''"),
        ("```text\n$ dovetail get\n```\n", "a `text` block with a command"),
        ("<!-- not run: -->\n```sh\nfalse\n```\n", "without a reason"),
    ],
)
def test_a_block_that_nobody_would_run_is_an_error(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadPage, match=complaint):
        blocks(tmp_path, text)


def test_a_text_block_is_what_the_last_command_printed(tmp_path: Path) -> None:
    first, same, other = blocks(tmp_path, "```sh\necho hi\n```\n```text\nhi\n```\n```text\nho\n```\n")
    with PageRunner(tmp_path, url="http://nobody.asks.it") as runner:
        with pytest.raises(AssertionError, match="output without a command before it"):
            runner.run(same)
        runner.run(first)
        runner.run(same)
        with pytest.raises(AssertionError, match="not what the last command printed"):
            runner.run(other)


def test_output_without_its_command_is_an_error(tmp_path: Path) -> None:
    (block,) = blocks(tmp_path, "```console\nNAME\n```\n")
    with pytest.raises(BadPage, match="begins with"):
        commands_of(block)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a  1m04s", "a 175ms"),
        ("ended (11:51)", "ended (23:02)"),
        ("ended (23:02)", "ended (2026-11-17 00:18)"),
        ("at 2026-12-01T08:00:00Z", "at 2031-01-01T10:30:00Z"),
        ("first …\nlast", "first line\nand more\nlast"),
        ("one sentence that is wrapped", "one sentence\nthat is wrapped"),
        ("NAME   STATE", "NAME  STATE\n"),
    ],
)
def test_what_differs_from_run_to_run_is_the_same(shown: str, printed: str) -> None:
    assert matches(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [("gpu 40", "gpu 41"), ("a", "a b"), ("a … c", "a b"), ("██▍ 20%", "██▊ 20%"), ("64GiB", "44GiB"), ("n1", "n2")],
)
def test_anything_else_is_not(shown: str, printed: str) -> None:
    assert not matches(shown, printed)


def test_a_document_that_dovetail_does_not_read_is_an_error() -> None:
    check_document("backends: {sim: {kind: simulated, groups: [{count: 1}]}}", "page.md:1")
    check_document("backends: {allow: [sim]}", "page.md:1")
    with pytest.raises(AssertionError, match="fields apiVersion"):
        check_document("apiVersion: v1", "page.md:1")
    with pytest.raises(Exception, match="tolerations"):
        check_document("tolerations: 7", "page.md:1")
    assert is_work("name: a\n---\nname: b\n")
    assert not is_work("resources: {cpu: 1}\n")
