"""The options that describe one job: for `submit` and `run`, and for `#DOVETAIL` lines of scripts.

Guarantees: each option is written once, here. `takes_job_options` gives them to a command; `read_options` reads them
from words. Left to others: checking the values, which the workload model does.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import click

from dovetail.cli.terminal.commands import command_of
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.options import Cpu, Disk, Gpu, Memory, resources
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.workloads.clock_time import time_limit

_LISTS = ("after", "label", "env", "gpu_model")
_NOTHING: tuple[object, ...] = (None, [], ())


@dataclass(frozen=True, slots=True)
class JobOptions:
    """None: not given."""

    name: Annotated[str | None, Option(metavar="NAME", help="Its name; made up if left out.")] = None
    namespace: Annotated[str | None, Option("--namespace", "-n", metavar="NAMESPACE", help="Its namespace.")] = None
    queue: Annotated[str | None, Option("--queue", "-q", metavar="PATH", help="Its queue.")] = None
    user: Annotated[str | None, Option(metavar="NAME", help="Its user; $USER if left out.")] = None
    cpu: Cpu = None
    memory: Memory = None
    disk: Disk = None
    gpu: Gpu = None
    gpu_model: Annotated[list[str] | None, Option(metavar="MODEL", help="An accepted model of GPU; best first.")] = None
    time: Annotated[str | None, Option("--time", "-t", metavar="TIME", help="Time limit: 90m, 1h30m or 1:30:00.")] = (
        None
    )
    replicas: Annotated[int | None, Option(metavar="N", help="How many tasks.")] = None
    array: Annotated[
        str | None,
        Option("--array", "-a", metavar="INDICES", help="A task for each index: 0-9, 1,3,7; %2: two at once."),
    ] = None
    after: Annotated[
        list[str] | None, Option(metavar="NAME", help="Start after it succeeded; NAME:finished: just ended.")
    ] = None
    workdir: Annotated[
        str | None, Option("--workdir", "-D", metavar="DIR", help="Where it runs; here if left out.")
    ] = None
    image: Annotated[str | None, Option(metavar="IMAGE", help="Run it in a container of this image.")] = None
    priority: Annotated[str | None, Option(metavar="WORD", help="critical, high, medium, low, batch.")] = None
    profile: Annotated[str | None, Option(metavar="PROFILE", help="How to decide.")] = None
    retries: Annotated[int | None, Option(metavar="N", help="Tries after a failure.")] = None
    label: Annotated[list[str] | None, Option("--label", "-l", metavar="K=V", help="Set a label.")] = None
    env: Annotated[list[str] | None, Option("--env", "-e", metavar="K=V", help="Set a variable.")] = None
    stdin: Annotated[bool | None, Option(help="Keep its input open, for dovetail attach.")] = None

    def given(self) -> list[str]:
        """The options that were given, as they are typed."""
        return [f"--{one.name.replace('_', '-')}" for one in fields(self) if getattr(self, one.name) not in _NOTHING]

    def over(self, other: "JobOptions") -> "JobOptions":
        """Both together. Of an option that both give this one counts; lists are joined."""
        found: dict[str, Any] = {}
        for one in fields(self):
            mine, others = getattr(self, one.name), getattr(other, one.name)
            found[one.name] = [*(others or []), *(mine or [])] or None if one.name in _LISTS else mine or others
        return replace(self, **found)

    def workload(self) -> dict[str, Any]:
        """As fields of a workload, without its command. Raises Failure for what cannot be such a field."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "queue": self.queue,
            "user": self.user,
            "labels": _pairs("--label", self.label),
            "priority": self.priority,
            "profile": self.profile,
            "replicas": self.replicas,
            "array": self.array,
            "retries": self.retries,
            "resources": {
                **resources(self.cpu, self.memory, self.disk, self.gpu),
                "gpu_model": list(self.gpu_model or ()),
            },
            "after": [_dependency(text) for text in self.after or []],
            "deadline": {"run_for": None if self.time is None else time_limit(self.time)},
            "run": {
                "image": self.image,
                "workdir": self._workdir(),
                "env": _pairs("--env", self.env),
                "stdin": self.stdin,
            },
        }

    def _workdir(self) -> str | None:
        """From the root, as a shell here would understand it; inside an image, as it is written."""
        if self.workdir is None or self.image is not None:
            return self.workdir
        return str(Path.cwd() / self.workdir)


NO_OPTIONS = JobOptions()


def _pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    for assignment in given or ():
        if "=" not in assignment:
            raise Failure(f"{option} {assignment}: write it as NAME=VALUE", ExitCode.USAGE)
    return dict(assignment.split("=", 1) for assignment in given or ())


def _dependency(text: str) -> dict[str, str]:
    name, colon, condition = text.partition(":")
    return {"workload": name, "condition": condition} if colon else {"workload": name}


def takes_job_options(function: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of a job in place of its parameter `job`."""
    own = inspect.signature(function)
    options = inspect.signature(JobOptions).parameters
    parameters = []
    for one in own.parameters.values():
        parameters += list(options.values()) if one.name == "job" else [one]

    @wraps(function)
    def command(**given: Any) -> None:
        job = JobOptions(**{name: given.pop(name) for name in options})
        function(job=job, **given)

    ordered = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    command.__signature__ = own.replace(parameters=ordered)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in ordered}
    return command


def _only_parsed(job: JobOptions) -> None:
    """A command that has the options of a job and does nothing."""


def read_options(words: Sequence[str]) -> JobOptions:
    """The options in these words. Raises ValueError for anything else."""
    command = command_of(takes_job_options(_only_parsed), "#DOVETAIL")
    try:
        context = command.make_context("#DOVETAIL", list(words), help_option_names=[])
    except click.UsageError as error:
        raise ValueError(error.format_message()) from None
    return JobOptions(**context.params)
