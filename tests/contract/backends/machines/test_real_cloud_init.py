"""The user data that is sent, run by the real cloud-init: what its console says is read as the backend reads it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.patience import wait_for
from tests.servers.cloud_init import CloudInitMachine, skip_without_cloud_init

from dovetail.backends.contract import Assignment
from dovetail.backends.machines.cloud_init.console_lines import ConsoleLines, JobEnd
from dovetail.backends.machines.cloud_init.job_script import job_script, nonce_of
from dovetail.model.task import TaskId
from dovetail.model.workloads.run import Run
from dovetail.model.workloads.workload import Workload

NONCE = nonce_of(b"a secret", "1.0.1", "a token")
Boot = Callable[..., CloudInitMachine]


@pytest.fixture
def boot(tmp_path: Path) -> Iterator[Boot]:
    skip_without_cloud_init()
    made: list[CloudInitMachine] = []

    def start(*command: str, linger_s: float = 60.0) -> CloudInitMachine:
        spec = Workload(name="work", run=Run(command=list(command)))
        script = job_script(Assignment("1.0.1", TaskId(1, 0), "node-1", spec), NONCE, linger_s)
        made.append(CloudInitMachine(tmp_path / f"machine-{len(made)}", script))
        made[-1].start()
        return made[-1]

    yield start
    for machine in made:
        machine.kill()


def end_of(machine: CloudInitMachine) -> tuple[JobEnd, str]:
    lines = ConsoleLines(NONCE)

    def read() -> bool:
        lines.take(machine.console()[-64 * 1024 :])
        return lines.whole

    wait_for(read, f"the end on the console:\n{machine.console()[-3000:]}")
    assert lines.end is not None
    return lines.end, lines.output()


def test_output_and_exit_status_come_back_on_the_console_and_the_machine_powers_itself_off(boot: Boot) -> None:
    machine = boot("sh", "-c", "echo $DOVETAIL_TASK on $(hostname) grüße; pwd >&2; exit 3", linger_s=0)
    end, output = end_of(machine)
    assert (end.exit_code, end.reason, end.cut) == (3, "exit status 3", 0)
    assert output == "1.0 on machine grüße\n/var/lib/dovetail-job/work\n"
    wait_for(lambda: machine.is_off, "it powers itself off")
    wait_for(lambda: not machine.runs, "its end")


def test_the_end_of_long_output_fits_into_what_a_cloud_keeps(boot: Boot) -> None:
    end, output = end_of(boot("sh", "-c", "head -c 200000 /dev/urandom | base64 -w 75; echo the last line"))
    assert end.cut > 100_000
    assert output.endswith("\nthe last line\n")
    assert len(output) > 20_000


def test_a_machine_that_starts_again_says_that_its_job_is_lost_and_does_not_run_it_again(boot: Boot) -> None:
    machine = boot("sh", "-c", "echo x >> /var/lib/dovetail-job/runs; sleep 600")
    counted = machine.folder / "var" / "job" / "runs"
    wait_for(lambda: counted.exists() and counted.read_text(), "its first run")
    machine.kill()
    machine.start()
    end, _ = end_of(machine)
    assert (end.exit_code, end.reason) == (None, "lost: its machine was started again while it ran")
    assert counted.read_text() == "x\n"


def test_a_machine_that_starts_again_after_the_end_says_the_end_again(boot: Boot) -> None:
    machine = boot("sh", "-c", "echo x | tee -a /var/lib/dovetail-job/runs; exit 4")
    assert end_of(machine)[0].exit_code == 4
    machine.kill()
    machine.clear_console()
    machine.start()
    end, output = end_of(machine)
    assert (end.exit_code, output) == (4, "x\n")
    assert (machine.folder / "var" / "job" / "runs").read_text() == "x\n"


def test_user_data_that_is_run_twice_at_one_start_runs_the_job_once(boot: Boot) -> None:
    """On some images of Google both cloud-init and Google's own agent run it."""
    again = "python3 /var/lib/cloud/instance/scripts/part-001; echo left with $?"
    machine = boot("sh", "-c", f"echo x; {again}")
    end, output = end_of(machine)
    assert (end.exit_code, output) == (0, "x\nleft with 0\n")
