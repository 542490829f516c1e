"""What a recorded training program consists of; models.py and fluid_models.py hold the six."""

import rules

BATCHES = 4  # different batches; a run goes round them


class Model:
    """A net with its loss, its optimizer and its feeds.

    `build()` appends the net to the default programs and returns (loss, prediction, metrics), all
    variables. `optimizer()` gives the optimizer; `feeds` maps a variable to (shape, dtype, rule).
    """

    def __init__(self, build, optimizer, feeds):
        self.build, self.optimizer, self.feeds = build, optimizer, feeds

    def feed(self, step, names=None):
        """The batch of `step`, restricted to the variables `names`."""
        return {
            name: rules.draw(f"{name}/{step % BATCHES}", shape, dtype, rule)
            for name, (shape, dtype, rule) in self.feeds.items()
            if names is None or name in names
        }


def build_training(model, static, unique_name):
    """Programs of `model` after minimize, before any run: {main, startup, infer, loss, ...}.

    `static` is `paddle.static` or `paddle.fluid`.
    """
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), unique_name.guard():
        loss, prediction, metrics = model.build()
        infer = main.clone(for_test=True)
        model.optimizer().minimize(loss)
    parameters = {p.name: list(p.shape) for p in main.all_parameters() if p.trainable}
    return {
        "main": main,
        "startup": startup,
        "infer": infer,
        "loss": loss.name,
        "prediction": prediction.name,
        "metrics": [metric.name for metric in metrics],
        "parameters": parameters,
    }


def set_parameters(scope, parameters, place):
    """Gives every parameter the value its name stands for."""
    for name, shape in parameters.items():
        scope.find_var(name).get_tensor().set(rules.parameter(name, shape), place)


def checksum(array):
    """Two numbers that change with any value and with the order of values."""
    flat = array.reshape(-1).astype("float64")
    weights = rules.random_state("checksum").uniform(-1, 1, size=flat.size)
    return [float(flat.sum()), float((flat * weights).sum())]
