"""What the two dialects of PBS's commands have in common: what is asked, and the records that come back."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dovetail.backends.batch.commands import Answer
from dovetail.backends.batch.driver import BatchFault, BatchSubmission
from dovetail.backends.batch.record import JobId
from dovetail.backends.pbs.job_record import PbsRecord
from dovetail.backends.pbs.select import ChunkSelect


class PbsFault(BatchFault):
    """PBS did not answer, or not as expected."""


@dataclass(frozen=True, slots=True)
class PbsNode:
    """`states`: such as free, job-busy, offline, down. `used_*`: what all jobs hold, not only ours; `used_memory_bytes`
    None: not known. `counted`: other resources with amounts, and `used_counted` what is used of them. `texts`:
    resources that are words. `queue`: the only queue whose jobs it takes. `load`, `free_memory_bytes`: measured."""

    name: str
    states: frozenset[str]
    host: str = ""
    comment: str = ""
    cpus: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    gpus: int = 0
    used_cpus: int = 0
    used_memory_bytes: int | None = None
    used_gpus: int = 0
    counted: dict[str, int] = field(default_factory=dict)
    used_counted: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    properties: tuple[str, ...] = ()
    queue: str | None = None
    load: float | None = None
    free_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PbsQueue:
    """`open`: it takes jobs and starts them. `max_s` None: no limit."""

    name: str
    open: bool = True
    max_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PbsSubmission(BatchSubmission):
    """`select`: the chunks, one for each task. `keys`: the attempts, if they are several, and `members` the path and
    text of the script of each. `walltime_s` None: the queue's limit."""

    select: ChunkSelect
    place: str
    queue: str | None = None
    walltime_s: int | None = None
    account: str | None = None
    project: str | None = None
    depend: str | None = None
    keys: tuple[str, ...] = ()
    members: tuple[tuple[str, str], ...] = ()


class Dialect(Protocol):
    """Words for the commands, and how to read their answers. Pure."""

    @property
    def has_arrays(self) -> bool: ...

    @property
    def has_gang_jobs(self) -> bool: ...

    @property
    def nodes_arguments(self) -> Sequence[str]: ...

    @property
    def queues_arguments(self) -> Sequence[str]: ...

    @property
    def jobs_arguments(self) -> Sequence[str]: ...

    def keeps_no_history(self, answer: Answer) -> bool:
        """It says that it does not keep ended jobs: from now on it is not asked for them, and the call is repeated."""

    def is_answer(self, answer: Answer) -> bool:
        """Whether qstat has answered: jobs that it does not know are no error."""

    def read_nodes(self, text: str) -> list[PbsNode]: ...

    def needs_jobs_for_use(self, nodes: Sequence[PbsNode]) -> bool:
        """Whether only jobs say what is used on these nodes."""

    def with_use(self, nodes: Sequence[PbsNode], jobs: Sequence[PbsRecord]) -> list[PbsNode]: ...

    def read_queues(self, text: str) -> list[PbsQueue]: ...

    def read_jobs(self, text: str) -> list[PbsRecord]:
        """Raises PbsFault."""

    def id_to_ask(self, job: JobId) -> str: ...

    def id_to_delete(self, job: JobId) -> str: ...

    def submit_arguments(self, submission: PbsSubmission) -> list[str]: ...

    def read_submitted(self, text: str) -> int | None:
        """The id of the new job."""

    def submission_error(self, answer: Answer) -> str: ...

    def is_gone(self, answer: Answer) -> bool:
        """Whether qdel says that the job has ended, or is unknown."""
