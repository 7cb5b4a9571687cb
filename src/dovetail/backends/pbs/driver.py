"""Asks PBS through its commands, here or on another host over ssh.

Every command gets a small environment of its own, so that the control plane's variables do not reach jobs.
"""

import asyncio
import os
import shlex
from collections.abc import Collection
from pathlib import Path

from dovetail.backends.batch.commands import Answer, run_command
from dovetail.backends.batch.driver import Rejected
from dovetail.backends.batch.naming import matching
from dovetail.backends.batch.record import BatchRecord, JobId
from dovetail.backends.pbs.dialect import Dialect, PbsFault, PbsNode, PbsQueue, PbsSubmission
from dovetail.backends.pbs.job_record import PbsRecord
from dovetail.backends.pbs.openpbs import OpenPbs
from dovetail.backends.pbs.reasons import is_transient
from dovetail.backends.pbs.settings import PbsSettings
from dovetail.backends.pbs.torque import Torque

TIMEOUT_S = 30.0
IDS_AT_ONCE = 200  # more would make a command line too long


class PbsDriver:
    def __init__(self, settings: PbsSettings) -> None:
        self._settings = settings
        self._ssh = None if settings.url is None else settings.ssh.command_to(settings.url)
        self._dialect: Dialect | None = _DIALECTS[settings.dialect]() if settings.dialect != "auto" else None

    async def dialect(self) -> Dialect:
        """OpenPBS's qstat prints its version; the others do not know the option."""
        if self._dialect is None:
            answer = await self._run("qstat", "--version")
            text = f"{answer.said}{answer.wrong}"
            if is_transient(text):
                raise PbsFault(f"qstat --version: {answer.last_line()}")
            self._dialect = OpenPbs() if "pbs_version" in text else Torque()
        return self._dialect

    async def nodes(self) -> list[PbsNode]:
        dialect = await self.dialect()
        answer = await self._run("pbsnodes", *dialect.nodes_arguments)
        if answer.status != 0:
            raise PbsFault(f"pbsnodes: {_words(answer)}")
        nodes = dialect.read_nodes(answer.said)
        if dialect.needs_jobs_for_use(nodes):
            return dialect.with_use(nodes, await self.jobs())
        return nodes

    async def queues(self) -> list[PbsQueue]:
        dialect = await self.dialect()
        answer = await self._run("qstat", *dialect.queues_arguments)
        if not dialect.is_answer(answer):
            raise PbsFault(f"qstat -Q: {_words(answer)}")
        return dialect.read_queues(answer.said)

    async def jobs(self) -> list[PbsRecord]:
        return await self._ask_for([])

    async def find(self, jobs: Collection[JobId]) -> dict[JobId, BatchRecord]:
        dialect = await self.dialect()
        asked = sorted({dialect.id_to_ask(job) for job in jobs})
        found: list[PbsRecord] = []
        for first in range(0, len(asked), IDS_AT_ONCE):
            found += await self._ask_for(asked[first : first + IDS_AT_ONCE])
        return matching(found, jobs)

    async def recorded(self, job: JobId) -> BatchRecord | None:  # noqa: ARG002 - the contract's
        """PBS has no accounting that users can ask: what it still has, `find` finds."""
        return None

    async def submit(self, submission: PbsSubmission) -> int:
        dialect = await self.dialect()
        await asyncio.to_thread(_write_members, submission)
        answer = await self._run(
            "qsub", *dialect.submit_arguments(submission), given=submission.script, variables=submission.environment
        )
        job = dialect.read_submitted(answer.said) if answer.status == 0 else None
        if job is not None:
            return job
        words = dialect.submission_error(answer)
        if answer.status == 0 or not words or is_transient(f"{answer.said}{answer.wrong}"):
            raise PbsFault(f"qsub: {words or f'ended with status {answer.status}'}")
        raise Rejected(words)

    async def cancel(self, job: JobId) -> None:
        dialect = await self.dialect()
        answer = await self._run("qdel", dialect.id_to_delete(job))
        if answer.status != 0 and not dialect.is_gone(answer):
            raise PbsFault(f"qdel {job}: {_words(answer)}")

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _ask_for(self, ids: list[str]) -> list[PbsRecord]:
        dialect = await self.dialect()
        answer = await self._run("qstat", *dialect.jobs_arguments, *ids)
        if dialect.keeps_no_history(answer):
            answer = await self._run("qstat", *dialect.jobs_arguments, *ids)
        if not dialect.is_answer(answer):
            raise PbsFault(f"qstat: {_words(answer)}")
        return dialect.read_jobs(answer.said)

    async def _run(
        self, program: str, *arguments: str, given: str = "", variables: dict[str, str] | None = None
    ) -> Answer:
        folder = self._settings.commands
        command = [program if folder is None else str(Path(folder) / program), *arguments]
        own = {"LC_ALL": "C.UTF-8"}
        if self._settings.conf is not None:
            own |= {"PBS_CONF_FILE": self._settings.conf, "SLURM_CONF": self._settings.conf}
        if self._settings.server is not None:
            own |= {"PBS_SERVER": self._settings.server, "PBS_DEFAULT": self._settings.server}
        if self._ssh is not None:
            there = ["env", *(f"{name}={value}" for name, value in own.items()), *command]
            command, own = [*self._ssh, shlex.join(there)], dict(os.environ)
        else:
            inherited = ("PATH", "HOME", "PBS_CONF_FILE", "PBS_EXEC", "SLURM_CONF")
            own = {name: os.environ[name] for name in inherited if name in os.environ} | own
            own |= {name: value for name, value in (variables or {}).items() if name != "PATH"}
        try:
            return await run_command(command, own, TIMEOUT_S, given)
        except TimeoutError:
            raise PbsFault(f"{program} did not end in {TIMEOUT_S:.0f} s") from None
        except OSError as error:
            words = f"{error.strerror}; install the commands of PBS, or give their folder (commands) or host (url)"
            raise PbsFault(f"{command[0]} cannot be run: {words}") from None


_DIALECTS: dict[str, type[OpenPbs] | type[Torque]] = {"openpbs": OpenPbs, "torque": Torque}


def _write_members(submission: PbsSubmission) -> None:
    """The scripts of the tasks of a gang, each in its run folder."""
    for path, script in submission.members:
        Path(path).write_text(script)


def _words(answer: Answer) -> str:
    said = answer.said.strip().splitlines()
    return answer.last_line() or (said[-1] if said else f"ended with status {answer.status}")
