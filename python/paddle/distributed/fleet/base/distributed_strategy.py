"""The options of a distributed job. Names, types, defaults and checks are the C++ core's."""

import os

import _flotilla as core
from paddle._files import open_file
from paddle.base.compiler import BuildStrategy, ExecutionStrategy

from .table_words import tables_of

# Properties whose option has another name in files and overviews.
_ALIASES = {
    "_calc_comm_same_stream": "calc_comm_same_stream",
    "_fuse_grad_size_in_TFLOPS": "fuse_grad_size_in_TFLOPS",
    "is_with_coordinator": "with_coordinator",
}
_OBJECTS = {"build_strategy": BuildStrategy, "execution_strategy": ExecutionStrategy}


class StrategyError(ValueError, TypeError, AssertionError):
    """A name or a value that a strategy refuses; Paddle raises one of these three."""


class OptionsOfCore:
    """Attributes that are options of a strategy of the core."""

    _new = None  # makes the strategy of the core
    _own = ()  # attributes that are no options

    def __init__(self):
        object.__setattr__(self, "_core", type(self)._new())

    def __getattr__(self, name):
        if name.startswith("__") or name == "_core":
            raise AttributeError(name)
        try:
            return self._core.get(name)
        except ValueError as error:
            raise AttributeError(str(error)) from None

    def __setattr__(self, name, value):
        if name in self._own or isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
        else:
            self._set(name, value)

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._core.names()})

    def _set(self, name, value):
        try:
            self._core.set(name, value)
        except (ValueError, TypeError) as error:
            raise StrategyError(str(error)) from None

    def __eq__(self, other):
        return type(other) is type(self) and self._core == other._core

    def __getstate__(self):
        own = {name: getattr(self, name) for name in self._own}
        return {"prototxt": self._core.prototxt(), "own": own}

    def __setstate__(self, state):
        OptionsOfCore.__init__(self)
        self._core.merge_prototxt(state["prototxt"], "the state of a strategy")
        for name, value in state["own"].items():
            object.__setattr__(self, name, value)


class DistributedStrategy(OptionsOfCore):
    """How a job is distributed: ``strategy.a_sync = True``,
    ``strategy.a_sync_configs = {"k_steps": 100}``.

    ``print(strategy)`` shows every option; a dict changes only the options that it names.
    """

    _new = core.DistributedStrategy
    _own = ("hybrid_parallel_order", "sync_param_name")

    def __init__(self):
        super().__init__()
        self.hybrid_parallel_order = ["dp", "pp", "sharding", "sep", "mp"]
        self.sync_param_name = ["embedding", "layer_norm", ".b_"]

    def save_to_prototxt(self, output):
        """Write what was set, in protobuf's text format."""
        core.write_file(os.fspath(output), self._core.prototxt().encode())

    def load_from_prototxt(self, pb_file):
        """Add what a file of :meth:`save_to_prototxt`, ours or Paddle's, sets."""
        with open_file(pb_file, "r", encoding="utf-8") as file:
            text = file.read()
        try:
            self._core.merge_prototxt(text, os.fspath(pb_file))
        except ValueError as error:
            raise StrategyError(str(error)) from None

    def __repr__(self):
        return self._core.overview()

    @property
    def hybrid_configs(self):
        """How many processes each kind of parallelism has; ``order`` is their nesting."""
        return self._core.get("hybrid_configs")

    @hybrid_configs.setter
    def hybrid_configs(self, configs):
        configs = dict(configs)
        self.hybrid_parallel_order = configs.pop("order", self.hybrid_parallel_order)
        if "sync_param_name" in configs.get("mp_configs", ()):
            configs["mp_configs"] = dict(configs["mp_configs"])
            self.sync_param_name = configs["mp_configs"].pop("sync_param_name")
        self._set("hybrid_configs", configs)

    @property
    def sparse_table_configs(self):
        """Tables of parameter servers: a list of dicts; set as ``{table: {option: value}}``."""
        return self._core.get("downpour_table_param")

    @sparse_table_configs.setter
    def sparse_table_configs(self, configs):
        self._add_tables(
            {"table_name": table, **_nested(table, options)} for table, options in configs.items()
        )

    def _add_tables(self, tables):
        added = DistributedStrategy()
        added._set("downpour_table_param", list(tables))
        self._core.merge_prototxt(added._core.prototxt(), "the new tables")  # behind the old ones

    @property
    def fleet_desc_configs(self):
        """The same tables, set in the words of pslib: ``{table: {"sparse_embedx_dim": 8}}``."""
        return self.sparse_table_configs

    @fleet_desc_configs.setter
    def fleet_desc_configs(self, configs):
        self._add_tables(tables_of(configs))


def _nested(table, options):
    """``{"table_parameters.t.accessor.embedx_dim": 8}`` as ``{"accessor": {"embedx_dim": 8}}``."""
    nested = {}
    for dotted, value in options.items():
        *outer, name = dotted.replace(f"table_parameters.{table}.", "", 1).split(".")
        inside = nested
        for word in outer:
            inside = inside.setdefault(word, {})
        inside[name] = value
    return nested


def _alias(option):
    def get(self):
        return self._core.get(option)

    def put(self, value):
        self._set(option, value)

    return property(get, put, doc=f"The option {option}.")


def _object(option, kind):
    def get(self):
        made = kind()
        for name, value in self._core.get(option).items():
            setattr(made, name, value)
        return made

    def put(self, given):
        self._set(option, {name: getattr(given, name) for name in self._core.get(option)})

    return property(get, put, doc=f"The options of a {kind.__name__}.")


for _name in core.DistributedStrategy().names():
    if not hasattr(DistributedStrategy, _name):
        _made = _object(_name, _OBJECTS[_name]) if _name in _OBJECTS else _alias(_name)
        setattr(DistributedStrategy, _name, _made)
for _name, _option in _ALIASES.items():
    setattr(DistributedStrategy, _name, _alias(_option))
