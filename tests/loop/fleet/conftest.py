"""A server with the interface of S3, which the tests of stores and fleets share."""

from collections.abc import Generator

import pytest
from s3_server import s3_server


@pytest.fixture(scope="session")
def s3() -> Generator[dict[str, str]]:
    """The environment with which this process, and others, reach the server."""
    with s3_server() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield environment
