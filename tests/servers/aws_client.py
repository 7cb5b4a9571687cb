"""Clients of boto3 for the stand-ins of AWS."""

from functools import cache
from typing import Any


@cache
def aws_client(url: str, service: str, region: str) -> Any:
    """Made once: boto3 writes a class for each, which takes a tenth of a second."""
    import boto3

    return boto3.client(
        service, region_name=region, endpoint_url=url, aws_access_key_id="testing", aws_secret_access_key="testing"
    )
