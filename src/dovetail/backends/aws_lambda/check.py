"""Is the library there with which AWS is spoken to? Whether AWS answers is found out when the backend starts."""

from importlib.util import find_spec

from dovetail.backends.aws_lambda.settings import LambdaSettings
from dovetail.backends.contract import UnusableSetting


def check_library(_: LambdaSettings) -> None:
    """Raises UnusableSetting without boto3."""
    if find_spec("boto3") is None:
        words = "aws_lambda needs boto3 on the machine of the server: pip install 'dovetail-scheduler[aws]'"
        raise UnusableSetting("kind", words)
