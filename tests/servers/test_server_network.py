"""Jobs with servers over TLS, and on several hosts."""

import os
import pathlib
import shutil
import signal
import socket
import ssl
import textwrap

import numpy as np
import pytest
from hosts import Host
from job import wait_for_process
from regression import DISTURBED, NET, Disturbed

STEPS = "20"


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    job = Disturbed(tmp_path_factory.mktemp("calm"), STEPS=STEPS)
    assert job.wait() == 0, job.err
    return job.done()["moments"]


def takes(address, tls, certificate):
    """Whether the server speaks HTTP/2 with who comes over TLS, with a certificate or without."""
    context = ssl.create_default_context(cafile=tls["FLT_TLS_CA"])
    context.set_alpn_protocols(["h2"])
    if certificate:
        context.load_cert_chain(tls["FLT_TLS_CERT"], tls["FLT_TLS_KEY"])
    host, port = address.split(":")
    with socket.create_connection((host, int(port))) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=tls["FLT_TLS_NAME"]) as secure:
                return len(secure.recv(9)) == 9
        except OSError:
            return False


@pytest.mark.parametrize("mutual", ["0", "1"], ids=["TLS", "mutual TLS"])
def test_a_job_over_tls_learns_the_same(tmp_path, calm, tls, mutual):
    tls["FLT_TLS_MUTUAL"] = mutual
    job = Disturbed(tmp_path / "job", STEPS=STEPS, UNTIL="10", **tls)
    job.wait_for_step(10)
    environment = pathlib.Path(f"/proc/{job.pid_of('server', 1)}/environ").read_text()
    variables = dict(line.split("=", 1) for line in environment.split("\0") if "=" in line)
    address = variables["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")[1]
    assert takes(address, tls, certificate=True)
    assert takes(address, tls, certificate=False) == (mutual == "0")
    (job.folder / "go").touch()
    assert job.wait() == 0, job.err
    np.testing.assert_array_equal(job.done()["moments"], calm)


class TwoHosts:
    """The same command on each host; no process sees those of the other host."""

    def __init__(self, folder, net, servers, workers, **settings):
        if not shutil.which("unshare"):
            pytest.skip("hosts with processes of their own need the program unshare")
        options = [
            "--servers=" + ",".join(f"{ip}:{6170 + i}" for i, ip in enumerate(servers)),
            "--workers=" + ",".join(workers),
        ]
        script = textwrap.dedent(NET + DISTURBED)
        settings = {"MODE": "sync", "RULE": "Adam", "RATE": "0.01", "STEPS": STEPS, **settings}
        alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.hosts = [
            Host(folder / str(i), options, script, [*net.inside(i), *alone], **settings)
            for i in range(net.count)
        ]

    def wait(self):
        assert [host.wait() for host in self.hosts] == [0, 0], [host.err for host in self.hosts]

    def moments(self, host):
        return np.load(self.hosts[host].folder / "done.0.npz")["moments"]


@pytest.mark.parametrize("apart", [False, True], ids=["servers beside workers", "apart"])
def test_a_job_on_two_hosts_learns_the_same(tmp_path, calm, network, apart):
    net = network(2)
    first, second = net.ips
    places = ([first, first], [second, second]) if apart else (net.ips, net.ips)
    job = TwoHosts(tmp_path, net, *places)
    job.wait()
    np.testing.assert_array_equal(job.moments(1 if apart else 0), calm)


def test_a_server_that_is_killed_on_another_host_changes_nothing(tmp_path, calm, network):
    net = network(2)
    mark = f"mark-{tmp_path}"
    job = TwoHosts(tmp_path, net, net.ips, net.ips, UNTIL="10", FLT_TEST_MARK=mark)
    job.hosts[0].wait_for("step.0")
    server = wait_for_process(f"FLT_TEST_MARK={mark}", "FLT_ROLE=server", "FLT_RANK=1")
    os.kill(server, signal.SIGKILL)
    for host in job.hosts:
        (host.folder / "go").touch()
    job.wait()
    assert "restart 1 of 3" in job.hosts[1].err
    np.testing.assert_array_equal(job.moments(0), calm)
