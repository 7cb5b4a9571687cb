"""Job arrays: many jobs under one id, each an element with an index. Pure.

Slurm keeps pending elements in one record, such as `0-7,9`, and gives an element its own record when it starts. An
element that is cancelled before that leaves no record. Long lists are truncated with `...`: elements after the last
listed index then count as listed, because treating a pending element as gone would be worse.

"""

import re
from collections.abc import Collection, Iterable, Sequence

from dovetail.backends.slurm.records import JobRecord, SlurmJob

_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def listed(elements: Iterable[int]) -> str:
    """In Slurm's notation: `0-3,7`."""
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


def matching(records: Sequence[JobRecord], jobs: Collection[SlurmJob]) -> dict[SlurmJob, JobRecord]:
    """The record of each of these jobs, where there is one."""
    single = {record.id: record for record in records}
    arrays: dict[int, list[JobRecord]] = {}
    for record in records:
        if record.array:
            arrays.setdefault(record.array, []).append(record)
    found: dict[SlurmJob, JobRecord] = {}
    for job in jobs:
        candidates = [single[job.id]] if job.element is None and job.id in single else arrays.get(job.id, [])
        for record in candidates:
            if job.element is None or has_element(record.elements, job.element):
                found[job] = record
                break
    return found
