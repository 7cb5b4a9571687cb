"""`tools/setup.sh` takes the fastest Python of PATH: builds of one version differ by half."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SETUP = Path(__file__).parents[3] / "tools" / "setup.sh"
SLOWLY = "-X tracemalloc"  # Python notes where it asked for each piece of memory


def add_python(folder: Path, flags: str = "") -> Path:
    folder.mkdir()
    for program in ("sh", "dirname"):
        (folder / program).symlink_to(str(shutil.which(program)))
    python = folder / "python3.11"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {flags} "$@"\n')
    python.chmod(0o755)
    return python


def choice(*folders: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, folders))
    return subprocess.run(
        ["sh", SETUP, "python"], env={"PATH": path, **environment}, capture_output=True, text=True, check=False
    )


def test_the_fastest_is_taken_wherever_on_the_path_it_is(tmp_path: Path) -> None:
    slow = add_python(tmp_path / "a version manager", SLOWLY)
    fast = add_python(tmp_path / "system")
    assert choice(slow.parent, fast.parent).stdout == f"{fast}\n"
    assert choice(fast.parent, slow.parent).stdout == f"{fast}\n"


def test_the_callers_choice_counts(tmp_path: Path) -> None:
    slow = add_python(tmp_path / "named", SLOWLY)
    fast = add_python(tmp_path / "system")
    assert choice(fast.parent, PYTHON=str(slow)).stdout == f"{slow}\n"


def test_without_a_recent_python_it_says_what_to_do(tmp_path: Path) -> None:
    old = add_python(tmp_path / "old")
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\n')
    refused = choice(old.parent)
    assert refused.returncode == 1
    assert f"found: {old} is Python 3.9.2" in refused.stderr
    assert "apt-get install python3 python3-venv" in refused.stderr
