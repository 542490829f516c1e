"""Records which slots the gradient ops of real Paddle have, as its gradient makers write them.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_gradient_slots.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_gradient_slots.py

Writes tests/oracle/recorded/gradient_slots_<version>.json: for each gradient op the input slots that
it always has, of all operators of that Paddle: once with everything that may be given, once with no
more than must be. Makers that want more than names (sub-blocks, several variables) are left out.
"""

import contextlib
import json
import os
from pathlib import Path

import paddle

try:
    from paddle.base import core, framework
except ImportError:
    from paddle.fluid import core, framework

RECORDED = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle" / "recorded"


def main():
    slots = {}
    for proto in framework.OpProtoHolder.instance().op_proto_map.values():
        for type, inputs in apart(gradients, proto):
            # What one maker leaves out, a program may lack.
            slots[type] = sorted(set(inputs) & set(slots.get(type, inputs)))
    lines = [f"{json.dumps(type)}: {json.dumps(slots[type])}" for type in sorted(slots)]
    path = RECORDED / f"gradient_slots_{paddle.__version__}.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(len(slots), "gradient ops")


def gradients(proto):
    return made_with(proto, everything=True) + made_with(proto, everything=False)


def made_with(proto, everything):
    program = framework.Program()
    block = program.global_block()
    op = block.desc.append_op()
    op.set_type(proto.type)
    for slots, put in ((proto.inputs, op.set_input), (proto.outputs, op.set_output)):
        for slot in slots:
            if everything or not slot.dispensable:
                name = f"{slot.name}_of_{proto.type}"
                block.create_var(name=name, shape=[2, 2], dtype="float32")
                put(slot.name, [name])
    with contextlib.suppress(Exception):  # an attribute has no default: most makers do not look
        op.check_attrs()
    try:
        made, _ = core.get_grad_op_desc(op, set(), [])
    except Exception:
        return []
    ends = ("_grad", "_grad2")
    return [
        (grad.type(), [slot for slot in grad.input_names() if grad.input(slot)])
        for grad in made
        if grad.type().endswith(ends)
    ]


def apart(work, argument):
    """work(argument) in a process of its own, as some makers crash; then nothing."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(writer, json.dumps(work(argument)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else []


if __name__ == "__main__":
    main()
