"""Are the library and the program there that these settings need? No controller is asked."""

import shutil
from importlib.util import find_spec

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.metal.settings import MetalSettings


def check_programs(settings: MetalSettings) -> None:
    """Raises UnusableSetting."""
    for index, machine in enumerate(settings.machines):
        field = f"machines[{index}].bmc"
        if machine.bmc.redfish is not None and find_spec("sushy") is None:
            words = "the server lacks the library sushy: pip install 'dovetail-scheduler[redfish]'"
            raise UnusableSetting(f"{field}.redfish", words)
        if machine.bmc.ipmi is not None and shutil.which(settings.ipmitool) is None:
            words = f"the server does not find the program {settings.ipmitool}: apt-get install ipmitool"
            raise UnusableSetting(f"{field}.ipmi", words)
