"""Programs as graphs to read: a node for each operator, and one for each value of a variable.

    x --> mul --> y --> relu --> y'         y' is the second value of y, which relu writes in place
                    `-> mean                mean reads the first one, so relu comes after it:
                         `-> __control_var --> relu
"""

import enum

from paddle._names import did_you_mean

from .descs import OneVarDesc, OpDesc, ProgramDesc
from .framework import Program

_EMPTY = "@EMPTY@"
_CONTROL = "__control_var"
_CHANGES = {
    *("append_input", "append_output", "clear_inputs", "clear_outputs", "create_control_dep_var"),
    *("create_empty_node", "create_op_node", "create_op_node_from_desc", "create_persistable_node"),
    *("create_var_node", "create_var_node_from_desc", "erase", "link_to", "release_nodes"),
    *("remove_input", "remove_input_by_id", "remove_node", "remove_output"),
    *("remove_output_by_id", "resolve_hazard", "safe_remove_nodes", "set", "set_not_owned"),
    *("update_input_link", "update_output_link"),
}


class _ToRead:
    def __getattr__(self, name):
        kind = type(self).__name__
        if name in _CHANGES:
            raise AttributeError(
                f"{kind}.{name} is not implemented: a graph shows what a program holds; change the "
                "program, with Block.append_op, _insert_op or _remove_op, and make the graph anew"
            )
        known = [one for one in dir(type(self)) if not one.startswith("_")]
        raise AttributeError(f'{kind} has no "{name}".' + did_you_mean(name, known))


class NodeType(enum.IntEnum):
    """The two kinds of nodes."""

    Operation = 0
    Variable = 1


class Node(_ToRead):
    """An operator or a value. ``inputs`` and ``outputs`` are nodes of the other kind."""

    Type = NodeType

    def __init__(self, number, of):
        self._number, self._of = number, of
        self.inputs, self.outputs = [], []

    @property
    def node(self):
        """The node itself."""
        return self

    def id(self):
        """The number of the node."""
        return self._number

    def node_type(self):
        """Whether this is an operation or a variable, as a ``Node.Type``."""
        return NodeType.Operation if self.is_op() else NodeType.Variable

    def is_op(self):
        """Whether this is an operator."""
        return isinstance(self, IrOpNode)

    def is_var(self):
        """Whether this is a value."""
        return isinstance(self, IrVarNode)

    def is_ctrl_var(self):
        """Whether this only says which of two operators comes first."""
        return False


class IrOpNode(Node):
    """An operator."""

    def name(self):
        """The type of the operator."""
        return self._of.type

    def op(self):
        """The operator's desc."""
        return OpDesc(self._of)

    def input(self, name):
        """The names of the variables of an input."""
        return self._of.input(name)

    def output(self, name):
        """The names of the variables of an output."""
        return self._of.output(name)

    def input_arg_names(self):
        """The names of all variables that are read."""
        return self._of.input_arg_names

    def output_arg_names(self):
        """The names of all variables that are written."""
        return self._of.output_arg_names


class IrVarNode(Node):
    """A value of a variable."""

    def name(self):
        """The name of the variable."""
        return self._of if self.is_ctrl_var() else self._of.name

    def is_ctrl_var(self):
        """Whether this only says which of two operators comes first."""
        return isinstance(self._of, str)

    def var(self):
        """The variable's desc; None for what only says which operator comes first."""
        return None if self.is_ctrl_var() else OneVarDesc(self._of)

    def shape(self):
        """The extents of the variable."""
        return self.var().shape()

    def dtype(self):
        """The type of the elements."""
        return self.var().dtype()

    def type(self):
        """What the variable holds."""
        return self.var().type()

    def persistable(self):
        """Whether the variable lives from run to run."""
        return not self.is_ctrl_var() and self._of.persistable


IrNode = Node


class Graph(_ToRead):
    """The graph of a program's global block."""

    def __init__(self, program_desc):
        program = program_desc._of if isinstance(program_desc, ProgramDesc) else program_desc
        if not isinstance(program, Program):
            raise TypeError(f"Graph takes program.desc, but got a {type(program_desc).__name__}")
        self._program = program.clone()
        self._nodes = []
        self._values = {}  # of each variable, the first one first
        block = self._program.global_block()
        self._ops = [self._linked(IrOpNode, block, op) for op in block.ops]
        for var in block._vars():
            if var.name not in self._values:
                self._values[var.name] = [self._made(IrVarNode, var)]
        for values in self._values.values():
            for old, new in zip(values, values[1:]):
                self._order(old, new)

    def _made(self, kind, of):
        self._nodes.append(kind(len(self._nodes), of))
        return self._nodes[-1]

    def _linked(self, kind, block, op):
        node = self._made(kind, op)
        for name in dict.fromkeys(op.input_arg_names):
            if name != _EMPTY:
                values = self._values.setdefault(name, [])
                if not values:
                    values.append(self._made(IrVarNode, self._var(block, name)))
                _link(values[-1], node)
        for name in dict.fromkeys(op.output_arg_names):
            if name != _EMPTY:
                made = self._made(IrVarNode, self._var(block, name))
                self._values.setdefault(name, []).append(made)
                _link(node, made)
        return node

    @staticmethod
    def _var(block, name):
        found = block._find_recursive(name)
        return block._create_var(name) if found is None else found

    def _order(self, old, new):
        """Let the operator that writes a value come after those of the value before."""
        (writer,) = new.inputs
        for before in [*old.inputs, *old.outputs]:
            linked = any(one in writer.inputs for one in before.outputs)
            if before is not writer and not linked:
                control = self._made(IrVarNode, f"{_CONTROL}@{len(self._nodes)}")
                _link(before, control)
                _link(control, writer)

    def nodes(self):
        """All nodes."""
        return set(self._nodes)

    def origin_program_desc(self):
        """The desc of the program that the graph shows."""
        return ProgramDesc(self._program)

    def has(self, attr_name):
        """Whether something is attached to the graph: never."""
        return False

    def clone(self):
        """A copy."""
        return Graph(self._program)


def _link(one, other):
    one.outputs.append(other)
    other.inputs.append(one)


class IrGraph(_ToRead):
    """A graph with the words of ``fluid.framework``: ``IrGraph(core.Graph(program.desc))``."""

    def __init__(self, graph, for_test=False):
        if not isinstance(graph, Graph):
            raise TypeError(f"IrGraph takes a core.Graph, but got a {type(graph).__name__}")
        self.graph, self._for_test = graph, for_test

    def clone(self):
        """A copy."""
        return IrGraph(self.graph.clone(), self._for_test)

    def is_test(self):
        """Whether the graph is for testing."""
        return self._for_test

    def all_nodes(self):
        """All nodes."""
        return self.graph.nodes()

    def all_var_nodes(self):
        """The nodes of values."""
        return {node for node in self.graph._nodes if node.is_var()}

    def all_persistable_nodes(self):
        """The nodes of values that live from run to run."""
        return {node for node in self.all_var_nodes() if node.persistable()}

    def all_op_nodes(self):
        """The nodes of operators."""
        return {node for node in self.graph._nodes if node.is_op()}

    def _find_node_by_name(self, nodes, node_name):
        for node in nodes:
            if node.name() == node_name:
                return node
        raise ValueError(f'there is no node "{node_name}" among {len(list(nodes))} nodes')

    def has_circle(self):
        """Whether an operator needs what it makes: never."""
        return False

    def graph_num(self):
        """The number of parts that nothing connects."""
        seen, parts = set(), 0
        for start in self.graph._nodes:
            parts += start not in seen
            waiting = [start]
            while waiting:
                node = waiting.pop()
                if node not in seen:
                    seen.add(node)
                    waiting += [*node.inputs, *node.outputs]
        return parts

    def topology_sort(self):
        """The nodes of operators, each behind those that it needs."""
        return list(self.graph._ops)

    def build_adjacency_list(self):
        """From each node of an operator to the operators whose results it takes."""
        return {node: {op for var in node.inputs for op in var.inputs} for node in self.graph._ops}

    def to_program(self):
        """The program that the graph shows."""
        return self.graph._program.clone()

    def draw(self, save_path, name, marked_nodes=None, remove_ctr_var=True):
        """Write ``<name>.dot`` to a folder, and ``<name>.pdf`` where the program ``dot`` is
        installed. ``marked_nodes`` are blue."""
        import os
        import shutil
        import subprocess

        kept = [one for one in self.graph._nodes if not (remove_ctr_var and one.is_ctrl_var())]
        marked = set(marked_nodes or ())
        lines = ["digraph G {"]
        for node in kept:
            shape, colour = "box" if node.is_op() else "oval", "blue" if node in marked else "black"
            lines.append(f'  n{node.id()} [label="{node.name()}", shape={shape}, color={colour}];')
            lines += [f"  n{node.id()} -> n{one.id()};" for one in node.outputs if one in kept]
        os.makedirs(save_path, exist_ok=True)
        path = os.path.join(save_path, f"{name}.dot")
        with open(path, "w") as file:
            file.write("\n".join([*lines, "}", ""]))
        if shutil.which("dot"):
            made = os.path.join(save_path, f"{name}.pdf")
            subprocess.run(["dot", "-Tpdf", path, "-o", made], check=True)
