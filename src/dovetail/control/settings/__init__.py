"""The settings of a server: a YAML file and variables, checked as a whole; and the secrets in them.

Here belongs what an operator writes and how secrets of it are kept. Settings of the engine, of a backend or of a
subsystem are defined with those, and only checked here.
"""

from dovetail.control.settings.listening import DEFAULT_PORT, Listen, RequestLimits
from dovetail.control.settings.loading import load_settings
from dovetail.control.settings.server import REGISTERED, LoopSettings, RecordingSettings, Retention, Settings
from dovetail.control.settings.topology_file import TopologyFile, read_topology_file

__all__ = [
    "DEFAULT_PORT",
    "REGISTERED",
    "Listen",
    "LoopSettings",
    "RecordingSettings",
    "RequestLimits",
    "Retention",
    "Settings",
    "TopologyFile",
    "load_settings",
    "read_topology_file",
]
