"""Job arrays: many jobs under one number, each an element with a number of its own. Pure.

Elements that wait are one record in Slurm, `0-7,9`, and become records of their own when they start; one that is
cancelled before that leaves no record at all. A long list is cut off with `...` by whoever prints it: elements beyond
its last number are then taken to be in it, since to take one that waits for gone would be worse.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from dovetail.backends.slurm.records import JobRecord, SlurmJob

_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def listed(elements: Iterable[int]) -> str:
    """As Slurm writes them: `0-3,7`."""
    spans: list[list[int]] = []
    for element in sorted(elements):
        if spans and element == spans[-1][1] + 1:
            spans[-1][1] = element
        else:
            spans.append([element, element])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def has_element(elements: str, element: int) -> bool:
    """Whether a list such as `0-6:2,9%4` has it; after `%` stands how many may run at once."""
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
    """Of these jobs, those that one of the records is about."""
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
