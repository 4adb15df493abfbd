"""An object store with the interface of Amazon's S3 on this machine: moto's server."""

from collections.abc import Generator
from contextlib import contextmanager

import boto3
from moto.server import ThreadedMotoServer

BUCKET = "fukayomi"


@contextmanager
def s3_server() -> Generator[dict[str, str]]:
    """A server with an empty bucket; yields the environment with which programs find it."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        keys = {"aws_access_key_id": "anyone", "aws_secret_access_key": "anything"}
        boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys).create_bucket(Bucket=BUCKET)
        yield {
            "AWS_ENDPOINT_URL_S3": url,
            "AWS_DEFAULT_REGION": "us-east-1",
            **{name.upper(): value for name, value in keys.items()},
        }
    finally:
        server.stop()
