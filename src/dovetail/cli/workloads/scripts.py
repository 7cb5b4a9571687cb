"""Scripts with directives: `dovetail submit job.sh`.

The text of the script is sent along, as sbatch does, so the machines that run it need not have the file. Directives are
the lines that begin with `#DOVETAIL` (options of `dovetail submit`) or `#SBATCH` (options of sbatch, see
`sbatch_options`) before the first command. The command line wins over `#DOVETAIL`, that over `#SBATCH`.

Guarantees: a directive is followed, or named with its line in a warning or an error.
"""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.workloads.job_options import JobOptions, read_options
from dovetail.cli.workloads.sbatch_options import SbatchDirectives

OURS, SLURMS = "#DOVETAIL", "#SBATCH"
MAX_BYTES = 120_000  # Linux takes 128 KiB as one argument of a program
_SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh", "mksh")
_SCRIPT_FLAGS = {"python": "-c", "perl": "-e", "ruby": "-e", "node": "-e"}  # they take a script as an argument
#: Gives a script of Slurm the variables that differ from task to task. Inside a real job of Slurm its own ids stay.
_SLURM_VARIABLES = """\
: "${SLURM_JOB_ID:=${DOVETAIL_TASK%%.*}}"; export SLURM_JOB_ID
[ -z "${DOVETAIL_ARRAY_INDEX+x}" ] ||
    export SLURM_ARRAY_TASK_ID="$DOVETAIL_ARRAY_INDEX" SLURM_ARRAY_JOB_ID="$SLURM_JOB_ID"
exec "$@"
"""


@dataclass(slots=True)
class Script:
    """A script as it was read: what its directives ask for, and the command that runs it anywhere."""

    path: Path
    options: JobOptions
    command: list[str]
    warnings: list[str] = field(default_factory=list)


def is_script(word: str) -> bool:
    """Whether it is a file with directives, or one that begins with `#!` and cannot be run by itself."""
    path = Path(word)
    if not path.is_file():
        return False
    text = _text(path)
    has_interpreter = text.startswith("#!")
    if not has_interpreter and (path.suffix == ".sh" or _directives(text)):
        words = f"{word}: the first line does not say what runs it; write #!/bin/bash there"
        raise Failure(f"{words} (to run a program of that name: dovetail submit -- env {word})", ExitCode.USAGE)
    return has_interpreter and (bool(_directives(text)) or not os.access(path, os.X_OK))


def read_script(word: str, arguments: Sequence[str]) -> Script:
    """Raises Invalid with every directive that is wrong, Failure for a script that cannot be sent."""
    from dovetail.model.text.complaint import Complaint, Invalid

    path = Path(word)
    text = _text(path)
    directives, first_command = _directives(text), _first_command(text)
    ours, slurms = JobOptions(), SbatchDirectives()
    complaints: list[Complaint] = []
    warnings: list[str] = []
    for line, kind, words in directives:
        if line > first_command:
            warnings.append(f"{word}:{line}: {kind} after the first command is not read; move it up")
            continue
        try:
            if kind == OURS:
                ours = read_options(shlex.split(words, comments=True)).over(ours)
            else:
                slurms.read(shlex.split(words, comments=True))
        except ValueError as error:
            complaints.append(Complaint(word, line, kind, str(error)))
        warnings += [f"{word}:{line}: {note}" for note in slurms.notes]
        slurms.notes.clear()
    if complaints:
        raise Invalid(complaints)
    options, command = ours.over(slurms.options()), _command(path, text, arguments)
    if any(kind == SLURMS for _, kind, _ in directives):
        command = ["/bin/sh", "-c", _SLURM_VARIABLES, path.name, *command]
        options = options.over(JobOptions(env=_slurm_variables(options)))
    return Script(path, options, command, warnings)


def _slurm_variables(options: JobOptions) -> list[str]:
    known = {"SLURM_SUBMIT_DIR": str(Path.cwd()), "SLURM_JOB_NAME": options.name, "SLURM_CPUS_PER_TASK": options.cpu}
    return [f"{name}={value}" for name, value in known.items() if value is not None]


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if content.startswith(b"#!") and len(content) > MAX_BYTES and b"\0" not in content:
        words = (
            f"{path}: longer than {MAX_BYTES} bytes, too long to be sent; put it where the nodes have it, and call it"
        )
        raise Failure(f"{words}: dovetail submit -- env /path/to/{path.name}", ExitCode.USAGE)
    return "" if b"\0" in content else content.decode("utf-8", "replace")


def _directives(text: str) -> list[tuple[int, str, str]]:
    """Line, kind and words of each."""
    return [
        (number, kind, line.removeprefix(kind))
        for number, line in enumerate(text.splitlines(), start=1)
        for kind in (OURS, SLURMS)
        if line.startswith(kind) and line[len(kind) : len(kind) + 1] in ("", " ", "\t")
    ]


def _first_command(text: str) -> int:
    """The line of the first command, after which sbatch reads no directives."""
    lines = text.splitlines()
    commands = (number for number, line in enumerate(lines, start=1) if line.strip() and not line.startswith("#"))
    return next(commands, len(lines) + 1)


def _command(path: Path, text: str, arguments: Sequence[str]) -> list[str]:
    interpreter = shlex.split(text.splitlines()[0].removeprefix("#!"))
    words = interpreter[1:] if interpreter and Path(interpreter[0]).name == "env" else interpreter
    program = Path(next((word for word in words if not word.startswith("-")), "")).name
    interpreter = [word for word in interpreter if word != "-S"]  # env splits the line; that is done already
    if program in _SHELLS:
        return [*interpreter, "-c", text, path.name, *arguments]
    for name, flag in _SCRIPT_FLAGS.items():
        if program.rstrip("0123456789.") == name:
            return [*interpreter, flag, text, *arguments]
    why = f"{path}:1: {program or 'its first line'} takes no script as an argument, so it cannot be sent"
    raise Failure(f"{why}; put it where the nodes have it: dovetail submit -- env {path}", ExitCode.USAGE)
