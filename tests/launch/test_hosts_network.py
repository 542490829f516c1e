"""Jobs on several hosts, each with a network of its own."""

import re
import time

import watched
from hosts import FLOTILLA, SHOW, STAY, Host


def start(tmp_path, net, options, script, order=None, lists=None):
    hosts = {}
    for i in order or range(net.count):
        listed = ",".join(lists[i] if lists else net.ips)
        hosts[i] = Host(tmp_path / str(i), [f"--ips={listed}", *options], script, net.inside(i))
    return [hosts[i] for i in range(net.count)]


def test_two_hosts_of_the_fourth_document_find_themselves(tmp_path, network):
    net = network(2)
    hosts = []
    for i in (1, 0):
        options = ["--selected_gpus=0,1", "--cluster_node_ips=192.168.0.1,192.168.0.2"]
        hosts.insert(0, Host(tmp_path / str(i), options, SHOW, net.inside(i)))
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    assert [e["PADDLE_TRAINER_ID"] for host in hosts for e in host.environments()] == list("0123")
    assert hosts[0].environments()[0]["PADDLE_CURRENT_ENDPOINT"] == "192.168.0.1:6070"


def test_hosts_meet_at_the_master_without_a_list(tmp_path, network):
    net = network(3)
    options = ["--master=192.168.0.2:6500", "--nnodes=3", "--nproc_per_node=2"]
    hosts = []
    for i in range(3):  # the first comes before the master
        hosts.append(Host(tmp_path / str(i), options, SHOW, net.inside(i)))
        time.sleep(0.3)
    assert [host.wait() for host in hosts] == [0, 0, 0], [host.err for host in hosts]
    environments = [e for host in hosts for e in host.environments()]
    assert sorted(e["PADDLE_TRAINER_ID"] for e in environments) == list("012345")
    assert len({e["PADDLE_TRAINER_ENDPOINTS"] for e in environments}) == 1
    endpoints = environments[0]["PADDLE_TRAINER_ENDPOINTS"].split(",")
    for i, host in enumerate(hosts):
        for e in host.environments():
            here = e["PADDLE_CURRENT_ENDPOINT"]
            assert here.startswith(net.ips[i] + ":")
            assert endpoints[int(e["PADDLE_TRAINER_ID"])] == here
            assert e["FLT_STORE"] == "192.168.0.2:6500"


def test_a_host_whose_name_is_known_late_is_let_in_without_a_secret(tmp_path, network):
    net = network(2)
    net.give_names(["node-1"])
    # In a pod a name may come minutes after its host was listed.
    words = ["--ips=node-1,node-2", "--nproc_per_node=1"]
    pod = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    first = Host(tmp_path / "0", [*words, "--rank=0"], SHOW, net.inside(0), **pod)
    said = next((line for line in first.process.stderr if "waiting for" in line), "nothing")
    assert "node-2" in said
    net.give_names(["node-1", "node-2"])
    second = Host(tmp_path / "1", [*words, "--rank=1"], SHOW, net.inside(1), **pod)
    assert [host.wait() for host in (second, first)] == [0, 0], [second.err, first.err]


def test_hosts_meet_at_a_master_whose_name_is_known_late(tmp_path, network):
    net = network(2)
    net.give_names([])
    options = ["--master=node-1:6500", "--nnodes=2", "--nproc_per_node=1"]
    pod = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    hosts = [
        Host(tmp_path / str(i), [*options, f"--rank={i}"], SHOW, net.inside(i), **pod)
        for i in range(2)
    ]
    for host in hosts:
        said = next((line for line in host.process.stderr if "waiting for" in line), "nothing")
        named = "waiting for the host with the address node-1:6500, a name that cannot be resolved"
        assert named in said
    net.give_names(["node-1"])
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]


def test_a_cable_that_is_pulled_ends_the_job_on_both_sides(tmp_path, network):
    net = network(2)
    hosts = start(tmp_path, net, ["--nproc_per_node=1", "--outage_limit=2"], STAY)
    for host in hosts:
        host.wait_for("there")
    began = time.monotonic()
    net.cut(1)
    assert [host.wait() for host in hosts] == [1, 1], [host.err for host in hosts]
    assert time.monotonic() - began < watched.room(20)
    assert "nothing has been heard from host 192.168.0.2 for 2 s" in hosts[0].err
    assert "host 192.168.0.1 is down, paused or cut off" in hosts[1].err


def test_one_list_in_another_order_is_refused_on_both_sides(tmp_path, network):
    net = network(2)
    hosts = start(tmp_path, net, [], SHOW, lists=[net.ips, net.ips[::-1]])
    codes = [host.wait() for host in hosts]
    assert 2 in codes and 0 not in codes
    said = "".join(host.err for host in hosts)
    assert "Give every host the same list in the same order" in said


def test_a_host_that_is_not_in_the_list_is_refused(tmp_path, network):
    net = network(2)
    options = ["--ips=192.168.0.1,192.168.0.3"]
    wrong = Host(tmp_path / "1", options, SHOW, net.inside(1))
    assert wrong.wait() == 2
    assert "this host must be one of --ips (192.168.0.1, 192.168.0.3)" in wrong.err
    assert "192.168.0.2" in wrong.err


def check(tmp_path, net, lists=None, *options):
    """What `flotilla check --ips` says on every host."""
    hosts = []
    for i in range(net.count):
        listed = ",".join(lists[i] if lists else net.ips)
        words = ["check", f"--ips={listed}", *options]
        hosts.append(Host(tmp_path / str(i), words, None, net.inside(i), program=[FLOTILLA]))
    began = time.monotonic()
    codes = [host.wait() for host in hosts]
    return codes, [host.out for host in hosts], time.monotonic() - began


def test_hosts_that_reach_each_other_are_timed(tmp_path, network):
    codes, said, seconds = check(tmp_path, network(3))
    assert codes == [0, 0, 0], said
    for text in said:
        assert len(re.findall(r"192\.168\.0\.\d -> 192\.168\.0\.\d +\d+\.\d\d ms", text)) == 6
        assert "all hosts reach each other and have the same list" in text


def test_a_broken_pair_is_named_in_its_direction(tmp_path, network):
    net = network(3)
    net.refuse_way(0, 2, 6069)
    codes, said, seconds = check(tmp_path, net)
    assert codes == [1, 1, 1], said
    assert seconds < 10
    for text in said:
        broken = [line for line in text.splitlines() if line.startswith("network:")]
        assert len(broken) == 1, text
        assert broken[0].startswith("network: from 192.168.0.1 to 192.168.0.3: it does not answer")


def test_a_host_without_a_network_is_named_by_the_others(tmp_path, network):
    net = network(3)
    net.cut(1)
    codes, said, seconds = check(tmp_path, net)
    assert codes == [1, 1, 1] and seconds < 10
    for text in (said[0], said[2]):
        assert "network: from 192.168.0.1 to 192.168.0.2" in text
        assert "network: from 192.168.0.3 to 192.168.0.2" in text
        assert "from 192.168.0.1 to 192.168.0.3:" not in text


def test_a_list_in_another_order_is_no_fault_of_the_network(tmp_path, network):
    net = network(2)
    codes, said, seconds = check(tmp_path, net, [net.ips, net.ips[::-1]])
    assert codes == [1, 1]
    assert "host 192.168.0.2 has the list in another order" in said[0]
    assert "host 192.168.0.1 has the list in another order" in said[1]
    assert "network:" not in said[0] + said[1]
