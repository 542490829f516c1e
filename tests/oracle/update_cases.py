"""Three steps of every optimizer of fluid, with settings that tell formulas apart.

An epsilon as large as the gradients shows where it is added, which 1e-8 does not.
"""

import numpy as np
import paddle.fluid as fluid

OPTIMIZERS = {
    "adam": lambda: fluid.optimizer.Adam(0.1, epsilon=0.5),
    "adamax": lambda: fluid.optimizer.Adamax(0.1, epsilon=0.5),
    "adagrad": lambda: fluid.optimizer.Adagrad(0.1, epsilon=0.5),
    "decayed_adagrad": lambda: fluid.optimizer.DecayedAdagrad(0.1, decay=0.5, epsilon=0.5),
    "rmsprop": lambda: fluid.optimizer.RMSProp(0.1, epsilon=0.5, momentum=0.9),
    "rmsprop.centered": lambda: fluid.optimizer.RMSProp(0.1, epsilon=0.5, centered=True),
    "ftrl": lambda: fluid.optimizer.Ftrl(0.1, 0.2, 0.2),  # 1.8 takes l1 for both
    "lamb": lambda: fluid.optimizer.Lamb(0.1, epsilon=0.5),
    "lamb.no_decay": lambda: fluid.optimizer.Lamb(0.1, lamb_weight_decay=0.0),
    "lars": lambda: fluid.optimizer.LarsMomentum(0.1, 0.9, lars_coeff=0.5, lars_weight_decay=0.1),
}


def build(name):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.data("x", [1, 3])
        first = fluid.initializer.Constant(0.7)
        w = fluid.layers.create_parameter([3], "float32", name="w", default_initializer=first)
        OPTIMIZERS[name]().minimize(fluid.layers.reduce_sum(x * w * w))
    return main, startup


def train(main, startup):
    """The parameter after each step."""
    scope, found = fluid.Scope(), []
    with fluid.scope_guard(scope):
        executor = fluid.Executor(fluid.CPUPlace())
        executor.run(startup)
        for step in (1, 2, 3):
            executor.run(main, feed={"x": np.array([[0.1, -0.5, 2.0]], "float32") * step})
            found.append(np.array(scope.find_var("w").get_tensor()))
    return np.array(found)
