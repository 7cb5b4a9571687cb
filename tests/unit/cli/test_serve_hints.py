"""What `dovetail serve` tells people to type in another terminal."""

import sys
from pathlib import Path

import pytest

from dovetail.cli.program.serve import second_terminal
from dovetail.cli.terminal.server import DEFAULT_URL


def test_a_shell_without_the_program_is_told_to_activate_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my env"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "activate").touch()
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert second_terminal(DEFAULT_URL)[1:] == [f"  source '{folder}/bin/activate'"]
    program = folder / "bin" / "dovetail"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert second_terminal(DEFAULT_URL)[1:] == []
    assert second_terminal("http://127.0.0.1:9")[1:] == ["  export DOVETAIL_URL=http://127.0.0.1:9"]
