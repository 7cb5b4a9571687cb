"""The report of processor time counts children too, and sums tests up by directory."""

import subprocess
import sys

from tests.cpu_report import CpuReport, cpu_seconds

BUSY = "import time\nwhile time.process_time() < 0.2: pass"


def test_children_that_have_ended_and_those_that_still_run_are_counted() -> None:
    before = cpu_seconds()
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    ended = cpu_seconds()
    assert ended - before >= 0.19
    with subprocess.Popen([sys.executable, "-c", f"{BUSY}\nprint(flush=True)\ninput()"], stdin=-1, stdout=-1) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert cpu_seconds() - ended >= 0.15
        child.kill()


def test_directories_are_summed_up_and_the_most_expensive_tests_come_first() -> None:
    report = CpuReport()
    report.costs = {"tests/a/test_x.py::one": 1.0, "tests/a/test_y.py::two": 2.0, "tests/b/test_z.py::three": 0.5}
    report.walls.update(dict.fromkeys(report.costs, 4.0))
    assert report.by_directory() == {"tests/a": (3.0, 8.0, 2), "tests/b": (0.5, 4.0, 1)}
    assert [test for test, _ in report.ranked()] == [f"tests/{end}" for end in _RANKED]


_RANKED = ("a/test_y.py::two", "a/test_x.py::one", "b/test_z.py::three")
