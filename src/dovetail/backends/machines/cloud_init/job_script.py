"""The user data of a machine that runs one job: the runner, and the job as a literal. Pure.

The same assignment and nonce give the same text, so a launch that is repeated asks for the same machine.
"""

import hashlib
import hmac
from functools import cache
from importlib.resources import files

from dovetail.backends.commands_only import refuse_all_but_commands
from dovetail.backends.contract import Assignment, WorkloadRefusal
from dovetail.backends.machines.cloud_init.settings import CloudInitSettings
from dovetail.model.text.quantity import format_duration

USUAL_GRACE_S = 10.0
#: The trace of a task is no secret.
PUBLIC_VARIABLES = frozenset({"TRACEPARENT"})


@cache
def _runner() -> str:
    """Without its description, which costs room."""
    source = files(__package__).joinpath("runner.py").read_text(encoding="utf-8")
    return source.split('"""', 2)[2].lstrip()


def nonce_of(secret: bytes, key: str, token: str) -> str:
    """The word that lines of this attempt on that machine have. `token`: that of the machine's launch."""
    return hmac.new(secret, f"{key} {token}".encode(), hashlib.sha256).hexdigest()[:32]


def job_script(assignment: Assignment, nonce: str, linger_s: float) -> str:
    spec, run_for_s = assignment.spec, assignment.spec.deadline.run_for
    visible = ",".join(map(str, assignment.devices))
    gpus = {"CUDA_VISIBLE_DEVICES": visible, "NVIDIA_VISIBLE_DEVICES": visible} if visible else {}
    job = {
        "nonce": nonce,
        "command": spec.run.command,
        "env": {**spec.run.env, **assignment.variables(), **gpus},
        "workdir": spec.run.workdir,
        "submit_dir": spec.run.submit_dir,
        "run_for_s": run_for_s,
        "run_for": "" if run_for_s is None else format_duration(run_for_s),
        "grace_s": USUAL_GRACE_S if spec.disruption.grace is None else spec.disruption.grace,
        "linger_s": linger_s,
    }
    return f"#!/usr/bin/env python3\n{_runner()}\n\nmain({job!a})\n"


def refuse_what_needs_more(assignment: Assignment, backend: str, settings: CloudInitSettings, most_bytes: int) -> None:
    """Raises WorkloadRefusal for what a machine without an agent cannot run. `most_bytes`: of user data."""
    spec, label = assignment.spec, f"workload {assignment.spec.name!r}"
    runs = f"backend {backend} runs jobs by cloud-init alone"
    refuse_all_but_commands(spec, f"backend {backend}, which runs jobs by cloud-init alone,")
    if spec.service is not None:
        raise WorkloadRefusal(f"{label} is part of service {spec.service!r}; {runs}, and nobody can ask for its health")
    if spec.gang is not None or spec.roles or assignment.gang is not None:
        words = "its tasks could neither start together nor find each other"
        raise WorkloadRefusal(f"{label} is a gang; {runs}: {words}. Use a backend with agents")
    if spec.run.stdin:
        raise WorkloadRefusal(f"{label} has run.stdin; {runs}, and nobody can attach to them. Leave stdin out")
    given = sorted(spec.run.env.keys() - PUBLIC_VARIABLES)
    if given and not settings.plain_env:
        words = f"sets {', '.join(given[:3])}{' …' if len(given) > 3 else ''}; {runs}"
        raise WorkloadRefusal(
            f"{label} {words}, and user data is no place for secrets. If they are none, set cloud_init.plain_env"
        )
    size = len(job_script(assignment, "0" * 32, settings.linger))
    if size > most_bytes:
        words = f"makes {size} bytes of user data, and the cloud takes {most_bytes}"
        raise WorkloadRefusal(f"{label} {words}: put long texts into files that its command fetches")
