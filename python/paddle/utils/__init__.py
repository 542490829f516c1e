"""Names, versions, and a check of the installation."""

import _flotilla as core
from paddle import version
from paddle._words import of_kind

from . import unique_name  # noqa: F401


def run_check():
    """Train a linear model for some steps, and report whether the installation works."""
    import numpy as np

    from paddle import optimizer, static, tensor

    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), unique_name.guard():
        x = static.data("x", [None, 2])
        loss = tensor.mean(static.nn.fc(x, 1))
        optimizer.SGD(0.1).minimize(loss)
    with static.scope_guard(static.Scope()):
        executor = static.Executor()
        executor.run(startup)
        feed = {"x": np.ones((4, 2), "float32")}
        first, *_, last = (executor.run(main, feed, [loss])[0].item() for _ in range(10))
    if not last < first:
        raise RuntimeError(f"the loss must fall, but went from {first} to {last}")
    print(f"Flotilla {version.flotilla} works, on {core.threads()} threads of the CPU.")


def require_version(min_version, max_version=None):
    """Refuse to go on where this Paddle, ``paddle.version``, is older or newer."""
    here = _numbers(version.full_version)
    if here < _numbers(min_version) or (max_version is not None and _numbers(max_version) < here):
        wanted = f"{min_version} to {max_version}" if max_version else f"{min_version} or newer"
        raise RuntimeError(f"Paddle {wanted} is required, but this is {version.full_version}")


def _numbers(text):
    parts = of_kind(text, str, "a version must be a string, but is of type").split(".")
    if not all(part.isdigit() for part in parts):
        raise ValueError(f'a version must be like "1.8.5", but is {text!r}')
    return [int(part) for part in parts]


def try_import(module_name, err_msg=None):
    """Import a module, or say which one is missing."""
    import importlib

    try:
        return importlib.import_module(module_name)
    except ImportError:
        raise ImportError(err_msg or f"{module_name} is not installed") from None
