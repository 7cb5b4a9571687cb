"""Turns an assignment into a PBS job, and refuses what the backend or the node cannot run."""

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dovetail.backends.batch.description import Description
from dovetail.backends.batch.script import ScriptWords, quoted, script_of
from dovetail.backends.commands_only import refuse_all_but_commands
from dovetail.backends.contract import Assignment, WorkloadRefusal
from dovetail.backends.pbs.dialect import PbsNode, PbsSubmission
from dovetail.backends.pbs.inventory import EXTENDED
from dovetail.backends.pbs.select import Chunk, SelectError, read_place, select_of
from dovetail.backends.pbs.settings import PbsSettings
from dovetail.backends.run_folder import OUTPUT
from dovetail.model.workloads.workload import Workload

ACCOUNT, PROJECT, QUEUE = "pbs/account", "pbs/project", "pbs/queue"
PLACE, DEPENDENCY = "pbs/place", "pbs/dependency"
"""Labels of a workload. The last names jobs that were not submitted by Dovetail."""
MEMBER_SCRIPT = "job.sh"
_MIB = 2**20
#: Slurm's qsub gives its arguments to a shell, so a label must not hold a sign that means something there.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+:,-]*", re.ASCII)

#: A signal that bash is to act on interrupts its wait.
_GANG = """\
#!/bin/bash
# Dovetail's gang {gang}: a task in each chunk
trap : TERM
{starts}
until wait; do :; done
"""


def refuse_what_cannot_run(spec: Workload) -> None:
    refuse_all_but_commands(spec, "the PBS backend")
    if spec.run.stdin:
        raise WorkloadRefusal(f"workload {spec.name!r} wants its input open (run.stdin); jobs of PBS read nothing")
    if spec.resources.gpu % 1:
        raise WorkloadRefusal(f"workload {spec.name!r} wants {spec.resources.gpu:g} GPUs; PBS gives whole ones here")
    for label in (ACCOUNT, PROJECT, QUEUE, DEPENDENCY):
        value = spec.labels.get(label, "")
        if value and not _WORD.fullmatch(value):
            words = "use letters, digits and . _ @ + : , -, the first of them a letter or digit"
            raise WorkloadRefusal(
                f"workload {spec.name!r} has the label {label}: {value!r}, which is not a word; {words}"
            )
    try:
        read_place(spec.labels.get(PLACE, "free"))
    except SelectError as error:
        raise WorkloadRefusal(f"workload {spec.name!r} has the label {PLACE}, but {error}") from None


def refuse_what_is_too_large(spec: Workload, there: PbsNode) -> None:
    """PBS would accept it and never start it."""
    asked = spec.resources
    for what, wanted, has in (
        ("CPUs", math.ceil(asked.cpu), there.cpus),
        ("bytes of memory", asked.memory, there.memory_bytes),
        ("GPUs", math.ceil(asked.gpu), there.gpus),
    ):
        if wanted > has:
            raise WorkloadRefusal(f"workload {spec.name!r} asks for {wanted} {what}; {there.name} has {has} in PBS")


def refuse_what_takes_too_long(spec: Workload, there: Description) -> None:
    run_for_s = spec.deadline.run_for
    if run_for_s is not None and there.max_minutes is not None and run_for_s > there.max_minutes * 60:
        words = f"asks for {run_for_s / 60:.0f} minutes; queue {there.queue} gives at most {there.max_minutes}"
        raise WorkloadRefusal(f"workload {spec.name!r} {words}")


def job_of(assignment: Assignment, there: Description, settings: PbsSettings, run: Path, name: str) -> PbsSubmission:
    spec = assignment.spec
    return PbsSubmission(
        name=name,
        script=script_of(assignment, settings, run, _words(there)),
        select=select_of([_chunk(spec, there, settings)]),
        place=spec.labels.get(PLACE, settings.place),
        queue=spec.labels.get(QUEUE, there.queue),
        walltime_s=_walltime_s(assignment, there, settings),
        account=spec.labels.get(ACCOUNT, settings.account),
        project=spec.labels.get(PROJECT, settings.project),
        depend=spec.labels.get(DEPENDENCY) or None,
        environment=dict(settings.env),
    )


def element_of(
    assignment: Assignment, alone: PbsSubmission, there: Description, settings: PbsSettings, run: Path, name: str
) -> PbsSubmission:
    """The job as an array element: the same for all replicas that may share an array. The elements are set later."""
    return replace(alone, name=name, script=script_of(assignment, settings, run, _words(there), in_array=True))


def gang_job(
    members: Mapping[int | str, PbsSubmission], folder: Path, settings: PbsSettings, gang: str, name: str
) -> PbsSubmission:
    """One job with a chunk for each member, by its key; equal ones stand together. Each member's script runs in its own
    chunk, and they still wait for each other: a node may fail to start its own."""
    by_key = {str(key): members[key] for key in sorted(members, key=lambda key: _numbers(str(key)))}
    places = {chunk: at for at, chunk in enumerate(dict.fromkeys(str(member.select) for member in by_key.values()))}
    ordered = dict(sorted(by_key.items(), key=lambda item: places[str(item[1].select)]))
    scripts = {key: str(folder / key / MEMBER_SCRIPT) for key in ordered}
    first = next(iter(ordered.values()))
    limits = [member.walltime_s for member in ordered.values()]
    starts = [
        f"{quoted(settings.launcher)} -n {place} /bin/bash {quoted(script)} &"
        for place, script in enumerate(scripts.values())
    ]
    return replace(
        first,
        name=name,
        script=_GANG.format(gang=shlex.quote(gang), starts="\n".join(starts)),
        select=select_of(chunk for member in ordered.values() for chunk in member.select.chunks),
        walltime_s=None if None in limits else max(limit for limit in limits if limit is not None),
        keys=tuple(ordered),
        members=tuple((scripts[key], member.script) for key, member in ordered.items()),
    )


def _numbers(key: str) -> list[int]:
    return [int(part) for part in key.split(".")]


def _words(there: Description) -> ScriptWords:
    """PBS writes a job's output to a spool and copies it at the end; the script writes it where it can be read at once.
    Slurm's commands set no variables of PBS."""
    output = f'exec >> "$dovetail_run/{OUTPUT}" 2>&1 || exit 126\n'
    job = "${PBS_JOBID:-$SLURM_JOB_ID}"
    return ScriptWords(
        system="PBS",
        job="$dovetail_job",
        restarts="0",
        node=shlex.quote(there.own_name),
        element="$PBS_ARRAY_INDEX",
        opening=f"dovetail_job={job}\ndovetail_job=${{dovetail_job%%[!0-9]*}}\n{output}",
    )


def _chunk(spec: Workload, there: Description, settings: PbsSettings) -> Chunk:
    memory_mib = math.ceil((spec.resources.memory or settings.least_memory) / _MIB)
    asked = {"ncpus": str(max(1, math.ceil(spec.resources.cpu))), "mem": f"{memory_mib}mb"}
    if spec.resources.gpu:
        asked["ngpus"] = str(int(spec.resources.gpu))
    for name, amount in sorted(spec.resources.amounts().items()):
        if name.startswith(EXTENDED):
            asked[name.removeprefix(EXTENDED)] = str(amount)
    return Chunk(1, asked | {"vnode": there.own_name})


def _walltime_s(assignment: Assignment, there: Description, settings: PbsSettings) -> int | None:
    """With time for a member of a gang to wait for the others, as far as the queue allows that."""
    run_for_s = assignment.spec.deadline.run_for
    if run_for_s is None:
        return None
    walltime_s = math.ceil(run_for_s) + 1  # the script enforces the limit to the second
    if assignment.gang is not None and settings.start_within_s is not None:
        walltime_s += math.ceil(settings.start_within_s)
    return walltime_s if there.max_minutes is None else min(walltime_s, there.max_minutes * 60)
