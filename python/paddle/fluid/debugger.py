"""Programs as text and as pictures."""

import re


__all__ = ["draw_block_graphviz", "pprint_block_codes", "pprint_program_codes"]


def pprint_program_codes(program_desc):
    """Print a program, or what ``program.desc`` gives."""
    print(getattr(program_desc, "_program", program_desc))


def pprint_block_codes(block_desc, show_backward=False):
    """Print a block."""
    print(block_desc)


def draw_block_graphviz(block, highlights=None, path="./temp.dot"):
    """Write the operators and variables of a block as a graph that ``dot`` draws.

    ``highlights``: regular expressions; variables that match one are red.
    """
    patterns = [re.compile(one) for one in highlights or ()]
    lines = ["digraph G {", "  node [shape=oval];"]
    for name in sorted(block.vars):
        red = any(pattern.match(name) for pattern in patterns)
        lines.append(f"  {_quoted(name)}{' [style=filled, fillcolor=red]' if red else ''};")
    for place, op in enumerate(block.ops):
        node = f"op {place}"
        lines.append(f"  {_quoted(node)} [shape=box, label={_quoted(op.type)}];")
        lines += [f"  {_quoted(name)} -> {_quoted(node)};" for name in op.input_arg_names]
        lines += [f"  {_quoted(node)} -> {_quoted(name)};" for name in op.output_arg_names]
    with open(path, "w") as file:
        file.write("\n".join([*lines, "}", ""]))


def _quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
