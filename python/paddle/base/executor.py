"""Running programs: the executor, and how values come out."""

import os
import warnings

import numpy as np

import _flotilla as core
from paddle._words import of_kind

from .dataset import DatasetBase
from .framework import Program, Variable, default_main_program
from .place import current_place, gpu_of, to_place
from .scope import global_scope, scope_guard

__all__ = ["Executor", "FetchHandler", "global_scope", "scope_guard", "seed"]

_generator = core.Generator(int.from_bytes(os.urandom(7), "little"))


def seed(seed):
    """Seed the random numbers of the process; the same seed repeats a run."""
    _generator.manual_seed(int(seed) % 2**64)
    return _generator


def get_cuda_rng_state():
    """The states of the random numbers of all GPUs: there are none."""
    return []


def set_cuda_rng_state(state_list):
    """Go on from what get_cuda_rng_state gave."""
    if state_list:
        raise ValueError(
            f"state_list must be empty, for there is no GPU, but it holds {len(state_list)} states"
        )


def default_cpu_generator():
    """The source of random numbers."""
    return _generator


def set_num_threads(number):
    """How many threads a program runs on."""
    core.set_threads(int(number))


class Scalar(np.ndarray):
    """An array of one element that formats like a number: ``"%.5f" % loss`` works on any numpy."""

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        return self.item().__index__()

    def __round__(self, digits=None):
        return round(self.item(), digits)

    def __format__(self, spec):
        return format(self.item(), spec) if spec else str(self)

    def __repr__(self):
        return repr(self.view(np.ndarray))

    def __array_wrap__(self, array, context=None, return_scalar=False):
        # What is computed from one element may have many, and then it is an array like others.
        if return_scalar:
            return array[()]
        return array.view(Scalar if array.size == 1 else np.ndarray)

    def __reduce__(self):
        return self.view(np.ndarray).__reduce__()


core.use_scalar_type(Scalar)


def as_scalar(value):
    """An array of one element as one that formats like a number; anything else as it is."""
    return value.view(Scalar) if isinstance(value, np.ndarray) and value.size == 1 else value


def as_numpy(tensor):
    """A tensor, or a list of some, as arrays."""
    return [as_numpy(one) for one in tensor] if isinstance(tensor, list) else np.array(tensor)


def _fetch_var(name, scope=None, return_numpy=True):
    """The value of a variable that is kept from run to run."""
    tensor = (scope or global_scope()).find_var(name).get_tensor()
    return as_numpy(tensor) if return_numpy else tensor


def _from_dataset(word, doc, infer):
    def run(
        self,
        program=None,
        dataset=None,
        scope=None,
        thread=0,
        debug=False,
        fetch_list=None,
        fetch_info=None,
        print_period=100,
        fetch_handler=None,
    ):
        said = "dataset must be a QueueDataset or an InMemoryDataset, but is"
        of_kind(dataset, DatasetBase, said, RuntimeError)
        program = default_main_program() if program is None else _program_of(program)
        scope = global_scope() if scope is None else scope
        if (program._fleet_opt or {}).get("dump_fields_path"):
            warnings.warn(
                "dump_fields_path has no effect: dumping fields is not implemented", stacklevel=2
            )
        dataset._prepare_to_run()
        shown = core.ShownValues()
        shown.fetches = core.names_of(fetch_list or [])
        shown.labels = shown.fetches if fetch_info is None else _labels(fetch_info)
        shown.print_period = print_period
        handler = fetch_handler or FetchHandler({})
        shown.watched = core.names_of(list(handler.var_dict.values()))
        shown.watch_seconds = handler.period_secs
        self._datasets = self._datasets or core.DatasetRunner(_generator, core.fleet)
        self._datasets.run(
            *(program, dataset._core, scope, thread, bool(debug), infer, shown),
            lambda line: print(line, flush=True),
            lambda values: handler.handler(dict(zip(handler.var_dict, values))),
        )

    run.__name__, run.__qualname__, run.__doc__ = word, f"Executor.{word}", doc
    return run


class Executor:
    """Runs programs on a place. Plans are made at the first run and looked up later.

    Several threads may call one executor: they take turns.
    """

    def __init__(self, place=None):
        self.place = current_place() if place is None else to_place(place)
        self._core = core.Executor(_generator, core.fleet, gpu_of(self.place))
        self._datasets = None  # made by the first run of a data set

    def run(
        self,
        program=None,
        feed=None,
        fetch_list=None,
        feed_var_name="feed",
        fetch_var_name="fetch",
        scope=None,
        return_numpy=True,
        use_program_cache=False,
        return_merged=True,
        use_prune=False,
    ):
        """Run a program once and return the values of ``fetch_list`` in order.

        ``program``: by default the default main program. ``feed``: a dict from names to arrays,
        lists, numbers or LoDTensors, or a list with one such dict. ``fetch_list``: variables or
        their names. ``return_numpy``: arrays, otherwise LoDTensors. ``use_prune``: leave out the
        ops that ``fetch_list`` does not need. The other arguments are accepted and change nothing.
        """
        if program is None:
            program = default_main_program()
        elif not isinstance(program, Program):
            if getattr(program, "_data_parallel", False) and isinstance(feed, (list, tuple)):
                feed = core.join_feeds(list(feed)) if len(feed) > 1 else feed
            program = _program_of(program)
        if scope is None:
            scope = global_scope()
        try:
            return self._core.run(program, feed, fetch_list, scope, return_numpy, bool(use_prune))
        except RuntimeError as error:
            foreign = _foreign(program, fetch_list)
            if foreign is None or not str(error).startswith("the program has no variable"):
                raise
            raise RuntimeError(
                f'the program has no variable "{foreign.name}", which belongs to another program: '
                "the one that runs was pruned when it was cloned or saved. Fetch one of its "
                "variables, or run the other program"
            ) from None

    def close(self):
        """Give back what the executor holds, and leave the servers, if there are some: programs
        without a fleet say so that they are done. It can be used again afterwards."""
        core.fleet.stop_worker()
        self.__init__(self.place)

    train_from_dataset = _from_dataset(
        "train_from_dataset",
        """Run a program once for each batch of a data set.

        ``dataset``: a QueueDataset or InMemoryDataset. ``thread``: how many threads run batches, by
        default as many as the data set has; with more than one they change the parameters without
        waiting for each other. ``fetch_list``: what is printed every ``print_period`` batches,
        under the names of ``fetch_info``. ``debug``: print what each thread has done.
        ``fetch_handler``: a FetchHandler that is called from time to time.
        """,
        infer=False,
    )
    infer_from_dataset = _from_dataset(
        "infer_from_dataset",
        """As train_from_dataset, but the ops of the optimizer are left out: nothing is learnt.""",
        infer=True,
    )


class FetchHandler:
    """Looks at values while a data set is run: write ``handler`` in a class of your own.

    ``var_dict``: from names to variables. ``period_secs``: how many seconds lie between two calls.
    """

    def __init__(self, var_dict=None, period_secs=60):
        if var_dict is None:
            raise ValueError("var_dict must be a dict from names to the variables to watch")
        self.var_dict = var_dict
        self.period_secs = period_secs

    def handler(self, res_dict):
        """Called with a dict from names to arrays; prints the first value of each."""
        for name, value in res_dict.items():
            if isinstance(value, np.ndarray) and value.size > 0:
                print(f"{name}[0]: {value.flat[0]}", flush=True)

    @staticmethod
    def help():
        print(FetchHandler.__doc__)


def _labels(fetch_info):
    return [fetch_info] if isinstance(fetch_info, str) else [str(label) for label in fetch_info]


def _foreign(program, fetch_list):
    """The first variable to fetch that the program does not have, though another one does."""
    fetches = fetch_list if isinstance(fetch_list, (list, tuple)) else [fetch_list]
    for one in fetches:
        foreign = isinstance(one, Variable) and one.block.program._id != program._id
        if foreign and not program.global_block().has_var(one.name):
            return one
    return None


def _program_of(program):
    if isinstance(program, Program):
        return program
    inner = getattr(program, "_program", None)
    if not isinstance(inner, Program):
        kind = type(program).__name__
        raise TypeError(f"program must be a paddle.static.Program, but is {kind}")
    return inner
