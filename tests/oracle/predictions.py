"""Models that are saved and predicted with, from parameters that their names stand for."""

import training
from feeds import feed
from training import static

# In which release each is written.
MODELS = {
    "2.6.2": ["mlp", "lenet", "resnet18", "wide_deep"],
    "1.8.5": ["fluid_mlp", "fluid_linear_regression", "fluid_resnet18", "fluid_wide_deep"],
}
LABELS = ("y", "label")


def inputs(name):
    """What a model predicts from, by variable."""
    return {word: value for word, value in feed(name, 3).items() if word not in LABELS}


def prepare(name):
    """The programs of a model, and a scope in which its parameters are."""
    built = training.build(training.models()[name])
    scope = static.Scope()
    with static.scope_guard(scope):
        static.Executor(training.place).run(built["startup"])
        training.set_parameters(scope, built["parameters"])
    return built, scope
