"""Inference in the API of 0.14."""

from paddle._words import of_kind
from paddle.base.executor import Executor
from paddle.base.framework import Program, Variable, program_guard
from paddle.base.scope import Scope, scope_guard
from paddle.base.unique_name import guard as names_guard

from . import io
from .trainer import check_and_get_place

__all__ = ["Inferencer"]


class Inferencer:
    """A model with the parameters that ``Trainer.save_params`` wrote.

    ``infer_func`` appends the layers and returns the prediction. ``parallel``: accepted; a process
    is one place.
    """

    def __init__(self, infer_func, param_path, place=None, parallel=False):
        self.param_path = param_path
        self.parallel = parallel
        self.place = check_and_get_place(place)
        self.scope, self.inference_program = Scope(), Program()
        with program_guard(self.inference_program, Program()), names_guard():
            self.predict_var = infer_func()
        of_kind(self.predict_var, Variable, "infer_func must return the prediction, but returned a")
        self.inference_program = self.inference_program.clone(for_test=True)
        self.exe = Executor(self.place)
        with scope_guard(self.scope):
            io.load_params(self.exe, param_path, self.inference_program)

    def infer(self, inputs, return_numpy=True):
        """The prediction for a dict from names of variables to values, in a list."""
        said = "inputs must be a dict from names to values, but is a"
        of_kind(inputs, dict, said, ValueError)
        with scope_guard(self.scope):
            return self.exe.run(
                self.inference_program,
                feed=inputs,
                fetch_list=[self.predict_var.name],
                return_numpy=return_numpy,
            )
