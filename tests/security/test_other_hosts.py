"""Jobs on several hosts without a secret: only those hosts are heard."""

import base64
import re
import socket
import urllib.request

import watched
from hosts import FLOTILLA, Host, free_port

IPS = ["127.0.0.1", "127.0.0.2"]

SCRIPT = """
import os, time
if os.environ["TRAINING_ROLE"] == "PSERVER":
    os.execv(os.environ["FLOTILLA"], ["flotilla", "serve", "--status_port", os.environ["PORT"]])
while not os.path.exists("seen"):
    time.sleep(0.01)
"""


def call(source, address, token):
    """A call of gRPC with what a process of the job shows, to a method that there is not."""
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/flotilla/nothing",
        ":authority": "job",
        "content-type": "application/grpc",
        "te": "trailers",
        "flotilla-token-bin": base64.b64encode(token.encode()).decode(),
    }
    block = b""
    for text in (text for row in headers.items() for text in row):
        # In front of each name: a literal that nobody shall remember.
        block += b"\0" * (text in headers) + bytes([len(text)]) + text.encode()

    def frame(kind, flags, stream, payload):
        length = len(payload).to_bytes(3, "big")
        return length + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    host, port = address.split(":")
    with socket.create_connection((host, int(port)), source_address=(source, 0)) as caller:
        caller.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""))
        caller.sendall(frame(1, 4 | 1, 1, block))
        answers = caller.makefile("rb")
        while True:
            head = answers.read(9)
            answers.read(int.from_bytes(head[:3], "big"))
            if head[3] == 1:  # headers of the answer
                return


def turned_away(port):
    """How many calls a server has refused, by what was wrong."""

    def answer():
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        except OSError:
            return ""

    text = watched.wait_until(answer, f"nobody answers on port {port}")
    rows = re.findall(r'flotilla_ps_turned_away_total{wrong="(\w+)"} (\d+)', text)
    return {wrong: int(count) for wrong, count in rows}


def test_servers_of_a_job_without_a_secret_hear_its_hosts_alone(tmp_path):
    base = int(free_port(*IPS))
    servers = [f"{ip}:{free_port(ip)}" for ip in IPS]
    ports = [free_port("127.0.0.1") for _ in IPS]
    options = ["--servers=" + ",".join(servers), "--workers=" + ",".join(IPS)]
    settings = {"FLT_STORE_PORT": str(base), "FLAGS_START_PORT": str(min(base + 1, 65000))}
    hosts = [
        Host(
            tmp_path / ip,
            [*options, f"--host={ip}"],
            SCRIPT,
            PORT=port,
            FLOTILLA=FLOTILLA,
            **settings,
        )
        for ip, port in zip(IPS, ports)
    ]
    seen = []
    try:
        for server, port in zip(servers, ports):
            turned_away(port)  # it serves
            call("127.0.0.3", server, "job default")
            for ip in IPS:
                call(ip, server, "job default")
            seen.append(turned_away(port))
    finally:
        for host in hosts:
            (host.folder / "seen").touch()
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    for numbers in seen:
        # Whoever was heard asked for what there is not.
        assert numbers == {"token": 0, "host": 1, "size": 0, "form": 2}
