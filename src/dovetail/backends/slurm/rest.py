"""The driver over slurmrestd: its unix socket, or TCP with a token.

The result is in `errors`, not in the HTTP status: an unknown job is status 500 with error 2017, and a job that Slurm
accepts but does not expect to start has an error next to its id. Tokens expire, so the token file is read again when
it has changed.

slurmrestd of Slurm 22.05 ignores `requeue: false`, so Slurm may restart a job when its node fails; the job's script
and `watcher` handle that.
"""

import asyncio
import logging
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import httpx
import orjson

from dovetail.backends.batch.driver import Rejected
from dovetail.backends.batch.naming import matching
from dovetail.backends.batch.record import BatchRecord, JobId
from dovetail.backends.slurm.cli import CliDriver
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
from dovetail.backends.slurm.rest_reading import read_accounted, read_job, read_node, read_partition, read_reservation
from dovetail.backends.slurm.settings import SlurmSettings

_log = logging.getLogger(__name__)
TIMEOUT_S = 30.0
UNKNOWN_JOB, ALREADY_DONE, UNSPECIFIED = 2017, 2021, -1
#: Error numbers of communication inside Slurm; from 2000 on the controller rejects.
FIRST_REFUSAL, SOCKETS = 2000, range(5000, 6000)
DISABLED = 1  # a field that slurmrestd does not accept


class RestDriver:
    def __init__(self, settings: SlurmSettings) -> None:
        assert settings.url is not None
        self._settings = settings
        self._commands = CliDriver(settings)  # for what slurmrestd does not have
        self._token_file = Path(settings.token_file) if settings.token_file else None
        self._token: tuple[float, str] | None = None  # its modification time and content
        unix = settings.url.removeprefix("unix:") if settings.url.startswith("unix:") else None
        base = "http://slurmrestd" if unix else settings.url.rstrip("/")
        self._accounting = f"{base}/slurmdb/{settings.api_version}"
        # slurmrestd closes every connection after its answer, so none is reused.
        self._client = httpx.AsyncClient(
            base_url=f"{base}/slurm/{settings.api_version}",
            transport=httpx.AsyncHTTPTransport(uds=unix, limits=httpx.Limits(max_keepalive_connections=0)),
            timeout=TIMEOUT_S,
            trust_env=False,
        )

    async def nodes(self) -> list[SlurmNode]:
        return [read_node(said) for said in (await self._get("/nodes"))["nodes"]]

    async def partitions(self) -> list[PartitionRecord]:
        return [read_partition(said) for said in (await self._get("/partitions"))["partitions"]]

    async def reservations(self) -> list[SlurmReservation]:
        return [read_reservation(said) for said in (await self._get("/reservations"))["reservations"]]

    async def topology(self) -> str:
        """slurmrestd has no topology: `scontrol` is asked, if it is installed."""
        return await self._commands.topology() if shutil.which("scontrol") else ""

    async def jobs(self) -> list[JobRecord]:
        return [read_job(said) for said in (await self._get("/jobs"))["jobs"]]

    async def find(self, jobs: Collection[JobId]) -> dict[JobId, BatchRecord]:
        numbers = {job.id for job in jobs}
        if len(numbers) > FEW_JOBS:
            return matching(await self.jobs(), jobs)
        found = await asyncio.gather(*(self._numbered(number) for number in numbers))
        return matching([record for records in found for record in records], jobs)

    async def recorded(self, job: JobId) -> BatchRecord | None:
        """`sacct` is asked first, if it is installed: slurmrestd 22.05 reports exit code 0 except for signals."""
        record = await self._commands.recorded(job) if shutil.which("sacct") else None
        if record is not None:
            return record
        try:
            _, answer = await self._ask("GET", f"{self._accounting}/job/{job}")
        except SlurmFault as fault:  # slurmrestd has no such interface, or Slurm has no accounting
            _log.info("the accounting does not say what became of job %s: %s", job, fault)
            return None
        return matching([read_accounted(said) for said in answer.get("jobs") or ()], [job]).get(job)

    async def submit(self, submission: JobSubmission) -> int:
        body = {"script": submission.script, "job": _job_of(submission)}
        status, answer = await self._ask("POST", "/job/submit", json=body)
        job = answer.get("job_id")
        if isinstance(job, int) and job > 0:
            return job
        errors = _errors(answer)
        if not errors:
            raise SlurmFault(f"slurmrestd answered a submission with HTTP {status} and neither a job nor an error")
        words = "; ".join(text for _, text in errors)
        if all(_is_transient(number) for number, _ in errors) or is_transient(words):
            raise SlurmFault(f"the job could not be submitted: {words}")
        raise Rejected(words)

    async def cancel(self, job: JobId) -> None:
        _, answer = await self._ask("DELETE", f"/job/{job}")
        errors = [text for code, text in _errors(answer) if code not in (UNKNOWN_JOB, ALREADY_DONE)]
        if errors:
            raise SlurmFault(f"job {job} could not be cancelled: {'; '.join(errors)}")

    async def close(self) -> None:
        await self._client.aclose()

    async def _numbered(self, number: int) -> list[JobRecord]:
        """One record of a job, several of an array."""
        _, answer = await self._ask("GET", f"/job/{number}")
        errors = _errors(answer)
        if any(code == UNKNOWN_JOB for code, _ in errors):
            return []
        if errors or not answer.get("jobs"):
            raise SlurmFault(
                f"job {number} could not be asked for: {'; '.join(text for _, text in errors) or 'no answer'}"
            )
        return [read_job(said) for said in answer["jobs"]]

    async def _get(self, path: str) -> Mapping[str, Any]:
        _, answer = await self._ask("GET", path)
        errors = _errors(answer)
        if errors:
            raise SlurmFault(f"GET {path}: {'; '.join(text for _, text in errors)}")
        return answer

    async def _ask(self, method: str, path: str, **body: Any) -> tuple[int, Mapping[str, Any]]:
        headers = await asyncio.to_thread(self._headers)
        try:
            reply = await self._sent(method, path, headers=headers, **body)
        except httpx.HTTPError as error:
            raise SlurmFault(f"slurmrestd at {self._settings.url}: {str(error) or type(error).__name__}") from error
        if reply.status_code == httpx.codes.UNAUTHORIZED:
            raise SlurmFault(f"slurmrestd at {self._settings.url} wants a valid token; renew it")
        try:
            # On a thread: the answer of a large cluster has megabytes and would block the event loop.
            answer = await asyncio.to_thread(orjson.loads, reply.content)
        except ValueError:
            words = reply.text.strip().splitlines()[:1]
            raise SlurmFault(f"{method} {path}: HTTP {reply.status_code} {' '.join(words)}") from None
        return reply.status_code, answer

    async def _sent(self, method: str, path: str, **more: Any) -> httpx.Response:
        """slurmrestd may drop a connection without an answer: what can be repeated without harm is sent once more. A
        submission cannot."""
        try:
            return await self._client.request(method, path, **more)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            if method == "POST":
                raise
            return await self._client.request(method, path, **more)

    def _headers(self) -> dict[str, str]:
        user, token = self._settings.user, self._settings.token
        if user is None:
            return {}
        found = self._token_in_file() if token is None else token.get_secret_value()
        return {"X-SLURM-USER-NAME": user, "X-SLURM-USER-TOKEN": found}

    def _token_in_file(self) -> str:
        assert self._token_file is not None
        try:
            written = self._token_file.stat().st_mtime
            if self._token is None or self._token[0] != written:
                text = self._token_file.read_text().strip().removeprefix("SLURM_JWT=")
                self._token = (written, text)
        except OSError as error:
            raise SlurmFault(f"the token cannot be read: {error}") from None
        return self._token[1]


def _is_transient(number: int) -> bool:
    return (number < FIRST_REFUSAL and number != DISABLED) or number in SOCKETS


def _errors(answer: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Number and message of each. The number has three names."""
    found = []
    for error in answer.get("errors") or ():
        number = next((error[key] for key in ("error_number", "error_code", "errno") if key in error), 0)
        words = [str(error[key]) for key in ("error", "description") if error.get(key)]
        if number == UNSPECIFIED:
            words.append("slurmrestd does not say why; with a token, see whether that is still valid")
        found.append((int(number), ": ".join(words) or f"error {number}"))
    return found


#: The fields of slurmrestd whose names differ from ours.
_FIELDS = {
    "workdir": "current_working_directory",
    "output": "standard_output",
    "cpus": "cpus_per_task",
    "memory_mib": "memory_per_node",
    "node": "nodelist",
    "time_limit_minutes": "time_limit",
}


def _job_of(submission: JobSubmission) -> dict[str, object]:
    asked = {_FIELDS.get(name, name): value for name, value in submission.options().items()}
    fixed = {"open_mode": "append", "nodes": 1, "tasks": 1, "requeue": False}
    return {"environment": submission.environment, **asked, **fixed}
