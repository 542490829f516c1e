"""``python -m paddle.distributed.launch``: another name of ``fleetrun``.

The launcher is a program of its own, written in C++. This module only finds it and becomes it.
"""

import os
import shutil
import sys
import sysconfig


def _program():
    """The path of ``flotilla``: beside this interpreter, or on the PATH."""
    for folder in (os.path.dirname(sys.executable), sysconfig.get_path("scripts")):
        path = os.path.join(folder, "flotilla")
        if os.access(path, os.X_OK):
            return path
    path = shutil.which("flotilla")
    if path is None:
        raise FileNotFoundError(
            f"the launcher was expected beside {sys.executable} or on the PATH as flotilla, "
            "but it is in neither place; install the package again"
        )
    return path


def _become(command, arguments):
    """Replaces this process by ``flotilla <command> <arguments>``."""
    program = _program()
    os.environ["FLT_PYTHON"] = sys.executable
    sys.stdout.flush()
    os.execv(program, [program, command, *arguments])


def launch():
    """Becomes the launcher, with the arguments of this process."""
    _become("launch", sys.argv[1:])
