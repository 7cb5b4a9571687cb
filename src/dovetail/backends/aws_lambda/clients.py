"""boto3 on threads, and what its errors mean for a call.

boto3 repeats nothing by itself here: whether a call may be sent again is for the journal to say. Every request runs on
a thread of its own that ends with the process: one that waits for a function must not delay the end of the server.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, EndpointConnectionError

from dovetail.backends.aws_lambda.settings import LambdaSettings
from dovetail.backends.serverless.calls import CallNotSent, CallRefused, CallThrottled
from dovetail.model.failure_cause import FailureCause

LONGEST_CALL_S = 900.0 + 30.0  # Lambda's own limit, and the way there and back
T = TypeVar("T")
_THROTTLED = {"TooManyRequestsException", "ThrottlingException", "Throttling", "EC2ThrottledException",
              "SnapStartNotReadyException", "ResourceNotReadyException", "ResourceConflictException"}  # fmt: skip
_WORKLOAD = {"RequestTooLargeException", "InvalidRequestContentException", "UnsupportedMediaTypeException"}
_FUNCTION = {"ResourceNotFoundException", "AccessDeniedException", "InvalidParameterValueException",
             "InvalidRuntimeException", "InvalidZipFileException", "KMSAccessDeniedException", "KMSDisabledException",
             "InvalidSecurityGroupIDException", "InvalidSubnetIDException", "UnrecognizedClientException",
             "InvalidSignatureException", "ExpiredTokenException", "InvalidClientTokenId"}  # fmt: skip


class AwsUnreachable(Exception):
    """AWS could not be asked, or did not answer."""


class LambdaClients:
    """`quick` is for short requests, `patient` for calls whose answer is awaited."""

    def __init__(self, settings: LambdaSettings) -> None:
        secret, token = settings.secret_access_key, settings.session_token
        session = boto3.Session(
            aws_access_key_id=settings.access_key_id,
            aws_secret_access_key=None if secret is None else secret.get_secret_value(),
            aws_session_token=None if token is None else token.get_secret_value(),
            region_name=settings.region,
            profile_name=settings.profile,
        )

        def client(service: str, read_s: float, connections: int) -> Any:
            config = Config(
                connect_timeout=settings.answer_within_s,
                read_timeout=read_s,
                retries={"total_max_attempts": 1},
                max_pool_connections=connections,
                tcp_keepalive=True,
            )
            return session.client(service, endpoint_url=settings.endpoint, config=config)

        self.quick = client("lambda", settings.answer_within_s, settings.parallel)
        self.patient = client("lambda", LONGEST_CALL_S, 100)
        self.tables = client("dynamodb", settings.answer_within_s, settings.parallel)

    def close(self) -> None:
        for client in (self.quick, self.patient, self.tables):
            client.close()


async def on_thread(work: Callable[[], T], name: str) -> T:
    """Run it on a thread of its own. If the caller is cancelled, it goes on, and its answer is dropped."""
    loop, answer = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def give(give_answer: Callable[[Any], None], value: Any) -> None:
        if not answer.done():
            give_answer(value)

    def run() -> None:
        try:
            found = work()
        except BaseException as error:
            ready, value = answer.set_exception, error
        else:
            ready, value = answer.set_result, found  # type: ignore[assignment]
        if not loop.is_closed():
            loop.call_soon_threadsafe(give, ready, value)

    threading.Thread(target=run, name=name, daemon=True).start()
    found: T = await answer
    return found


def meaning_of(error: Exception) -> Exception:
    """An error of boto3 in the words of calls; what is not known to be harmless stays unknown."""
    if isinstance(error, EndpointConnectionError | ConnectTimeoutError):
        return CallNotSent(f"AWS cannot be reached: {error}")
    if not isinstance(error, ClientError):
        return AwsUnreachable(str(error)) if isinstance(error, BotoCoreError) else error
    told = error.response.get("Error", {})
    code, words = str(told.get("Code", "")), str(told.get("Message") or error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in _THROTTLED or status == 429:
        return CallThrottled(f"AWS delays it: {code}: {words}")
    if code in _WORKLOAD or status == 413:
        return CallRefused(f"{code}: {words}", FailureCause.WORKLOAD)
    if code in _FUNCTION or status in (401, 403, 404):
        return CallRefused(f"{code}: {words}", FailureCause.NODE)
    return AwsUnreachable(f"{code}: {words}")
