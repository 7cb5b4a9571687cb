"""Lines of a job on a console, between those of others: broken ones, pushed-out ones, forged ones."""

import random
from pathlib import Path

import pytest
from tests.examples import seeds

from dovetail.backends.machines.cloud_init import runner
from dovetail.backends.machines.cloud_init.console_lines import ConsoleLines

NONCE, KEPT = "0123456789abcdef" * 2, 64 * 1024


def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: bytes, nonce: str = NONCE) -> str:
    """What the runner writes for a job with this output."""
    monkeypatch.setattr(runner, "FOLDER", tmp_path)
    monkeypatch.setattr(runner, "CONSOLE", str(tmp_path / "console"))
    (tmp_path / "console").write_bytes(b"")
    (tmp_path / "output").write_bytes(output)
    runner.say({"nonce": nonce}, runner.report(3, "exit status 3"))
    return (tmp_path / "console").read_text()


@pytest.mark.parametrize("seed", seeds(20))
def test_what_is_broken_at_one_look_is_read_at_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    output = chance.randbytes(chance.randrange(30_000))
    text, lines, shown = written(tmp_path, monkeypatch, output), ConsoleLines(NONCE), ""
    for _ in range(20):
        for _ in range(3):  # the kernel writes in the middle of lines
            at = chance.randrange(len(text))
            shown += text[:at] + "[ 12.345678] usb 1-1: new device\r\n" + text[at:]
        shown = shown[-KEPT:]
        lines.take(shown)
        if lines.whole:
            break
    assert lines.whole
    assert lines.end is not None
    assert (lines.end.exit_code, lines.end.cut) == (3, 0)
    assert lines.output() == output.decode("utf-8", "replace")


def test_lines_of_another_job_and_lines_that_were_changed_count_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ConsoleLines(NONCE)
    lines.take(written(tmp_path, monkeypatch, b"hello\n", nonce="f" * 32))
    assert (lines.started, lines.end) == (False, None)
    text = written(tmp_path, monkeypatch, b"hello\n")
    lines.take(text.replace(" end - e", " end - f"))
    assert (lines.started, lines.end) == (True, None)
    lines.take(text)
    assert lines.output() == "hello\n"


def test_output_that_did_not_come_whole_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(tmp_path, monkeypatch, random.Random(1).randbytes(2000).hex().encode())
    lines = ConsoleLines(NONCE)
    lines.take("\n".join(line for line in text.splitlines() if " out 2 " not in line) + "\n")
    assert not lines.whole
    assert lines.output().endswith("\ndovetail: the rest of the output was lost on the console\n")
