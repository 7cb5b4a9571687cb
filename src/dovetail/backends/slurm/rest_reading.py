"""Parses slurmrestd's JSON.

Written for v0.0.38. Later versions write numbers as {"set": …, "infinite": …, "number": …} and states as lists; both
forms are accepted.
"""

from collections.abc import Mapping
from typing import Any

from dovetail.backends.slurm.driver import PartitionRecord, SlurmNode, SlurmReservation
from dovetail.backends.slurm.job_record import JobRecord

Json = Mapping[str, Any]


def read_node(said: Json) -> SlurmNode:
    state, *more = _words(said.get("state"))
    load = _number(said.get("cpu_load"))
    return SlurmNode(
        name=str(said["name"]),
        state=state.upper(),
        flags=frozenset(word.upper() for word in (*more, *_words(said.get("state_flags")))) - {""},
        reason=str(said.get("reason") or ""),
        cpus=_number(said.get("cpus")) or 0,
        memory_mib=_number(said.get("real_memory")) or 0,
        disk_mib=_number(said.get("temporary_disk")) or 0,
        allocated_cpus=_number(said.get("alloc_cpus")) or 0,
        allocated_memory_mib=_number(said.get("alloc_memory")) or 0,
        gres=str(said.get("gres") or ""),
        gres_used=str(said.get("gres_used") or ""),
        features=tuple(word for word in _words(said.get("active_features") or said.get("features")) if word),
        partitions=tuple(word for word in _words(said.get("partitions")) if word),
        arch=str(said.get("architecture") or ""),
        load=None if load is None else load / 100,
        free_memory_mib=_number(said.get("free_memory")),
    )


def read_partition(said: Json) -> PartitionRecord:
    nodes, longest = said.get("nodes") or "", said.get("max_time_limit")
    if isinstance(nodes, Mapping):
        nodes = nodes.get("configured") or ""
        longest = (said.get("maximums") or {}).get("time")
    state = said.get("state") or (said.get("partition") or {}).get("state")
    flags = {word.upper() for word in _words(said.get("flags"))}
    return PartitionRecord(
        name=str(said["name"]),
        nodes=str(nodes),
        up=_words(state)[0].upper() == "UP",
        default="DEFAULT" in flags,
        max_minutes=_number(longest) or None,
    )


def read_reservation(said: Json) -> SlurmReservation:
    start, end = _number(said.get("start_time")) or 0, _number(said.get("end_time")) or 0
    return SlurmReservation(str(said["name"]), str(said.get("node_list") or ""), float(start), float(end))


def read_job(said: Json) -> JobRecord:
    exit_code, signal = _exit_code_and_signal(said.get("exit_code"))
    return JobRecord(
        id=int(said["job_id"]),
        name=str(said.get("name") or ""),
        state=_job_state(_words(said.get("job_state"))),
        reason=_reason(said),
        exit_code=exit_code,
        signal=signal,
        restarts=_number(said.get("restart_cnt")) or 0,
        nodes=str(said.get("nodes") or ""),
        array=_number(said.get("array_job_id")) or 0,
        elements=_elements(said),
    )


def read_accounted(said: Json) -> JobRecord:
    """A record of the accounting. The user that cancelled a job becomes part of the reason."""
    exit_code, signal = _exit_code_and_signal(said.get("exit_code"))
    state, array, when = said.get("state") or {}, said.get("array") or {}, said.get("time") or {}
    by = f"by user {said['kill_request_user']}" if said.get("kill_request_user") else ""
    reason = str(state.get("reason") or "")
    element = _number(array.get("task_id"))
    return JobRecord(
        id=int(said["job_id"]),
        name=str(said.get("name") or ""),
        state=_job_state(_words(state.get("current"))),
        reason=", ".join(part for part in ("" if reason == "None" else reason, by) if part),
        exit_code=exit_code,
        signal=signal,
        nodes=str(said.get("nodes") or ""),
        array=_number(array.get("job_id")) or 0,
        elements="" if element is None else str(element),
        started_s=float(_number(when.get("start")) or 0),
        ended_s=float(_number(when.get("end")) or 0),
    )


def _exit_code_and_signal(said: object) -> tuple[int, int]:
    if isinstance(said, Mapping) and "return_code" in said:
        signal = said.get("signal") or {}
        return _number(said["return_code"]) or 0, _number(signal.get("id", signal.get("signal_id"))) or 0
    raw = _number(said) or 0  # as in wait(2)
    return raw >> 8 & 0xFF, raw & 0x7F


def _elements(said: Json) -> str:
    """The array elements of the record: one, or all pending ones."""
    one = _number(said.get("array_task_id"))
    return str(said.get("array_task_string") or "") if one is None else str(one)


#: Flags in a list of states that say nothing about the progress of the job.
_REMARKS = frozenset({"LAUNCH_FAILED", "UPDATE_DB", "RECONFIG_FAIL", "POWER_UP_NODE", "EXPEDITING"})


def _job_state(words: list[str]) -> str:
    """One state, as `squeue` shows it: of several, the one that says it has not ended yet."""
    states = [word.upper() for word in words if word.upper() not in _REMARKS] or [""]
    return "COMPLETING" if "COMPLETING" in states else states[-1]


def _reason(said: Json) -> str:
    short, long = said.get("state_reason"), said.get("state_description")
    words = ", ".join(str(word) for word in (short, long) if word and word != "None")
    return words.replace("_", " ") if long else words


def _words(said: object) -> list[str]:
    """At least one string, possibly empty."""
    if isinstance(said, list):
        return [str(word) for word in said] or [""]
    return str(said or "").split(",")


def _number(said: object) -> int | None:
    if isinstance(said, Mapping):
        return _number(said.get("number")) if said.get("set", True) and not said.get("infinite") else None
    return int(said) if isinstance(said, int | float) and not isinstance(said, bool) and said >= 0 else None
