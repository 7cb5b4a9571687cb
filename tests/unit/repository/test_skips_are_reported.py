"""The last lines of a test run name each missing thing once, whether tests run in one process or several."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"

SUITE = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_with_a_server(number):
    pytest.skip("frobd is not installed")

def test_with_a_package():
    pytest.importorskip("no_such_package", reason="the package no_such_package is not installed")

@pytest.mark.xfail(reason="a known limit")
def test_that_ran_and_failed_as_expected():
    assert False

def test_that_passes():
    pass
"""


SUITE_SKIPPED_WHOLE = """
import pytest

pytest.skip("frobd is not installed", allow_module_level=True)
"""


def run_suite(folder: Path, suite: str, *arguments: str, whole: str = "") -> str:
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "test_suite.py").write_text(suite)
    (folder / "test_whole.py").write_text(whole)
    # The copied conftest.py still names modules of this repository.
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {shlex.quote(str(CONFTEST.parents[1]))}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, str(folder)]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["one process", "two processes"])
def test_each_missing_thing_is_named_once_with_the_number_of_tests_it_cost(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    lines = run_suite(tmp_path, SUITE, *arguments, whole=SUITE_SKIPPED_WHOLE).splitlines()
    assert lines.count("1 file and 3 tests: frobd is not installed") == 1
    assert lines.count("1 test: the package no_such_package is not installed") == 1


def test_a_test_that_failed_as_expected_is_not_called_missing(tmp_path: Path) -> None:
    assert "a known limit" not in run_suite(tmp_path, SUITE)


def test_a_run_without_skips_ends_without_a_word_about_them(tmp_path: Path) -> None:
    assert "not tested" not in run_suite(tmp_path, "def test_that_passes():\n    pass\n")
