"""Are the commands, or the socket, there that these settings need? A server behind a network is not asked."""

import shutil
from pathlib import Path

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.slurm.settings import SlurmSettings

COMMANDS = ("sbatch", "scontrol", "scancel")


def check_commands(settings: SlurmSettings) -> None:
    """Raises UnusableSetting if nothing here could talk to Slurm."""
    if settings.url is None:
        missing = [name for name in COMMANDS if shutil.which(name) is None]
        if missing:
            words = f"is not given, and the server does not find Slurm's commands ({', '.join(missing)}) in its PATH"
            raise UnusableSetting("url", f"{words}: install them, or give the url of slurmrestd")
    elif settings.url.startswith("unix:"):
        path = Path(settings.url.removeprefix("unix:"))
        if not path.is_socket():
            words = f"there is no socket {path} on the machine of the server: start slurmrestd, or correct the path"
            raise UnusableSetting("url", words)
    if settings.conf is not None and not Path(settings.conf).is_file():
        words = f"there is no file {settings.conf} on the machine of the server: give the path of slurm.conf"
        raise UnusableSetting("conf", words)
