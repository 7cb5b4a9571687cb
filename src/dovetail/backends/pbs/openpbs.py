"""The dialect of OpenPBS and PBS Professional: JSON, `select` and `place`, arrays. Pure, but for what it has learned.

The JSON has numbers where a text looks like one, so every value is read as text first. Queued and ended elements of an
array are listed one by one (`qstat -t`); the array itself is left out.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.backends.batch.commands import Answer
from dovetail.backends.batch.record import JobId
from dovetail.backends.pbs.amounts import read_size, read_time_s, written_time
from dovetail.backends.pbs.dialect import PbsFault, PbsNode, PbsQueue, PbsSubmission
from dovetail.backends.pbs.job_record import STATES, PbsRecord
from dovetail.backends.pbs.select import SelectError, read_exec_vnode, read_select

KEYS_VARIABLE = "DOVETAIL_KEYS"
KEYS_DIVIDER = ":"  # a comma divides variables
_JOB_ID = re.compile(r"(\d+)(?:\[(\d*)\])?")
_UNKNOWN = ("Unknown Job Id", "Job has finished", "Unknown queue")
_NO_HISTORY = "not configured to maintain job history"
_HOLDS = {"u": "by its user", "o": "by an operator", "s": "by the system", "p": "for a bad password"}
#: Resources of a vnode that have a field of their own, or are no amounts of work.
_OWN = frozenset({"ncpus", "mem", "ngpus", "host", "vnode"})


class OpenPbs:
    has_arrays = has_gang_jobs = True
    nodes_arguments = ("-a", "-F", "json")
    queues_arguments = ("-Q", "-f", "-F", "json")

    def __init__(self) -> None:
        self._history = True

    @property
    def jobs_arguments(self) -> Sequence[str]:
        return (*(("-x",) if self._history else ()), "-t", "-f", "-F", "json")

    def keeps_no_history(self, answer: Answer) -> bool:
        if not self._history or _NO_HISTORY not in answer.wrong:
            return False
        self._history = False
        return True

    def is_answer(self, answer: Answer) -> bool:
        lines = answer.wrong.strip().splitlines()
        return answer.status == 0 or (bool(lines) and all(any(sign in line for sign in _UNKNOWN) for line in lines))

    def read_nodes(self, text: str) -> list[PbsNode]:
        return [_node(name, said) for name, said in _part(text, "nodes").items()]

    def needs_jobs_for_use(self, nodes: Sequence[PbsNode]) -> bool:  # noqa: ARG002 - the other dialect's
        return False

    def with_use(self, nodes: Sequence[PbsNode], jobs: Sequence[PbsRecord]) -> list[PbsNode]:  # noqa: ARG002
        return list(nodes)

    def read_queues(self, text: str) -> list[PbsQueue]:
        found = []
        for name, said in _part(text, "Queue").items():
            if str(said.get("queue_type", "Execution")).startswith("E"):  # the others pass jobs on
                is_open = _true(said.get("enabled")) and _true(said.get("started"))
                limit = read_time_s(_mapping(said.get("resources_max")).get("walltime"))
                found.append(PbsQueue(name, is_open, limit))
        return found

    def read_jobs(self, text: str) -> list[PbsRecord]:
        found = (_job(name, said) for name, said in _part(text, "Jobs").items())
        return [record for record in found if record is not None]

    def id_to_ask(self, job: JobId) -> str:
        return str(job.id) if job.element is None else f"{job.id}[]"

    def id_to_delete(self, job: JobId) -> str:
        return str(job.id) if job.element is None else f"{job.id}[{job.element}]"

    def submit_arguments(self, submission: PbsSubmission) -> list[str]:
        words = ["-N", submission.name, "-S", "/bin/bash", "-j", "oe", "-o", "/dev/null", "-r", "n"]
        words += ["-l", f"select={submission.select}", "-l", f"place={submission.place}"]
        if submission.walltime_s is not None:
            words += ["-l", f"walltime={written_time(submission.walltime_s)}"]
        options = {"-q": submission.queue, "-A": submission.account, "-P": submission.project, "-J": submission.array}
        words += [word for option, value in options.items() if value is not None for word in (option, value)]
        if submission.depend is not None:
            words += ["-W", f"depend={submission.depend}"]
        if submission.keys:
            words += ["-v", f"{KEYS_VARIABLE}={KEYS_DIVIDER.join(submission.keys)}"]
        return words

    def read_submitted(self, text: str) -> int | None:
        match = _JOB_ID.match(text.strip())
        return int(match[1]) if match else None

    def submission_error(self, answer: Answer) -> str:
        return answer.last_line().removeprefix("qsub: ") or answer.said.strip()

    def is_gone(self, answer: Answer) -> bool:
        return any(sign in answer.wrong for sign in _UNKNOWN)


def _part(text: str, name: str) -> Mapping[str, Mapping[str, Any]]:
    """One part of an answer. Where there is nothing, some versions print nothing, or leave the part out."""
    if not text.strip():
        return {}
    try:
        answer = json.loads(text, strict=False)
        found: Mapping[str, Mapping[str, Any]] = answer.get(name) or {}
    except (ValueError, AttributeError) as error:
        raise PbsFault(f"PBS printed JSON that cannot be read ({error}): {text[:200]!r}") from None
    return found


def _node(name: str, said: Mapping[str, Any]) -> PbsNode:
    there, used = _mapping(said.get("resources_available")), _mapping(said.get("resources_assigned"))
    counted = {each: _count(value) for each, value in there.items() if each not in _OWN and str(value).isdigit()}
    texts = {
        each: str(value)
        for each, value in there.items()
        if each not in _OWN and each not in counted and read_size(value) is None
    }
    return PbsNode(
        name=name,
        states=frozenset(part.strip() for part in str(said.get("state", "")).split(",")),
        host=str(there.get("host", name)),
        comment=str(said.get("comment", "")),
        cpus=_count(there.get("ncpus")),
        memory_bytes=read_size(there.get("mem")) or 0,
        gpus=_count(there.get("ngpus")),
        used_cpus=_count(used.get("ncpus")),
        used_memory_bytes=read_size(used.get("mem")) or 0,
        used_gpus=_count(used.get("ngpus")),
        counted=counted,
        used_counted={each: _count(used.get(each)) for each in counted},
        texts=texts,
        queue=str(said["queue"]) if said.get("queue") else None,
    )


def _job(name: str, said: Mapping[str, Any]) -> PbsRecord | None:
    """None for an array as a whole."""
    match = _JOB_ID.match(name)
    if match is None or match[2] == "":
        return None
    letter = str(said.get("job_state", ""))
    status = str(said.get("Exit_status", ""))
    keys = str(_mapping(said.get("Variable_List")).get(KEYS_VARIABLE, ""))
    element = match[2]
    return PbsRecord(
        id=int(match[1]),
        name=str(said.get("Job_Name", "")),
        state=STATES[letter][0] if letter in STATES else letter,
        reason=_reason(letter, said),
        nodes=_nodes_of(said),
        array=int(match[1]) if element is not None else 0,
        elements=element or "",
        keys=tuple(keys.split(KEYS_DIVIDER)) if KEYS_DIVIDER in keys else (),
        exit_status=int(status) if re.fullmatch(r"-?\d+", status) else None,
        depends=str(said.get("depend", "")),
    )


def _reason(letter: str, said: Mapping[str, Any]) -> str:
    """PBS's comment; for a held job also who holds it. The comment of a running job only says when it began."""
    held = [_HOLDS[sign] for sign in str(said.get("Hold_Types", "")) if sign in _HOLDS] if letter == "H" else []
    comment = "" if letter in "RE" else str(said.get("comment", "")).removeprefix("Not Running: ").strip()
    return "; ".join(part for part in (" and ".join(held), comment) if part)


def _nodes_of(said: Mapping[str, Any]) -> str:
    """Those that it has, else those that it asks for."""
    try:
        if said.get("exec_vnode"):
            return "+".join(dict.fromkeys(vnode for vnode, _ in read_exec_vnode(str(said["exec_vnode"]))))
        select = _mapping(said.get("Resource_List")).get("select")
        return "+".join(dict.fromkeys(read_select(str(select)).vnodes)) if select is not None else ""
    except SelectError:
        return ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: Any) -> int:
    return int(value) if str(value).isdigit() else 0


def _true(value: Any) -> bool:
    return str(value).lower() in ("true", "1", "yes")
