"""Are the commands there that these settings need? Another host, and PBS itself, are not asked."""

import shutil
from pathlib import Path

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.pbs.settings import PbsSettings

COMMANDS = ("qsub", "qstat", "qdel", "pbsnodes")


def check_commands(settings: PbsSettings) -> None:
    """Raises UnusableSetting if nothing here could talk to PBS."""
    if settings.url is not None:
        if shutil.which(settings.ssh.program) is None:
            raise UnusableSetting("ssh.program", f"the server does not find {settings.ssh.program}: install it")
        return
    missing = [name for name in COMMANDS if shutil.which(name, path=settings.commands) is None]
    if missing and settings.commands is not None:
        words = f"{settings.commands} on the machine of the server has no {', '.join(missing)}"
        raise UnusableSetting("commands", f"{words}: give the folder of PBS's commands")
    if missing:
        words = f"is not given, and the server does not find PBS's commands ({', '.join(missing)}) in its PATH"
        raise UnusableSetting("commands", f"{words}: give their folder, or the url of a host that has them")
    if settings.conf is not None and not Path(settings.conf).is_file():
        words = f"there is no file {settings.conf} on the machine of the server: give the path of pbs.conf"
        raise UnusableSetting("conf", words)
