"""Turns an assignment into a Slurm job, and refuses what the backend or the node cannot run."""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dovetail.backends.batch.description import Description
from dovetail.backends.batch.naming import REPLICA, shared_key
from dovetail.backends.batch.script import ScriptWords, script_of
from dovetail.backends.commands_only import refuse_all_but_commands
from dovetail.backends.contract import Assignment, Refusal, WorkloadRefusal
from dovetail.backends.run_folder import OUTPUT
from dovetail.backends.slurm.driver import JobSubmission, SlurmReservation
from dovetail.backends.slurm.gres import asked_for
from dovetail.backends.slurm.inventory import coming_reservation
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.model.device import devices_of
from dovetail.model.workloads.workload import Workload

ACCOUNT, QOS, PARTITION, DEPENDENCY = "slurm/account", "slurm/qos", "slurm/partition", "slurm/dependency"
"""Labels of a workload. The last names jobs that were not submitted by Dovetail."""
_MIB = 2**20
WORDS = ScriptWords(
    system="Slurm",
    job="${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}",
    restarts="${SLURM_RESTART_COUNT:-0}",
    node="$SLURMD_NODENAME",
    element="$SLURM_ARRAY_TASK_ID",
)


def refuse_what_cannot_run(spec: Workload) -> None:
    refuse_all_but_commands(spec, "the Slurm backend")
    if spec.run.stdin:
        raise WorkloadRefusal(f"workload {spec.name!r} wants its input open (run.stdin); jobs of Slurm read nothing")
    if spec.resources.gpu % 1:
        raise WorkloadRefusal(f"workload {spec.name!r} wants {spec.resources.gpu:g} GPUs; Slurm gives whole ones here")


def refuse_what_takes_too_long(
    spec: Workload, there: Description, reservations: Iterable[SlurmReservation], settings: SlurmSettings, now: float
) -> None:
    """Slurm would accept it and leave it pending, for a longer limit or until a reservation is over."""
    minutes = minutes_of(spec)
    if minutes is not None and there.max_minutes is not None and minutes > there.max_minutes:
        words = f"asks for {minutes} minutes; partition {there.queue} gives at most {there.max_minutes}"
        raise WorkloadRefusal(f"workload {spec.name!r} {words}")
    if settings.place == "slurm":
        return
    coming = coming_reservation(there.own_name, reservations, settings, now, minutes)
    if coming is not None:
        how_long = "it has no time limit" if minutes is None else f"it may run for {minutes} minutes"
        words = f"is reserved in Slurm ({coming.name}) in {(coming.start_s - now) / 60:.0f} minutes, and {how_long}"
        raise Refusal(f"{there.node.name} {words}; give deadline.run_for a smaller value")


def job_of(assignment: Assignment, there: Description, settings: SlurmSettings, run: Path, name: str) -> JobSubmission:
    spec, here = assignment.spec, settings.place == "node"
    return JobSubmission(
        name=name,
        script=script_of(assignment, settings, run, WORDS),
        comment=f"dovetail {spec.namespace}/{spec.name} {assignment.key}",
        output=str(run / OUTPUT).replace("%", "%%"),  # Slurm replaces %j and others there
        workdir=str(run),
        cpus=max(1, math.ceil(spec.resources.cpu)),  # whole CPUs
        memory_mib=math.ceil((spec.resources.memory or settings.least_memory) / _MIB),
        node=there.own_name if here else None,
        partition=spec.labels.get(PARTITION, there.queue) if here else there.queue,
        gres=_gres(assignment, there),
        time_limit_minutes=_limit_minutes(assignment, there, settings),
        account=spec.labels.get(ACCOUNT, settings.account),
        qos=spec.labels.get(QOS, settings.qos),
        reservation=settings.reservation,
        dependency=spec.labels.get(DEPENDENCY) or None,
        environment=dict(settings.env),
    )


def element_of(
    assignment: Assignment, alone: JobSubmission, settings: SlurmSettings, run: Path, name: str
) -> JobSubmission:
    """The job as an array element: the same for all replicas that may share an array. The elements are set later."""
    spec = assignment.spec
    folder = str(run.parent).replace("%", "%%")
    return replace(
        alone,
        name=name,
        script=script_of(assignment, settings, run, WORDS, in_array=True),
        comment=f"dovetail {spec.namespace}/{spec.name} {shared_key(assignment.key, REPLICA)}",
        output=f"{folder}/{shared_key(assignment.key, '%a')}/{OUTPUT}",
        workdir=str(run.parent),
    )


def minutes_of(spec: Workload) -> int | None:
    """Slurm counts in minutes; the script enforces the limit to the second."""
    run_for_s = spec.deadline.run_for
    return None if run_for_s is None else max(1, math.ceil(run_for_s / 60))


def _limit_minutes(assignment: Assignment, there: Description, settings: SlurmSettings) -> int | None:
    """With time for a member of a gang to wait for the others, as far as the partition allows that."""
    minutes = minutes_of(assignment.spec)
    if minutes is None or assignment.gang is None or settings.start_within_s is None:
        return minutes
    longer = minutes + math.ceil(settings.start_within_s / 60)
    return longer if there.max_minutes is None else min(longer, max(minutes, there.max_minutes))


def _gres(assignment: Assignment, there: Description) -> str | None:
    asked = assignment.spec.resources
    devices = devices_of(there.node.gpus, there.node.capacity.gpu)
    models = [devices[slot].model if slot < len(devices) else "" for slot in assignment.devices]
    extended = {name: amount for name, amount in asked.amounts().items() if name.startswith("gres/")}
    return asked_for(models or [""] * int(asked.gpu), extended) or None
