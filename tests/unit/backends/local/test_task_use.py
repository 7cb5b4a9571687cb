"""What attempts use: from cgroup v2 files as a kernel wrote them, and from real processes without cgroups."""

import subprocess
from pathlib import Path

import pytest
from tests.patience import wait_for

from dovetail.backends.local.task_use import MeasuredRun, TaskMeter, pressure

#: Of a process that reads 995 MB, writes 64 MiB past the cache and computes, as Linux 6.18 counted it.
RECORDED = {
    "cgroup.procs": "464\n",
    "cpu.stat": "usage_usec 9708727\nuser_usec 8858393\nsystem_usec 850333\nnr_periods 0\n",
    "memory.current": "1439059968\n",
    "memory.stat": "anon 419749888\nfile 1005232128\ninactive_file 983674880\nactive_file 11063296\n",
    "io.stat": "254:0 rbytes=994738176 wbytes=67108864 rios=3858 wios=64 dbytes=0 dios=0\n",
    "cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=4368\n",
    "memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "io.pressure": "some avg10=4.14 avg60=1.21 avg300=0.27 total=888579\n",
}


@pytest.fixture
def cgroup(tmp_path: Path) -> Path:
    for name, content in RECORDED.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_cgroup_v2_says_everything_and_cpu_is_a_rate(cgroup: Path) -> None:
    now_s = 100.0
    meter = TaskMeter(lambda: now_s)
    run = MeasuredRun("1.0.1", (cgroup,), None)
    first = meter.measure([run])["1.0.1"]
    assert first.pids == {464}
    assert first.use.model_dump(exclude_none=True) == {
        "memory_bytes": 1439059968 - 983674880,
        "cpu_pressure": 0.0,
        "memory_pressure": 0.0,
        "io_pressure": pytest.approx(0.0414),
        "disk_read_bytes": 994738176,
        "disk_written_bytes": 67108864,
    }
    (cgroup / "cpu.stat").write_text("usage_usec 12208727\n")
    now_s += 5.0
    assert meter.measure([run])["1.0.1"].use.cpu_cores == 0.5


def test_a_kernel_without_pressure_says_nothing_about_it(tmp_path: Path) -> None:
    assert pressure(tmp_path / "cpu.pressure") is None
    (tmp_path / "cpu.pressure").write_text("")
    assert pressure(tmp_path / "cpu.pressure") is None


def test_without_cgroups_processes_are_measured_and_one_that_ended_counts_on(tmp_path: Path) -> None:
    meter = TaskMeter()
    script = f"head -c 1000000 /dev/zero > {tmp_path}/blob; while :; do :; done"
    with subprocess.Popen(["sh", "-c", f"sh -c '{script}' & wait"]) as supervisor:
        run = MeasuredRun("1.0.1", (), supervisor.pid)

        def busy() -> bool:
            return bool(meter.measure([run])["1.0.1"].use.cpu_cores)

        wait_for(busy, "it computes")
        found = meter.measure([run])["1.0.1"]
        assert found.pids
        assert found.use.memory_bytes
        assert found.use.cpu_pressure is None
        for pid in found.pids:
            subprocess.run(["kill", "-9", str(pid)], check=False)
    assert meter.measure([run]) == {}


def test_an_attempt_that_ended_meanwhile_is_left_out(tmp_path: Path) -> None:
    gone = MeasuredRun("1.0.1", (tmp_path / "gone",), None)
    assert TaskMeter().measure([gone]) == {}
