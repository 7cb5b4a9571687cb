"""Parses the output of `scontrol --oneliner show …` and `sacct`: `Key=value` words, one record per line.

Values end at the first space. Of the fields that are read here only a node's reason contains spaces; it is the last
field of its line.
"""

import re

from dovetail.backends.slurm.driver import PartitionRecord, SlurmNode, SlurmReservation
from dovetail.backends.slurm.job_record import JobRecord

_WORD = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9/:]*)=(\S*)")
_NODE_REASON = re.compile(r"\sReason=(.*?)(?:\s\[[^\]]*\])?\s*$")
_JOB_REASON = re.compile(r"\sReason=(.*?)\s+[A-Z][A-Za-z]*=")
_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")
_NOTHING = ("", "(null)", "N/A", "None", "NONE")


def words_of(line: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in _WORD.findall(line):
        found.setdefault(key, "" if value in _NOTHING else value)
    return found


def read_node(line: str) -> SlurmNode:
    said = words_of(line)
    state, *flags = (word.rstrip("*$~#@^!%-").upper() for word in said["State"].split("+"))
    if "*" in said["State"]:
        flags.append("NOT_RESPONDING")
    reason = _NODE_REASON.search(line)
    load = said.get("CPULoad", "")
    return SlurmNode(
        name=said["NodeName"],
        state=state,
        flags=frozenset(flags),
        reason=reason[1] if reason else "",
        cpus=_count(said.get("CPUTot")),
        memory_mib=_count(said.get("RealMemory")),
        disk_mib=_count(said.get("TmpDisk")),
        allocated_cpus=_count(said.get("CPUAlloc")),
        allocated_memory_mib=_count(said.get("AllocMem")),
        gres=said.get("Gres", ""),
        gres_used=said.get("GresUsed", ""),
        features=_list(said.get("ActiveFeatures") or said.get("AvailableFeatures")),
        partitions=_list(said.get("Partitions")),
        arch=said.get("Arch", ""),
        load=float(load) if load.replace(".", "", 1).isdigit() else None,
        free_memory_mib=_count(said.get("FreeMem")) or None,
    )


def read_partition(line: str) -> PartitionRecord:
    said = words_of(line)
    return PartitionRecord(
        name=said["PartitionName"],
        nodes=said.get("Nodes", ""),
        up=said.get("State", "").upper() == "UP",
        default=said.get("Default", "").upper() == "YES",
        max_minutes=minutes(said.get("MaxTime", "")),
    )


def read_reservation(line: str) -> SlurmReservation:
    said = words_of(line)
    start_s, end_s = moment(said.get("StartTime", "")), moment(said.get("EndTime", ""))
    return SlurmReservation(said["ReservationName"], said.get("Nodes", ""), start_s, end_s)


def read_job(line: str) -> JobRecord:
    said = words_of(line)
    exit_code, _, signal = said.get("ExitCode", "0:0").partition(":")
    reason = _JOB_REASON.search(line)
    return JobRecord(
        id=int(said["JobId"]),
        name=said.get("JobName", ""),
        state=said["JobState"].upper(),
        reason=_said(reason[1].replace("_", " ") if reason and "," in reason[1] else reason[1] if reason else ""),
        exit_code=_count(exit_code),
        signal=_count(signal),
        restarts=_count(said.get("Restarts")),
        nodes=said.get("NodeList", ""),
        array=_count(said.get("ArrayJobId")),
        elements=said.get("ArrayTaskId", ""),
    )


#: The fields that `sacct --parsable2` is asked for, in this order.
ACCOUNTED = ("JobIDRaw", "JobID", "JobName", "State", "Reason", "ExitCode", "NodeList", "Start", "End")


def read_accounted(line: str) -> JobRecord:
    """The user in `CANCELLED by 1000` becomes part of the reason."""
    number, shown, name, state, reason, status, nodes, start, end = line.split("|")
    array, _, element = shown.partition("_")
    word, _, by = state.partition(" ")
    exit_code, _, signal = status.partition(":")
    why = ", ".join(part for part in (_said(reason), by.replace("by", "by user", 1) if by else "") if part)
    return JobRecord(
        id=int(number),
        name=name,
        state=word,
        reason=why,
        exit_code=_count(exit_code),
        signal=_count(signal),
        nodes=_said(nodes),
        array=_count(array) if element else 0,
        elements=element,
        started_s=moment(start),
        ended_s=moment(end),
    )


def minutes(text: str) -> int | None:
    """Parses `1-12:00:00` or `UNLIMITED`."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, mins, _ = (int(part or 0) for part in match.groups())
    return days * 1440 + hours * 60 + mins


def moment(text: str) -> float:
    """Seconds since the epoch, the format that `scontrol` is asked for."""
    return float(text) if text.isdigit() else 0.0


def _said(text: str) -> str:
    return "" if text in _NOTHING else text


def _count(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0


def _list(text: str | None) -> tuple[str, ...]:
    return tuple(word for word in (text or "").split(",") if word)
