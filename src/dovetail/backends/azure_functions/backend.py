"""The Azure Functions backend."""

from pathlib import Path

from dovetail.backends.azure_functions.functions import AzureFunctions
from dovetail.backends.azure_functions.settings import AzureFunctionsSettings
from dovetail.backends.serverless.backend import FunctionBackend


class AzureFunctionsBackend(FunctionBackend):
    """Implements `Backend` of the contract."""

    def __init__(self, name: str, settings: AzureFunctionsSettings, folder: Path) -> None:
        super().__init__(name, settings, folder, AzureFunctions(name, settings))
