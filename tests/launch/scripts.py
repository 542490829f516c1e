"""Scripts that several tests launch."""

# Runs steps until it is ended. The process WHO ("worker 1") does DEED at MOMENT: before it imports
# anything, during its start, or after all COUNT processes run steps. With STEPS it ends by itself.
TRAIN = """
    import os, pathlib, signal, sys, time
    me = os.environ["FLT_ROLE"] + " " + os.environ["FLT_RANK"]

    def moment(name):
        if (me, name) == (os.environ.get("WHO"), os.environ.get("MOMENT")):
            print("about to go wrong", flush=True)
            exec(os.environ["DEED"])

    moment("before")
    import numpy as np
    import paddle
    moment("during")
    paddle.enable_static()
    x = paddle.static.data("x", [None, 8])
    loss = paddle.mean(paddle.static.nn.fc(x, 8))
    paddle.optimizer.SGD(0.01).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    batch = np.ones([4, 8], "float32")
    steps = int(os.environ.get("STEPS", "0"))
    done = 0
    while steps == 0 or done < steps:
        exe.run(feed={"x": batch}, fetch_list=[loss])
        done += 1
        if done == 3:
            pathlib.Path("there." + me).touch()
        if done > 3 and len(list(pathlib.Path().glob("there.*"))) == int(os.environ["COUNT"]):
            # What everyone does is told at least twice a second.
            if os.environ.get("WHO") == me:
                time.sleep(0.7)
            moment("after")
        time.sleep(0.01)
"""

# Workers that average their gradients. WHO does DEED before step 200 of its own, and all others
# come to wait for it.
COLLECTIVE = """
    import os, signal, sys, time
    import numpy as np
    import paddle
    from paddle.distributed import fleet

    paddle.enable_static()
    fleet.init(is_collective=True)
    x = paddle.static.data("x", [None, 8])
    loss = paddle.mean(paddle.static.nn.fc(x, 8))
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.01)).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    batch = np.ones([4, 8], "float32")
    for step in range(400):
        if step == 200 and os.environ["PADDLE_TRAINER_ID"] == os.environ.get("WHO"):
            time.sleep(0.7)  # the others have said by then what they wait for
            exec(os.environ["DEED"])
        exe.run(feed={"x": batch}, fetch_list=[loss])
        time.sleep(float(os.environ.get("PAUSE", "0.001")))
"""
