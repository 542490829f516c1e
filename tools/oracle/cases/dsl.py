"""Words for writing operator cases; tests/oracle/op_program.py says what a case is."""


def uniform(*shape, low=-1.0, high=1.0, dtype="float32"):
    return {"shape": list(shape), "dtype": dtype, "rule": ["uniform", low, high]}


def positive(*shape):
    return uniform(*shape, low=0.2, high=2.0)


def special(*shape, low=-4.0, high=4.0, dtype="float32"):
    """Numbers among which stand NaN and both infinities."""
    return {"shape": list(shape), "dtype": dtype, "rule": ["special", low, high]}


def integers(*shape, low=0, high=10, dtype="int64"):
    return {"shape": list(shape), "dtype": dtype, "rule": ["integers", low, high]}


def values(numbers, *shape, dtype="float32"):
    return {"shape": list(shape), "dtype": dtype, "rule": ["values", numbers]}


def full(value, *shape, dtype="float32"):
    return {"shape": list(shape), "dtype": dtype, "rule": ["full", value]}


def sequences(array, *levels):
    """`array` with sequences of these lengths, level by level."""
    return {**array, "lod": [list(lengths) for lengths in levels]}


def op(type, inputs, outputs, attrs=None):
    return {"type": type, "inputs": inputs, "outputs": outputs, "attrs": attrs or {}}


def program(name, variables, ops, fetch, **rest):
    """A case of several ops, all names written out."""
    return {"name": name, "vars": variables, "ops": ops, "fetch": fetch, **rest}


def case(
    name, inputs, outputs="Out", attrs=None, *, grad="", seeds="", dtypes=None, sparse=None, lods=""
):
    """A case of one op, whose type is `name` up to the first dot.

    `inputs` maps slots to arrays or lists of them. `outputs` names slots: `Out*2` is a list of two,
    `-XShape` is not compared, and `ParamOut` beside an input `Param` is that very variable. `grad`
    names the input slots to differentiate by, `seeds` the output slots that gradients flow from
    (default: the first); `dtypes` the outputs that are not float32, `lods` those whose sequences
    are compared.
    """
    variables, slots_in, slots_out, fetch = {}, {}, {}, []
    for slot, arrays in inputs.items():
        many = arrays if isinstance(arrays, list) else [arrays]
        slots_in[slot] = _names(slot.lower(), len(many) if isinstance(arrays, list) else 0)
        variables.update(zip(slots_in[slot], many))
    for output in outputs.split():
        slot, _, count = output.lstrip("-").partition("*")
        in_place = slot.endswith("Out") and slot[:-3] in inputs
        base = slot[:-3].lower() if in_place else slot.lower()
        if base in variables and not in_place:
            base += "_out"
        slots_out[slot] = _names(base, int(count or 0))
        if not output.startswith("-"):
            fetch += slots_out[slot]
    for slot, dtype in (dtypes or {}).items():
        for variable in slots_out[slot]:
            variables.setdefault(variable, {"dtype": dtype})
    found = program(name, variables, [op(name.split(".")[0], slots_in, slots_out, attrs)], fetch)
    if grad:
        found["grad"] = [name for slot in grad.split() for name in slots_in[slot]]
        sources = seeds.split() or [next(iter(slots_out))]
        found["seeds"] = [name for slot in sources for name in slots_out[slot]]
    if sparse:
        found["sparse"] = sparse
    if lods:
        found["lods"] = [name for slot in lods.split() for name in slots_out[slot]]
    return found


def _names(base, count):
    return [f"{base}_{i}" for i in range(count)] if count else [base]
