"""Servers on loopback that tests read from: an S3 server with keys, and a web server that can break off."""

import http.server
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import boto3

UNCHECKED = 1_000_000


@dataclass
class Bucket:
    """An S3 server with one bucket, and the environment that reaches it."""

    client: object
    environment: dict[str, str]
    name: str = "bucket"

    def put(self, key: str, data: bytes) -> str:
        self.client.put_object(Bucket=self.name, Key=key, Body=data)
        return f"s3://{self.name}/{key}"


@contextmanager
def s3_server() -> Iterator[Bucket]:
    """A server that takes one key and refuses all others."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": str(UNCHECKED), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{url}/moto-api/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        given = {"endpoint_url": url, "region_name": "us-east-1"}
        first = {"aws_access_key_id": "anyone", "aws_secret_access_key": "anything"}
        people = boto3.client("iam", **given, **first)
        people.create_user(UserName="reader")
        everything = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'
        people.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=everything)
        key = people.create_access_key(UserName="reader")["AccessKey"]
        words = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
        client = boto3.client("s3", **given, **words)
        client.create_bucket(Bucket="bucket")
        plain = {"Content-Type": "text/plain"}
        urllib.request.urlopen(urllib.request.Request(f"{url}/moto-api/reset-auth", b"0", plain)).close()
        reaching = {"AWS_ENDPOINT_URL": url, "AWS_DEFAULT_REGION": "us-east-1"}
        yield Bucket(client, reaching | {name.upper(): word for name, word in words.items()})
    finally:
        server.terminate()
        server.wait()


@dataclass
class Site:
    """A folder on the web; `cut` is after how many bytes of a body the connection breaks."""

    url: str
    asked: list[str] = field(default_factory=list)
    cut: int | None = None


@contextmanager
def web_server(folder: Path) -> Iterator[Site]:
    """A web server that serves a folder, and remembers what it was asked for."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def answer(self, *, with_body: bool) -> None:
            site.asked.append(self.path)
            file = folder / self.path.partition("?")[0].lstrip("/")
            if not file.is_file():
                self.send_error(403 if "denied" in self.path else 404)
                return
            data = file.read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if with_body:
                self.wfile.write(data[: site.cut])
            if site.cut is not None:
                self.close_connection = True

        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
