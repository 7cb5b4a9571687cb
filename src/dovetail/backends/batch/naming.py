"""Which job belongs to which attempt: by its id, by its element of an array, or by its name. Pure.

A job is named after its attempt's key, so that a job whose submission had no reply is found by its name. Attempts in
one array share a name, with `x` in place of the replica, which is the index of the element. A job that runs a whole
gang lists the keys.

A system may keep pending elements in one record, such as `0-7,9`, and give an element its own record when it starts. An
element that is cancelled before that leaves no record. Long lists are truncated with `...`: elements after the last
listed index then count as listed, because treating a pending element as gone would be worse.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from dovetail.backends.batch.record import BatchRecord, JobId
from dovetail.model.command import task_of_key

REPLICA = "x"
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def listed(elements: Iterable[int]) -> str:
    """As arrays are written: `0-3,7`."""
    spans: list[list[int]] = []
    for element in sorted(elements):
        if spans and element == spans[-1][1] + 1:
            spans[-1][1] = element
        else:
            spans.append([element, element])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def has_element(elements: str, element: int) -> bool:
    """Whether a list such as `0-6:2,9%4` contains it. The number after `%` limits how many run at once."""
    last = -1
    for part in elements.partition("%")[0].split(","):
        match = _RANGE.fullmatch(part.strip("[]"))
        if match is None:
            if "..." in part:
                return element > last
            continue
        first, last = int(match[1]), int(match[2] or match[1])
        if first <= element <= last and (element - first) % int(match[3] or 1) == 0:
            return True
    return False


def matching(records: Sequence[BatchRecord], jobs: Collection[JobId]) -> dict[JobId, BatchRecord]:
    """The record of each of these jobs, where there is one."""
    single = {record.id: record for record in records}
    arrays: dict[int, list[BatchRecord]] = {}
    for record in records:
        if record.array:
            arrays.setdefault(record.array, []).append(record)
    found: dict[JobId, BatchRecord] = {}
    for job in jobs:
        candidates = [single[job.id]] if job.element is None and job.id in single else arrays.get(job.id, [])
        for record in candidates:
            if job.element is None or has_element(record.elements, job.element):
                found[job] = record
                break
    return found


@dataclass(frozen=True, slots=True)
class JobNames:
    """`prefix` separates the jobs of one backend of one control plane from those of another."""

    prefix: str

    def alone(self, key: str) -> str:
        return f"{self.prefix}{key}"

    def together(self, key: str) -> str:
        return f"{self.prefix}{shared_key(key, REPLICA)}"

    def job_of(self, key: str, record: BatchRecord) -> JobId | None:
        """The attempt's job, if the record belongs to it."""
        if record.name == self.alone(key):
            return JobId(record.id)
        if key in record.keys and record.name.startswith(self.prefix):
            return JobId(record.id)
        replica = task_of_key(key).replica
        if record.array and record.name == self.together(key) and has_element(record.elements, replica):
            return JobId(record.array, replica)
        return None

    def own(self, key: str, record: BatchRecord | None) -> BatchRecord | None:
        """The record, if it belongs to the attempt."""
        return record if record is not None and self.job_of(key, record) is not None else None


def shared_key(key: str, replica: str) -> str:
    """The key with something else in place of the replica's number."""
    return f"{task_of_key(key).workload}.{replica}.{key.rpartition('.')[2]}"
