"""The names of jobs: a job whose submission had no reply is found by its name. Pure.

A job is named after its attempt's key. Attempts in one array share a name, with `x` in place of the replica, which is
the index of the element.

"""

from dataclasses import dataclass

from dovetail.backends.slurm.arrays import has_element
from dovetail.backends.slurm.records import JobRecord, SlurmJob
from dovetail.model.command import task_of_key

REPLICA = "x"


@dataclass(frozen=True, slots=True)
class JobNames:
    """`prefix` separates the jobs of one backend of one control plane from those of another."""

    prefix: str

    def alone(self, key: str) -> str:
        return f"{self.prefix}{key}"

    def together(self, key: str) -> str:
        return f"{self.prefix}{shared_key(key, REPLICA)}"

    def job_of(self, key: str, record: JobRecord) -> SlurmJob | None:
        """The attempt's job, if the record belongs to it."""
        if record.name == self.alone(key):
            return SlurmJob(record.id)
        replica = task_of_key(key).replica
        if record.array and record.name == self.together(key) and has_element(record.elements, replica):
            return SlurmJob(record.array, replica)
        return None


def shared_key(key: str, replica: str) -> str:
    """The key with something else in place of the replica's number."""
    return f"{task_of_key(key).workload}.{replica}.{key.rpartition('.')[2]}"
