"""`dovetail snapshot`: the whole state as one file, of a server or of another cluster, for `dovetail simulate`."""

from pathlib import Path
from typing import Annotated

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say, write
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.screen import status_line
from dovetail.cli.terminal.server import Url, connect

TIMEOUT_S = 300.0
STDOUT = "-"


def command(
    file: Annotated[
        str, Option("--output", "-o", metavar="FILE|-", help="Where to write it; gzipped if it ends in .gz.")
    ] = STDOUT,
    kubernetes: Annotated[
        bool, Option("--kubernetes", help="Of a Kubernetes cluster instead: nodes, pods, PodGroups.")
    ] = False,
    kubeconfig: Annotated[
        str | None, Option(metavar="FILE", help="With --kubernetes: as kubectl reads it.  [default: $KUBECONFIG]")
    ] = None,
    context: Annotated[str | None, Option(metavar="NAME", help="With --kubernetes: of the kubeconfig.")] = None,
    slurm: Annotated[bool, Option("--slurm", help="Of a Slurm cluster instead, by its own commands.")] = False,
    slurm_conf: Annotated[
        Path | None, Option("--slurm-conf", metavar="FILE", help="With --slurm: its slurm.conf.")
    ] = None,
    url: Url = None,
) -> None:
    """Write everything that a simulation needs to go on from here: nodes, network, work, queues, policies, settings.

    It has no values of variables, no command lines, no tokens and no settings of backends. Decisions go on meanwhile.
    """
    if kubernetes and slurm:
        raise Failure("give --kubernetes or --slurm, not both", ExitCode.USAGE)
    with status_line("copying the state"):
        if kubernetes:
            data = _of_kubernetes(kubeconfig, context)
        elif slurm:
            data = _of_slurm(slurm_conf)
        else:
            with connect(url, TIMEOUT_S) as client:
                data = client.snapshot()
    _write(file, data)


def _of_kubernetes(kubeconfig: str | None, context: str | None) -> bytes:
    import asyncio

    from dovetail.cli.kubernetes.options import way_to
    from dovetail.kubernetes.snapshot import kubernetes_snapshot
    from dovetail.kubernetes_client.api import Api
    from dovetail.kubernetes_client.errors import KubernetesApiError
    from dovetail.snapshots.file import written

    access = way_to(kubeconfig, context)

    async def read() -> bytes:
        async with Api(access) as api:
            return written(await kubernetes_snapshot(api, context or ""))

    try:
        return asyncio.run(read())
    except KubernetesApiError as error:
        raise Failure(f"{access.server}: {error}") from None


def _of_slurm(conf: Path | None) -> bytes:
    import asyncio

    from dovetail.control.services.slurm_copy import SlurmUnreadable, slurm_snapshot
    from dovetail.snapshots.file import written

    try:
        return written(asyncio.run(slurm_snapshot(None if conf is None else str(conf))))
    except SlurmUnreadable as error:
        raise Failure(str(error)) from None


def _write(file: str, data: bytes) -> None:
    if file == STDOUT:
        write(data.decode())
        return
    if file.endswith(".gz"):
        import gzip

        data = gzip.compress(data, compresslevel=6, mtime=0)
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise Failure(f"{file}: cannot be written: {error.strerror or error}", ExitCode.USAGE) from None
    say(f"wrote {file}: {len(data):,} bytes")
