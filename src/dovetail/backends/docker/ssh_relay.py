"""A local socket behind which every connection is one `ssh host docker system dial-stdio`.

This is how Docker's own client does it: logins, keys, agents and host keys are ssh's business, and the host needs
nothing but its `docker` program. Guarantees: the socket is this user's alone and goes away with the relay, and so do
the ssh processes; what ssh complained of last is kept for the error message.
"""

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from dovetail.backends.docker.settings import HostSettings

BLOCK_BYTES = 64 * 1024
LAST_WORDS_CHARACTERS = 500
CONNECT_S = 10


def ssh_command(settings: HostSettings) -> list[str]:
    """Never asks for a password: there is nobody to type one."""
    parts, ssh = urlsplit(settings.url), settings.ssh
    command = [ssh.program, "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"]
    if ssh.identity is not None:
        command += ["-i", ssh.identity, "-o", "IdentitiesOnly=yes"]
    if ssh.known_hosts is not None:
        command += ["-o", f"UserKnownHostsFile={ssh.known_hosts}", "-o", "StrictHostKeyChecking=yes"]
    command += ssh.options
    if parts.port is not None:
        command += ["-p", str(parts.port)]
    if parts.username is not None:
        command += ["-l", parts.username]
    assert parts.hostname is not None
    return [*command, "--", parts.hostname, *ssh.command]


class SshRelay:
    def __init__(self, settings: HostSettings) -> None:
        self.last_words = ""
        self._command = ssh_command(settings)
        self._folder: Path | None = None
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()

    async def open(self) -> Path:
        self._folder = Path(tempfile.mkdtemp(prefix="dovetail-ssh-"))  # in a short place: socket paths are short
        path = self._folder / "engine.sock"
        self._server = await asyncio.start_unix_server(self._accept, path)
        return path

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._closing.set()
        while self._serving:  # not cancelled: each has a process to end and to wait for
            await asyncio.gather(*self._serving, return_exceptions=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pipe = asyncio.subprocess.PIPE
        try:
            ssh = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            self.last_words = f"cannot run {self._command[0]}: {error.strerror}"
            writer.close()
            return
        assert ssh.stdin is not None
        assert ssh.stdout is not None
        assert ssh.stderr is not None
        there = asyncio.create_task(_pass_on(reader, ssh.stdin))
        back = asyncio.create_task(_pass_on(ssh.stdout, writer))
        words = asyncio.create_task(self._listen(ssh.stderr))
        closing = asyncio.create_task(self._closing.wait())
        await asyncio.wait({there, back, closing}, return_when=asyncio.FIRST_COMPLETED)
        if back.done():
            await asyncio.wait({words}, timeout=1)  # it has ended: with what words?
        with contextlib.suppress(ProcessLookupError):
            ssh.kill()
        tasks = (there, back, words, closing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.close()
        await ssh.wait()

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while line := await stderr.readline():
            if text := line.decode(errors="replace").strip():
                self.last_words = text[:LAST_WORDS_CHARACTERS]


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, OSError):
        while block := await reader.read(BLOCK_BYTES):
            writer.write(block)
            await writer.drain()
