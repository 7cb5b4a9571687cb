"""The driver over Slurm's commands: sbatch, scontrol, scancel and, with accounting, sacct.

Every command gets a small environment of its own, so that the control plane's variables do not reach jobs. The text
output of `scontrol` is parsed: unlike JSON, all versions of Slurm have it.
"""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Collection
from typing import IO, TypeVar

from dovetail.backends.slurm.cli_reading import (
    ACCOUNTED,
    read_accounted,
    read_job,
    read_node,
    read_partition,
    read_reservation,
)
from dovetail.backends.slurm.driver import (
    FEW_JOBS,
    JobRecord,
    JobSubmission,
    PartitionRecord,
    Rejected,
    SlurmFault,
    SlurmJob,
    SlurmNode,
    SlurmReservation,
)
from dovetail.backends.slurm.naming import matching
from dovetail.backends.slurm.reasons import is_transient
from dovetail.backends.slurm.settings import SlurmSettings

TIMEOUT_S = 30.0
_UNKNOWN_JOB = "Invalid job id specified"
_T = TypeVar("_T")


class CliDriver:
    def __init__(self, settings: SlurmSettings) -> None:
        self._settings = settings

    async def nodes(self) -> list[SlurmNode]:
        return [read_node(line) for line in await self._show("--details", "nodes") if line.startswith("NodeName=")]

    async def partitions(self) -> list[PartitionRecord]:
        return [read_partition(line) for line in await self._show("partitions") if line.startswith("PartitionName=")]

    async def reservations(self) -> list[SlurmReservation]:
        lines = await self._show("reservations")
        return [read_reservation(line) for line in lines if line.startswith("ReservationName=")]

    async def topology(self) -> str:
        status, said, _ = await self._run("scontrol", "show", "topology")
        return said if status == 0 else ""

    async def jobs(self) -> list[JobRecord]:
        return [read_job(line) for line in await self._show("jobs") if line.startswith("JobId=")]

    async def find(self, jobs: Collection[SlurmJob]) -> dict[SlurmJob, JobRecord]:
        numbers = {job.id for job in jobs}
        if len(numbers) > FEW_JOBS:
            return matching(await self.jobs(), jobs)
        found: list[JobRecord] = []
        for number in numbers:
            status, said, wrong = await self._run("scontrol", "--oneliner", "show", "job", str(number))
            if status == 0:
                found += [read_job(line) for line in said.splitlines() if line.startswith("JobId=")]
            elif _UNKNOWN_JOB not in wrong:
                raise SlurmFault(f"scontrol show job {number}: {_last_line(wrong)}")
        return matching(found, jobs)

    async def recorded(self, job: SlurmJob) -> JobRecord | None:
        asked = (f"--jobs={job}", f"--format={','.join(ACCOUNTED)}", "--allocations", "--noheader", "--parsable2")
        status, said, _ = await self._run("sacct", *asked)
        lines = said.splitlines()
        return read_accounted(lines[-1]) if status == 0 and lines else None

    async def submit(self, submission: JobSubmission) -> int:
        status, said, wrong = await self._run(
            "sbatch", *_arguments(submission), script=submission.script, environment=submission.environment
        )
        job = said.strip().partition(";")[0]
        if status == 0 and job.isdigit():
            return int(job)
        words = _last_line(wrong).removeprefix("sbatch: error: ").removeprefix("Batch job submission failed: ")
        if status == 0 or not words or is_transient(wrong):
            raise SlurmFault(f"sbatch: {words or said.strip() or f'ended with status {status}'}")
        raise Rejected(words)

    async def cancel(self, job: SlurmJob) -> None:
        status, _, wrong = await self._run("scancel", str(job))
        if status != 0 and _UNKNOWN_JOB not in wrong and "already completing or completed" not in wrong:
            raise SlurmFault(f"scancel {job}: {_last_line(wrong)}")

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _show(self, *what: str) -> list[str]:
        status, said, wrong = await self._run("scontrol", "--oneliner", *what[:-1], "show", what[-1])
        if status != 0:
            raise SlurmFault(f"scontrol show {what[-1]}: {_last_line(wrong)}")
        return said.splitlines()

    async def _run(
        self, program: str, *arguments: str, script: str = "", environment: dict[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Exit status, standard output and standard error of one of Slurm's commands."""
        surroundings = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **(environment or {})}
        conf = self._settings.conf or os.environ.get("SLURM_CONF")
        if conf:
            surroundings["SLURM_CONF"] = conf
        if environment is None:
            surroundings |= {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}  # lists of elements are not truncated
        # A file, not a pipe: there is nothing to feed or close when the call is cancelled.
        with tempfile.TemporaryFile() as given:
            given.write(script.encode())
            given.seek(0)
            try:
                process = await _begin([program, *arguments], surroundings, given)
            except OSError as error:
                words = f"{error.strerror}; install Slurm's commands, or give a url"
                raise SlurmFault(f"{program} cannot be run: {words}") from None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                said, wrong = await process.communicate()
        except TimeoutError:
            await _end(process)
            raise SlurmFault(f"{program} did not end in {TIMEOUT_S:.0f} s") from None
        except asyncio.CancelledError:
            await _end(process)
            raise
        assert process.returncode is not None
        return process.returncode, said.decode(errors="replace"), wrong.decode(errors="replace")


async def _begin(command: list[str], environment: dict[str, str], given: IO[bytes]) -> asyncio.subprocess.Process:
    """Cancellation waits until the process exists, so that it can be killed and reaped."""
    pipe = asyncio.subprocess.PIPE
    making = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command, env=environment, start_new_session=True, stdin=given, stdout=pipe, stderr=pipe
        )
    )
    try:
        return await _completed(making)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await _end(making.result())
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill it, reap it and close its pipes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await _completed(asyncio.ensure_future(process.communicate()))


async def _completed(work: asyncio.Future[_T]) -> _T:
    """Its result. A caller that is cancelled, however often, is so when the work is done: a process that is left half
    started or half ended would outlive the event loop."""
    cancelled = False
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return work.result()


#: The options of sbatch whose names differ from those of the fields.
_OPTIONS = {
    "name": "job-name",
    "workdir": "chdir",
    "cpus": "cpus-per-task",
    "memory_mib": "mem",  # its default unit is MiB
    "node": "nodelist",
    "time_limit_minutes": "time",
}


def _arguments(submission: JobSubmission) -> list[str]:
    asked = {_OPTIONS.get(name, name): value for name, value in submission.options().items()}
    fixed = ("--parsable", "--no-requeue", "--open-mode=append", "--nodes=1", "--ntasks=1")
    return [*fixed, *(f"--{option}={value}" for option, value in asked.items())]


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
