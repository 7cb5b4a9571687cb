"""Slurm's accounting for tests: a slurmdbd over a MariaDB of its own, in a folder of Slurm's.

The database is made anew, listens on the loopback and lets in one user, with a password of its own. What is written on
disk is not waited for: it lasts as long as the test.
"""

import secrets
import socket
import subprocess
from pathlib import Path

from tests.servers.daemon import Daemon, free_ports

DATABASE, USER = "accounting", "slurm"

SETTINGS = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
{tokens}
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database_port}
StorageUser={user}
StoragePass={password}
StorageLoc={database}
"""
WELCOME = """\
CREATE DATABASE {database};
CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY '{password}';
CREATE USER '{user}'@'localhost' IDENTIFIED BY '{password}';
GRANT ALL ON {database}.* TO '{user}'@'127.0.0.1', '{user}'@'localhost';
"""
QUICK = ("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M")


class Accounting:
    """`settings`: what slurm.conf says of it. Started after munged and before slurmctld."""

    def __init__(self, folder: Path, environment: dict[str, str], tokens: str) -> None:
        self.port, database_port = free_ports(2)
        self.settings = "\n".join(
            (
                "AccountingStorageType=accounting_storage/slurmdbd",
                "AccountingStorageHost=127.0.0.1",
                f"AccountingStoragePort={self.port}",
                f"AccountingStoragePass={folder}/munge.sock",
                "MinJobAge=2",  # the controller forgets soon, so that there is something to look up
            )
        )
        self._folder, self._data = folder, folder / "database"
        self._database_port = database_port
        password = secrets.token_hex(16)
        asked = {"user": USER, "password": password, "database": DATABASE}
        welcome = folder / "welcome.sql"
        welcome.write_text(WELCOME.format(**asked))
        own = folder / "slurmdbd.conf"
        own.touch(mode=0o600)
        host = socket.gethostname().split(".")[0]
        said = SETTINGS.format(
            folder=folder, tokens=tokens, host=host, port=self.port, database_port=database_port, **asked
        )
        own.write_text(said)
        files = ("--no-defaults", "--user=root", f"--datadir={self._data}", f"--socket={folder}/database.sock")
        ours = (f"--pid-file={folder}/database.pid", f"--init-file={welcome}", f"--port={database_port}")
        self._database = Daemon("mariadbd", ["mariadbd", *files, *ours, "--bind-address=127.0.0.1", *QUICK], folder)
        self._daemon = Daemon("slurmdbd", ["slurmdbd", "-D"], folder, environment)

    def start(self) -> None:
        made = ("--no-defaults", "--user=root", f"--datadir={self._data}", "--skip-test-db")
        command = ["mariadb-install-db", *made, "--auth-root-authentication-method=normal"]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"no database could be made: {done.stdout}{done.stderr}"
        self._database.start(ready=lambda: _listens(self._database_port))
        self._daemon.start(ready=lambda: _listens(self.port))

    def stop(self) -> None:
        self._daemon.stop()
        self._database.stop()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
