"""Looking into a program while it runs."""

import _flotilla as core


def Print(
    input,
    first_n=-1,
    message=None,
    summarize=20,
    print_tensor_name=True,
    print_tensor_type=True,
    print_tensor_shape=True,
    print_tensor_layout=True,
    print_tensor_lod=True,
    print_phase="both",
):
    """``input`` again; each run, or the ``first_n``, writes what it holds to standard output.

    ``print_phase``: ``forward``, ``backward`` for its gradient, or ``both``. Use what is returned:
    the gradient flows through it.
    """
    attrs = {"first_n": first_n, "message": message or "", "summarize": summarize}
    attrs.update(print_tensor_name=print_tensor_name, print_tensor_type=print_tensor_type)
    attrs.update(print_tensor_shape=print_tensor_shape, print_tensor_lod=print_tensor_lod)
    attrs.update(print_tensor_layout=print_tensor_layout, print_phase=print_phase.upper())
    return core.op("print", {"In": input}, attrs)
