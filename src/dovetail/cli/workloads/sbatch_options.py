"""Options of sbatch as options of a job: what is understood, what has no use here, and everything else by name.

Guarantees: every word of a directive is used, or named in a warning with what becomes of it, or an error. The table
below is what `dovetail submit --directives` and `docs/submitting.md` list.
"""

import argparse
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from dovetail.cli.workloads.clock_time import clock_time
from dovetail.cli.workloads.job_options import JobOptions

_MEMORY_UNITS = {"K": "KiB", "M": "MiB", "G": "GiB", "T": "TiB"}
_CONDITIONS = {"afterok": "succeeded", "afterany": "finished"}


class SbatchOption(NamedTuple):
    """`meaning`: what it becomes."""

    names: tuple[str, ...]
    metavar: str
    meaning: str


UNDERSTOOD = (
    SbatchOption(("--job-name", "-J"), "NAME", "--name"),
    SbatchOption(("--partition", "-p"), "NAME", "--queue"),
    SbatchOption(("--time", "-t"), "TIME", "--time; a number alone is minutes"),
    SbatchOption(("--ntasks", "-n"), "N", "cores: the script runs once, with N times --cpus-per-task cores"),
    SbatchOption(("--ntasks-per-node",), "N", "the same as --ntasks"),
    SbatchOption(("--cpus-per-task", "-c"), "N", "--cpu"),
    SbatchOption(("--nodes", "-N"), "1", "nothing to do; more than one node is an error"),
    SbatchOption(("--mem",), "SIZE", "--memory; a number alone is MiB"),
    SbatchOption(("--mem-per-cpu",), "SIZE", "--memory, times the cores"),
    SbatchOption(("--gpus", "-G"), "[MODEL:]N", "--gpu and --gpu-model"),
    SbatchOption(("--gpus-per-node",), "[MODEL:]N", "the same as --gpus"),
    SbatchOption(("--gres",), "gpu:[MODEL:]N", "the same as --gpus; other resources are an error"),
    SbatchOption(("--array", "-a"), "INDICES", "--array; the index is in SLURM_ARRAY_TASK_ID, too"),
    SbatchOption(("--dependency", "-d"), "afterok:NAME", "--after; also afterany:NAME; names, not job ids"),
    SbatchOption(("--chdir", "-D"), "DIR", "--workdir"),
    SbatchOption(("--export",), "NAMES", "--env: NAME=VALUE, or NAME with its value here; NONE is the rule here"),
)
#: Understood and not followed: what happens instead.
NOT_USED = {
    ("--output", "-o"): "`dovetail logs` shows the output",
    ("--error", "-e"): "`dovetail logs` shows it with the output",
    ("--account", "-A"): "shares belong to the queue, the namespace and the user",
    ("--qos", "-q"): "limits belong to the queue",
    ("--mail-type",): "no mail is sent; hooks of the server can do that",
    ("--mail-user",): "no mail is sent; hooks of the server can do that",
    ("--open-mode",): "each attempt has its own output",
}


@dataclass(slots=True)
class SbatchDirectives:
    """What was read. `notes`: what is not followed, a line each."""

    values: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def read(self, words: Sequence[str]) -> None:
        """Take the words of one directive. Raises ValueError, and then takes nothing."""
        found, unknown = _parser().parse_known_args(list(words))
        given = {name: value for name, value in vars(found).items() if value is not None}
        followed = {name: value for name, value in given.items() if name not in _INSTEAD}
        _job_options(self.values | followed)
        self.values |= followed
        unused = [name for name in given if name in _INSTEAD]
        self.notes += [f"--{name.replace('_', '-')} is not followed: {_INSTEAD[name]}" for name in unused]
        if "ALL" in followed.get("export", "").split(","):
            self.notes.append("--export=ALL is not followed: name the variables that it needs, as --export=A,B")
        if unknown:
            self.notes.append(f"not understood and not followed: {' '.join(unknown)}")

    def options(self) -> JobOptions:
        return _job_options(self.values)


def _job_options(values: Mapping[str, str]) -> JobOptions:
    cores = _cores(values)
    gpus, models = _gpus(values)
    return JobOptions(
        name=values.get("job_name"),
        queue=values.get("partition"),
        time=None if "time" not in values else clock_time(values["time"]),
        cpu=None if cores is None else str(cores),
        memory=_memory(values, cores or 1),
        gpu=gpus,
        gpu_model=models,
        array=values.get("array"),
        after=_after(values.get("dependency")),
        workdir=values.get("chdir"),
        env=_exported(values.get("export", "NONE")),
    )


def _exported(listed: str) -> list[str]:
    """Variables with their values, those that are only named with the value that they have here."""
    words = [word for word in listed.split(",") if word and word not in ("ALL", "NONE", "NIL")]
    return [word if "=" in word else f"{word}={os.environ.get(word, '')}" for word in words]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _parser() -> _Parser:
    parser = _Parser(prog="#SBATCH", add_help=False, allow_abbrev=False)
    for option in UNDERSTOOD:
        parser.add_argument(*option.names, metavar=option.metavar)
    for names in NOT_USED:
        parser.add_argument(*names)
    return parser


_INSTEAD = {names[0].removeprefix("--").replace("-", "_"): words for names, words in NOT_USED.items()}


def _whole(values: Mapping[str, str], name: str) -> int:
    """1 where it is not given."""
    text = values.get(name, "1")
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) < 10):
        raise ValueError(f"--{name.replace('_', '-')}={text}: not a whole number above 0")
    return int(text)


def _cores(values: Mapping[str, str]) -> int | None:
    if _whole(values, "nodes") > 1:
        words = "a script runs on one node here; write a workload with replicas and gang, see docs/gangs.md"
        raise ValueError(f"--nodes={values['nodes']}: {words}")
    if not {"ntasks", "ntasks_per_node", "cpus_per_task"} & values.keys():
        return None
    return max(_whole(values, "ntasks"), _whole(values, "ntasks_per_node")) * _whole(values, "cpus_per_task")


def _memory(values: Mapping[str, str], cores: int) -> str | None:
    whole, each = values.get("mem"), values.get("mem_per_cpu")
    if whole is None and each is None:
        return None
    number, unit = _size(whole if whole is not None else each or "")
    return f"{number if whole is not None else number * cores}{unit}"


def _size(text: str) -> tuple[int, str]:
    digits, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "M")
    if unit not in _MEMORY_UNITS or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{text}: not a size of memory; write 512M or 64G")
    return int(digits), _MEMORY_UNITS[unit]


def _gpus(values: Mapping[str, str]) -> tuple[str | None, list[str]]:
    text = values.get("gpus", values.get("gpus_per_node"))
    if text is None and "gres" in values:
        kind, colon, text = values["gres"].partition(":")
        if kind != "gpu" or "," in values["gres"]:
            raise ValueError(f"--gres={values['gres']}: only gpu:N and gpu:MODEL:N are understood")
        text = text if colon else "1"
    if text is None:
        return None, []
    model, _, number = text.rpartition(":")
    if not number.isdigit() and not model:
        return "1", [number]
    return number, [model] if model else []


def _after(text: str | None) -> list[str]:
    found = []
    for part in (text or "").split(","):
        condition, *names = part.split(":")
        if part and (condition not in _CONDITIONS or not names or any(name.isdigit() for name in names)):
            raise ValueError(f"--dependency={part}: write afterok:NAME or afterany:NAME with names of workloads")
        found += [f"{name}:{_CONDITIONS[condition]}" for name in names]
    return found


def listed_options() -> str:
    """What is understood and what is not followed, as a table of 80 columns."""
    rows = [(", ".join(one.names) + f" {one.metavar}", one.meaning) for one in UNDERSTOOD]
    unused = [(", ".join(names), words) for names, words in NOT_USED.items()]
    width = max(len(left) for left, _ in (*rows, *unused)) + 2

    def table(some: Sequence[tuple[str, str]]) -> list[str]:
        lines = []
        for left, right in some:
            wrapped = textwrap.wrap(right, 80 - width - 2)
            lines += [f"  {left.ljust(width)}{wrapped[0]}", *(f"  {'':{width}}{more}" for more in wrapped[1:])]
        return lines

    head = "#DOVETAIL lines take the options of `dovetail submit`, #SBATCH lines these:"
    ends = "Any other option is named in a warning and not followed."
    return "\n".join([head, *table(rows), "Not followed; what happens instead:", *table(unused), ends])
