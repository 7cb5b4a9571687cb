"""Turns an assignment into the order for its supervisor, and refuses what this backend cannot run.

The command gets a clean environment: PATH, HOME, LANG and TMPDIR of the control plane, the workload's own variables,
those of `Assignment.variables` and, if it has GPUs, CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES: their UUIDs if the
settings give them, else their numbers. A share of a GPU is not enforced: the task sees the whole GPU.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dovetail.backends.commands_only import refuse_all_but_commands
from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.local.enforcement import Enforcement
from dovetail.backends.local.supervisor import WORK, pack
from dovetail.model.device import Device
from dovetail.model.text.quantity import format_duration


def refuse_what_cannot_run(assignment: Assignment, node: str) -> None:
    if assignment.node != node:
        raise Refusal(f"this backend has the node {node!r}, not {assignment.node!r}")
    refuse_all_but_commands(assignment.spec, "the local backend")


def write_order(
    assignment: Assignment, run: Path, enforcement: Enforcement, usual_grace_s: float, devices: Sequence[Device] = ()
) -> bytes:
    """The workload's grace period takes precedence over `usual_grace_s`."""
    spec = assignment.spec
    grace_s = usual_grace_s if spec.disruption.grace is None else spec.disruption.grace
    pairs = [("arg", argument) for argument in spec.run.command]
    pairs += [("env", f"{name}={value}") for name, value in _environment(assignment, devices).items()]
    pairs += [*_workdir(assignment, run / WORK), ("grace_s", repr(float(grace_s)))]
    if spec.run.stdin:
        pairs.append(("stdin", "open"))
    if spec.deadline.run_for is not None:
        pairs += [
            ("run_for_s", repr(float(spec.deadline.run_for))),
            ("run_for", format_duration(spec.deadline.run_for)),
        ]
    return pack(pairs + enforcement.orders(assignment.key, spec.limits))


def _workdir(assignment: Assignment, own: Path) -> list[tuple[str, str]]:
    """Where it runs: where the workload says, else where it was submitted if this machine has that, else `own`."""
    given = assignment.spec.run
    if given.workdir is not None or given.submit_dir is None:
        return [("workdir", str(own / (given.workdir or "")))]
    if os.path.isdir(given.submit_dir) and os.access(given.submit_dir, os.X_OK):  # noqa: PTH112 - never raises
        return [("workdir", given.submit_dir)]
    words = f"dovetail: {given.submit_dir}, where it was submitted, is not on {assignment.node}; it runs in {own}"
    return [("workdir", str(own)), ("note", words)]


def _environment(assignment: Assignment, devices: Sequence[Device]) -> dict[str, str]:
    visible = ",".join(assignment.device_ids(devices))
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "TMPDIR": tempfile.gettempdir(),
        **assignment.spec.run.env,
        **assignment.variables(),
        **({"CUDA_VISIBLE_DEVICES": visible, "NVIDIA_VISIBLE_DEVICES": visible} if visible else {}),
    }
