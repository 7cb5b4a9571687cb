"""`make test` runs once more, alone, what failed among the others."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from tests.patience import wait_for
from tests.run import without_group

ALONE = "import os\n\ndef test_busy():\n    assert 'PYTEST_XDIST_WORKER' not in os.environ\n"
BROKEN = "def test_broken():\n    assert False\n"
STUCK = """import signal, time
from pathlib import Path
import pytest

@pytest.mark.xdist_group("stuck")
@pytest.mark.parametrize("number", range(4))
def test_stuck(number):
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    if number == 1 and not Path("once").exists():
        Path("once").touch()
        time.sleep(60)
"""
RANDOM = """import os
from hypothesis import given, strategies

@given(strategies.integers())
def test_random(number):
    assert 'PYTEST_XDIST_WORKER' not in os.environ
"""


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("a.py::test_a", "a.py::test_a"),
        ("a.py::test_a[b@c]", "a.py::test_a[b@c]"),
        ("a.py::test_a[b]@c", "a.py::test_a[b]"),
    ],
)
def test_a_test_is_called_without_its_group(node: str, name: str) -> None:
    assert without_group(node) == name


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (ALONE, 0, "passed alone, so these depend on how busy the machine is: test_it.py::test_busy"),
        (BROKEN, 1, "FAILED test_it.py::test_broken"),
        (ALONE + BROKEN, 1, "PASSED test_it.py::test_busy"),
        (ALONE + STUCK, 0, "test_it.py::test_busy, test_it.py::test_stuck[1]"),
        (ALONE + RANDOM, 1, "FAILED test_it.py::test_random"),
    ],
    ids=["busy", "broken", "busy and broken", "busy and stuck", "busy and random"],
)
def test_what_passes_alone_is_named_and_what_fails_again_fails_the_run(
    tmp_path: Path, content: str, code: int, says: str
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nfaulthandler_timeout = 5\nfaulthandler_exit_on_timeout = true\n")
    (tmp_path / "test_it.py").write_text(content)
    script = (
        f"import sys; sys.path.insert(0, {str(Path.cwd())!r}); from tests.run import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "-n", "1", "--dist", "loadgroup", "-p", "no:cacheprovider", "test_it.py"]
    apart = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=tmp_path, env=apart, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout
    assert ("in test_stuck" in done.stderr) == (STUCK in content)
    assert ("once more" in done.stdout) == ("test_random" not in content)


def test_a_process_that_lost_its_parent_is_gone_as_soon_as_it_ends() -> None:
    orphan = """
        import os, time
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:
                time.sleep(0.01)
            print(os.getpid(), os.getppid())
    """
    waits = f"""
        import subprocess, sys, time
        from pathlib import Path
        from tests.reaper import run_under_reaper
        run_under_reaper()
        told = subprocess.run([sys.executable, "-c", {dedent(orphan)!r}], stdout=subprocess.PIPE, text=True).stdout
        while Path("/proc", told.split()[0]).exists():
            time.sleep(0.01)
        print(told)
        sys.exit(7)
    """
    ran = subprocess.run([sys.executable, "-c", dedent(waits)], stdout=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 7
    assert int(ran.stdout.split()[1]) > 1, "the run has taken it in"


def test_a_run_whose_parent_is_killed_ends_too() -> None:
    code = "import os, time\nfrom tests.reaper import run_under_reaper\nrun_under_reaper()\n"
    with subprocess.Popen(
        [sys.executable, "-c", code + "print(os.getpid(), flush=True)\ntime.sleep(600)"], stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        child = int(run.stdout.readline())
        run.kill()
        wait_for(lambda: not _lives(child), "the end of the run")


def _lives(pid: int) -> bool:
    """One that has ended and that nobody has taken notice of does not live."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
