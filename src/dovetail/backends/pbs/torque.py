"""The dialect of Torque, and of Slurm's commands of the same names: text, `nodes=NAME:ppn=N`. Pure.

The text is blocks of `name = value` lines; a value may go on in further lines, which begin with a tab. Slurm's commands
neither say how a job ended, nor why it waits, nor which element of an array a job is. So a job's end is read from its
run folder, and every task is a job of its own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dovetail.backends.batch.commands import Answer
from dovetail.backends.batch.record import JobId
from dovetail.backends.pbs.amounts import read_size, read_time_s, written_time
from dovetail.backends.pbs.dialect import PbsNode, PbsQueue, PbsSubmission
from dovetail.backends.pbs.job_record import STATES, PbsRecord

NOT_FOUND_STATUS = 153  # of qstat, when it has none of what it was asked for
_ATTRIBUTE = re.compile(r"^\s+([\w.]+) = (.*)$")
_UNKNOWN = ("Unknown Job Id", "Request invalid for state of job", "Job has finished")
_SLOTS = re.compile(r"(\d+)(?:-(\d+))?")
_OF_SLURM = "slurmstate"
_SBATCH_ERROR = re.compile(r"sbatch: error: (?:Batch job submission failed: )?([^'\n]+)")


class Torque:
    has_arrays = has_gang_jobs = False
    nodes_arguments = ("-a",)
    queues_arguments = ("-Q", "-f")
    jobs_arguments = ("-f",)

    def keeps_no_history(self, answer: Answer) -> bool:  # noqa: ARG002 - the other dialect's
        return False

    def is_answer(self, answer: Answer) -> bool:
        unknown = any(sign in answer.wrong for sign in _UNKNOWN)
        return answer.status == 0 or (answer.status == NOT_FOUND_STATUS and (unknown or not answer.wrong.strip()))

    def read_nodes(self, text: str) -> list[PbsNode]:
        return [_node(name, said) for name, said in _blocks(text)]

    def needs_jobs_for_use(self, nodes: Sequence[PbsNode]) -> bool:
        """Torque lists the jobs of a node; Slurm's pbsnodes does not."""
        return any(_OF_SLURM in node.texts for node in nodes)

    def with_use(self, nodes: Sequence[PbsNode], jobs: Sequence[PbsRecord]) -> list[PbsNode]:
        """With Slurm's commands, `exec_host` is the number of CPUs on each node: `n1/2+n2/4`."""
        used: Counter[str] = Counter()
        for job in jobs:
            if job.holds_node:
                for part in job.nodes.split("+"):
                    name, _, cpus = part.partition("/")
                    used[name] += int(cpus) if cpus.isdigit() else 0
        return [replace(node, used_cpus=min(used[node.name], node.cpus)) for node in nodes]

    def read_queues(self, text: str) -> list[PbsQueue]:
        found = []
        for name, said in _blocks(text):
            if said.get("queue_type", "Execution").startswith("E"):
                is_open = all(said.get(word, "True").lower() in ("true", "yes") for word in ("enabled", "started"))
                limit = read_time_s(said.get("resources_max.walltime"))
                found.append(PbsQueue(name.removeprefix("Queue:").strip(), is_open, limit))
        return found

    def read_jobs(self, text: str) -> list[PbsRecord]:
        found = (_job(name, said) for name, said in _blocks(text))
        return [record for record in found if record is not None]

    def id_to_ask(self, job: JobId) -> str:
        return str(job.id)

    def id_to_delete(self, job: JobId) -> str:
        return str(job.id)

    def submit_arguments(self, submission: PbsSubmission) -> list[str]:
        """The script comes from the standard input, under a name: Slurm's qsub needs one."""
        (chunk,) = submission.select.chunks
        asked = chunk.resources
        gpus = f":gpus={asked['ngpus']}" if "ngpus" in asked else ""
        amounts = [f"nodes={asked['vnode']}:ppn={asked['ncpus']}{gpus}", f"mem={asked['mem']}"]
        if submission.walltime_s is not None:
            amounts.append(f"walltime={written_time(submission.walltime_s)}")
        words = ["-N", submission.name, "-S", "/bin/bash", "-j", "oe", "-o", "/dev/null", "-r", "n"]
        words += ["-l", ",".join(amounts)]
        options = {"-q": submission.queue, "-A": submission.account}
        words += [word for option, value in options.items() if value is not None for word in (option, value)]
        if submission.depend is not None:
            words += ["-W", f"depend={submission.depend}"]
        return [*words, "/dev/stdin"]

    def read_submitted(self, text: str) -> int | None:
        match = re.match(r"\d+", text.strip())
        return int(match[0]) if match else None

    def submission_error(self, answer: Answer) -> str:
        of_slurm = _SBATCH_ERROR.findall(answer.said)
        return of_slurm[-1].strip() if of_slurm else answer.last_line().removeprefix("qsub: ") or answer.said.strip()

    def is_gone(self, answer: Answer) -> bool:
        """Slurm's qdel says nothing about a job that has ended or is unknown."""
        silent = not answer.said.strip() and not answer.wrong.strip()
        return silent or any(sign in answer.wrong for sign in _UNKNOWN)


def _blocks(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    name, said, last = "", dict[str, str](), ""
    for line in text.splitlines():
        match = _ATTRIBUTE.match(line)
        if match:
            last = match[1]
            said.setdefault(last, match[2].strip())
        elif line.startswith("\t") and last:
            said[last] += line.strip()
        elif line.strip():
            if name:
                yield name, said
            name, said, last = line.strip(), {}, ""
    if name:
        yield name, said


def _node(name: str, said: dict[str, str]) -> PbsNode:
    status = dict(part.partition("=")[::2] for part in said.get("status", "").split(",") if "=" in part)
    cpus = int(said["np"]) if said.get("np", "").isdigit() else 0
    memory = read_size(status.get("physmem") or status.get("availmem")) or 0
    free = read_size(status.get("availmem")) if "physmem" in status else None
    load = status.get("loadave", "")
    return PbsNode(
        name=name,
        states=frozenset(part.strip() for part in said.get("state", "").split(",")),
        host=name,
        comment=said.get("note", "").strip("()"),
        cpus=cpus,
        memory_bytes=memory,
        gpus=int(said["gpus"]) if said.get("gpus", "").isdigit() else 0,
        used_cpus=_slots(said.get("jobs", "")),
        texts={_OF_SLURM: status[_OF_SLURM]} if _OF_SLURM in status else {},
        properties=tuple(said.get("properties", "").replace(",", " ").split()),
        load=float(load) if load.replace(".", "", 1).isdigit() else None,
        free_memory_bytes=free,
    )


def _slots(jobs: str) -> int:
    """How many slots its jobs have: `0/12.head, 1/12.head` or `0-1/12.head`."""
    found = 0
    for part in jobs.replace(" ", "").split(","):
        match = _SLOTS.fullmatch(part.partition("/")[0])
        if match:
            found += int(match[2] or match[1]) - int(match[1]) + 1
    return found


def _job(name: str, said: dict[str, str]) -> PbsRecord | None:
    match = re.match(r"Job Id:\s*(\d+)", name)
    if match is None:
        return None
    letter, status = said.get("job_state", ""), said.get("exit_status", "")
    return PbsRecord(
        id=int(match[1]),
        name=said.get("Job_Name", ""),
        state=STATES[letter][0] if letter in STATES else letter,
        reason="" if letter in ("R", "E") else said.get("comment", ""),
        nodes=said.get("exec_host", ""),
        exit_status=int(status) if re.fullmatch(r"-?\d+", status) else None,
        depends=said.get("depend", ""),
    )
