"""The driver over Slurm's commands: sbatch, scontrol, scancel and, with accounting, sacct.

Every command gets a small environment of its own, so that the control plane's variables do not reach jobs. The text
output of `scontrol` is parsed: unlike JSON, all versions of Slurm have it.
"""

import os
from collections.abc import Collection

from dovetail.backends.batch.commands import Answer, run_command
from dovetail.backends.batch.driver import Rejected
from dovetail.backends.batch.naming import matching
from dovetail.backends.batch.record import BatchRecord, JobId
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
    JobSubmission,
    PartitionRecord,
    SlurmFault,
    SlurmNode,
    SlurmReservation,
)
from dovetail.backends.slurm.job_record import JobRecord
from dovetail.backends.slurm.reasons import is_transient
from dovetail.backends.slurm.settings import SlurmSettings

TIMEOUT_S = 30.0
_UNKNOWN_JOB = "Invalid job id specified"


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

    async def lines(self, what: str) -> list[str]:
        """What `scontrol show` says of all of them, a line each."""
        return await self._show(what)

    async def find(self, jobs: Collection[JobId]) -> dict[JobId, BatchRecord]:
        numbers = {job.id for job in jobs}
        if len(numbers) > FEW_JOBS:
            return matching(await self.jobs(), jobs)
        found: list[JobRecord] = []
        for number in numbers:
            answer = await self._run("scontrol", "--oneliner", "show", "job", str(number))
            if answer.status == 0:
                found += [read_job(line) for line in answer.said.splitlines() if line.startswith("JobId=")]
            elif _UNKNOWN_JOB not in answer.wrong:
                raise SlurmFault(f"scontrol show job {number}: {answer.last_line()}")
        return matching(found, jobs)

    async def recorded(self, job: JobId) -> JobRecord | None:
        asked = (f"--jobs={job}", f"--format={','.join(ACCOUNTED)}", "--allocations", "--noheader", "--parsable2")
        status, said, _ = await self._run("sacct", *asked)
        lines = said.splitlines()
        return read_accounted(lines[-1]) if status == 0 and lines else None

    async def submit(self, submission: JobSubmission) -> int:
        answer = await self._run(
            "sbatch", *_arguments(submission), script=submission.script, environment=submission.environment
        )
        status, said, wrong = answer
        job = said.strip().partition(";")[0]
        if status == 0 and job.isdigit():
            return int(job)
        words = answer.last_line().removeprefix("sbatch: error: ").removeprefix("Batch job submission failed: ")
        if status == 0 or not words or is_transient(wrong):
            raise SlurmFault(f"sbatch: {words or said.strip() or f'ended with status {status}'}")
        raise Rejected(words)

    async def cancel(self, job: JobId) -> None:
        answer = await self._run("scancel", str(job))
        gone = _UNKNOWN_JOB in answer.wrong or "already completing or completed" in answer.wrong
        if answer.status != 0 and not gone:
            raise SlurmFault(f"scancel {job}: {answer.last_line()}")

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _show(self, *what: str) -> list[str]:
        answer = await self._run("scontrol", "--oneliner", *what[:-1], "show", what[-1])
        if answer.status != 0:
            raise SlurmFault(f"scontrol show {what[-1]}: {answer.last_line()}")
        return answer.said.splitlines()

    async def _run(
        self, program: str, *arguments: str, script: str = "", environment: dict[str, str] | None = None
    ) -> Answer:
        """The answer of one of Slurm's commands."""
        surroundings = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **(environment or {})}
        conf = self._settings.conf or os.environ.get("SLURM_CONF")
        if conf:
            surroundings["SLURM_CONF"] = conf
        if environment is None:
            surroundings |= {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}  # lists of elements are not truncated
        try:
            return await run_command([program, *arguments], surroundings, TIMEOUT_S, script)
        except TimeoutError:
            raise SlurmFault(f"{program} did not end in {TIMEOUT_S:.0f} s") from None
        except OSError as error:
            words = f"{error.strerror}; install Slurm's commands, or give a url"
            raise SlurmFault(f"{program} cannot be run: {words}") from None


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
