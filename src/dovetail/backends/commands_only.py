"""Refuses workloads that are not plain commands, for backends that run neither images nor virtual machines."""

from dovetail.backends.contract import WorkloadRefusal
from dovetail.model.workloads.workload import Workload, WorkloadKind


def refuse_all_but_commands(spec: Workload, backend: str) -> None:
    """`backend` is its name in the refusal, such as `the local backend`."""
    label = f"workload {spec.name!r}"
    if spec.kind is not WorkloadKind.JOB:
        raise WorkloadRefusal(f"{label} is of kind {spec.kind}; {backend} runs kind job only")
    if spec.run.image is not None:
        raise WorkloadRefusal(f"{label} wants the image {spec.run.image!r}; {backend} runs commands without images")
    if not spec.run.command or not spec.run.command[0]:
        raise WorkloadRefusal(f"{label} has no command; write run: {{command: [program, argument, …]}}")
