"""The settings of a server: a YAML file and variables, checked as a whole; and the secrets in them.

Here belongs what an operator writes and how secrets of it are kept. Settings of the engine, of a backend or of a
subsystem are defined with those, and only checked here.
"""

from dovetail.control.settings.listening import Listen, RequestLimits
from dovetail.control.settings.loading import load_settings
from dovetail.control.settings.server import REGISTERED, LoopSettings, Retention, Settings

__all__ = ["REGISTERED", "Listen", "LoopSettings", "RequestLimits", "Retention", "Settings", "load_settings"]
