"""The AWS Lambda backend."""

from pathlib import Path

from dovetail.backends.aws_lambda.functions import LambdaFunctions
from dovetail.backends.aws_lambda.settings import LambdaSettings
from dovetail.backends.serverless.backend import FunctionBackend


class LambdaBackend(FunctionBackend):
    """Implements `Backend` of the contract."""

    def __init__(self, name: str, settings: LambdaSettings, folder: Path) -> None:
        super().__init__(name, settings, folder, LambdaFunctions(name, settings))
