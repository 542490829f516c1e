"""Jobs with servers that no launcher started: processes and variables of the environment alone."""

import os
import subprocess
import sys

import watched
from hosts import free_port
from job import Job


def run(folder, script, processes, **environment):
    """Starts a process for each dict of variables; the outputs, in their order."""
    (folder / "script.py").write_text(script)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    clean.update(FLT_JOB_TOKEN="secret", FLT_DOWNLOAD="0", **environment)
    started = [
        subprocess.Popen(
            [sys.executable, "script.py"],
            cwd=folder,
            env={**clean, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for variables in processes
    ]
    try:
        outputs = [watched.communicate(one)[0] for one in started]
    finally:
        for one in started:
            one.kill()
    assert [one.returncode for one in started] == [0] * len(started), "\n".join(outputs)
    return outputs


TRANSPILER = """
import os
import numpy as np
import paddle.fluid as fluid

x, y = fluid.layers.data("x", [8]), fluid.layers.data("y", [1])
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
fluid.optimizer.SGD(0.05).minimize(loss)
transpiler = fluid.DistributeTranspiler()
rank = int(os.environ.get("RANK", "0"))
transpiler.transpile(rank, pservers=os.environ["SERVERS"], trainers=2)
exe = fluid.Executor(fluid.CPUPlace())
if "HERE" in os.environ:
    program = transpiler.get_pserver_program(os.environ["HERE"])
    exe.run(transpiler.get_startup_program(os.environ["HERE"], program))
    exe.run(program)
    print("served")
else:
    program = transpiler.get_trainer_program()
    exe.run(fluid.default_startup_program())
    random = np.random.RandomState(rank)
    for step in range(60):
        batch = random.rand(16, 8).astype("float32")
        feed = {"x": batch, "y": batch.sum(1, keepdims=True)}
        value = exe.run(program, feed=feed, fetch_list=[loss])[0][0]
    assert value < 0.5, value
"""


def test_a_transpiler_divides_a_program(tmp_path):
    servers = [f"127.0.0.1:{free_port('127.0.0.1')}" for _ in range(2)]
    processes = [{"HERE": server} for server in servers] + [{"RANK": "0"}, {"RANK": "1"}]
    outputs = run(tmp_path, TRANSPILER, processes, SERVERS=",".join(servers))
    assert "served" in outputs[0] and "served" in outputs[1]


FLEET = """
    import numpy as np
    import paddle.fluid as fluid
    from paddle.fluid.incubate.fleet.base import role_maker
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet

    x, y = fluid.data("x", [None, 32]), fluid.data("y", [None, 1], "int64")
    hidden = fluid.layers.fc(x, 64, act="tanh")
    chances = fluid.layers.fc(hidden, 2, act="softmax")
    cost = fluid.layers.mean(fluid.layers.cross_entropy(chances, y))
    fleet.init(role_maker.PaddleCloudRoleMaker())
    fleet.distributed_optimizer(fluid.optimizer.Adagrad(0.05)).minimize(cost)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        fleet.init_worker()  # before the startup program, as that time had it
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fleet.startup_program)
        random = np.random.RandomState(fleet.worker_index())
        costs = []
        for step in range(80):
            batch = random.rand(128, 32).astype("float32")
            feed = {"x": batch, "y": (batch.sum(1, keepdims=True) > 16).astype("int64")}
            costs.append(exe.run(fleet.main_program, feed=feed, fetch_list=[cost])[0][0])
        assert np.mean(costs[-9:]) < 0.95 * np.mean(costs[:9]), costs
        fleet.stop_worker()
"""


def test_the_fleet_of_1_8_connects_before_its_startup_program(tmp_path):
    job = Job(tmp_path, ["--worker_num=2", "--server_num=2"], FLEET)
    assert job.wait() == 0, job.err
