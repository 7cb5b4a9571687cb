"""What a task executes: a command or an image, with its variables, directories and volumes."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import AtField, Strict, shared, shown, text_format
from dovetail.model.workloads.limits import MAX_ARGUMENT_BYTES, MAX_ENV, MAX_LIST, MAX_RUN_BYTES
from dovetail.model.workloads.selection import AS_TEXT

MAX_PATH = 4096
_VOLUME_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("must be printable text")
    return value


Printable = Annotated[str, AfterValidator(_printable), text_format("printable")]
#: A command-line word or variable value; numbers and booleans are taken as written.
Word = Annotated[str, AS_TEXT, Field(max_length=MAX_ARGUMENT_BYTES), text_format("argument")]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=1000)]


class SimulatedRun(Strict):
    """The behaviour on the simulated backend; other backends ignore it."""

    run_time: Duration | None = None
    exit_code: Annotated[Count, Field(le=255)] = 0


class Volume(Strict):
    """A mount of a container at `target`: a directory of the node (absolute path) or a named volume of the node; in
    Kubernetes a claim. The data of a node stays on that node."""

    source: Annotated[Printable, Field(min_length=1, max_length=4096)]
    target: Annotated[Printable, Field(min_length=1, max_length=4096)]
    read_only: bool = False

    @model_validator(mode="after")
    def _check_paths(self) -> Self:
        for field, path in (("source", self.source), ("target", self.target)):
            if ".." in path.split("/"):
                raise AtField((field,), "leads upwards with '..'; write the path that is meant")
        if not (self.source.startswith("/") or _VOLUME_NAME.fullmatch(self.source)):
            words = "is neither an absolute path nor a name of letters, digits, '_', '.' and '-'"
            raise AtField(("source",), f"{shown(self.source)} {words}")
        if not self.target.startswith("/") or not self.target.strip("/"):
            raise AtField(("target",), f"{shown(self.target)} is not a folder of the container; write it as /folder")
        return self


class Run(Strict):
    """What to execute. Volumes need an image, and a backend that runs containers. `submit_dir`: the directory of the
    caller; commands without `workdir` run there, where the machine has it. `stdin`: its input stays open, so that users
    can attach and write to it; else it reads nothing."""

    command: Annotated[list[Word], Field(max_length=MAX_LIST)] = shared([])
    image: Annotated[Printable, Field(min_length=1, max_length=500)] | None = None
    env: Annotated[dict[VariableName, Word], Field(max_length=MAX_ENV)] = shared({})
    workdir: Annotated[str, Field(min_length=1, max_length=MAX_PATH)] | None = None
    submit_dir: Annotated[str, Field(max_length=MAX_PATH, pattern="^/")] | None = None
    volumes: Annotated[list[Volume], Field(max_length=100)] = shared([])
    stdin: bool = False
    simulate: SimulatedRun | None = None

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        """What Linux cannot start is refused here, and not on a node."""
        sizes = [len(word.encode(errors="surrogatepass")) for word in self.command]
        sizes += [len(f"{name}={value}".encode(errors="surrogatepass")) for name, value in self.env.items()]
        if max(sizes, default=0) > MAX_ARGUMENT_BYTES:
            words = f"an argument or variable has {max(sizes)} bytes; Linux takes at most {MAX_ARGUMENT_BYTES}"
            raise ValueError(f"{words}: put the text into a file")
        if sum(sizes) > MAX_RUN_BYTES:
            words = f"command and env have {sum(sizes)} bytes together; at most {MAX_RUN_BYTES} are accepted"
            raise ValueError(f"{words}: put long texts into files")
        return self

    @model_validator(mode="after")
    def _check_no_nul(self) -> Self:
        for text in (*self.command, *self.env.values(), self.workdir or "", self.submit_dir or ""):
            if "\0" in text:
                raise ValueError("command, env and directories cannot hold a NUL character")
        return self

    @model_validator(mode="after")
    def _check_volumes(self) -> Self:
        seen: set[str] = set()
        for index, volume in enumerate(self.volumes):
            if self.image is None:
                raise AtField(("volumes",), "are what a container finds inside it; give run.image as well")
            target = volume.target.rstrip("/")
            if target in seen:
                raise AtField(("volumes", index, "target"), f"{target!r} is given twice; a target takes one volume")
            seen.add(target)
        return self
