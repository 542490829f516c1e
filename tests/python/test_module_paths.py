"""Paths of modules, and names in them, that public programs of both releases import."""

import importlib
import os

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import static


# ---- where names are


@pytest.mark.parametrize(
    "module, names",
    [
        ("paddle.nn.loss", "CrossEntropyLoss MSELoss"),
        ("paddle.nn.clip", "ClipGradByNorm"),
        ("paddle.nn.decode", ""),
        ("paddle.optimizer.adamw", "AdamW"),
        ("paddle.optimizer.adam", "Adam"),
        ("paddle.optimizer.adamax", "Adamax"),
        ("paddle.optimizer.adagrad", "Adagrad"),
        ("paddle.optimizer.adadelta", "Adadelta"),
        ("paddle.optimizer.lamb", "Lamb"),
        ("paddle.optimizer.momentum", "Momentum"),
        ("paddle.optimizer.rmsprop", "RMSProp"),
        ("paddle.optimizer.sgd", "SGD"),
        ("paddle.base", "DatasetFactory ParamAttr DataFeeder append_backward"),
        ("paddle.base.layers", "io"),
        ("paddle.base.layers.io", "data py_reader"),
        ("paddle.base.reader", "PyReader DataLoader"),
        ("paddle.base.dygraph", "guard"),
        ("paddle.base.dygraph.base", "to_variable no_grad"),
        ("paddle.base.layer_helper", "LayerHelper"),
        ("paddle.base.io", "save_vars"),
        ("paddle.base.proto.framework_pb2", "ProgramDesc"),
        ("paddle.framework.proto.framework_pb2", "ProgramDesc"),
        ("paddle.base.framework", "IrGraph IrNode IrOpNode IrVarNode"),
        ("paddle.base.core", "Graph Node OpDesc BlockDesc"),
        ("paddle.framework", "IrGraph core"),
        ("paddle.fluid.dygraph.base", "to_variable no_grad"),
        ("paddle.fluid.data_feeder", "check_type check_dtype check_variable_and_dtype check_shape"),
        ("paddle.fluid.unique_name", "UniqueNameGenerator generate_with_ignorable_key"),
        ("paddle.static.io", "save_vars load_vars get_program_persistable_vars is_persistable"),
        ("paddle.static.nn.control_flow", "While"),
        ("paddle.distributed.io", "is_persistable load_persistables save_persistables"),
        (
            "paddle.optimizer.lr",
            "exponential_decay natural_exp_decay inverse_time_decay polynomial_decay noam_decay "
            "piecewise_decay cosine_decay linear_lr_warmup autoincreased_step_counter NoamDecay",
        ),
        ("paddle.static", "save_vars load_vars"),
        (
            "paddle.common_ops_import",
            "LayerHelper check_type check_variable_and_dtype core templatedoc",
        ),
        ("paddle.fluid.layers", "core LayerHelper Variable unique_name"),
        ("paddle.fluid.layers.tensor", "Variable LayerHelper core convert_dtype check_type concat"),
        ("paddle.fluid.layers.nn", "Variable LayerHelper core templatedoc Constant fc unique_name"),
        ("paddle.fluid.layers.control_flow", "Variable Program convert_dtype While"),
        ("paddle.fluid.layers.utils", "Variable LayerHelper convert_dtype flatten"),
        ("paddle.fluid.layers.nn", "image_resize group_norm randint mean_iou assign concat zeros"),
        ("paddle.fluid.layers.tensor", "arange full kron tril utils"),
        (
            "paddle.fluid.layers.control_flow",
            "is_empty assign fill_constant logical_and map_structure",
        ),
        ("paddle.fluid.layers.rnn", "nn tensor utils control_flow sequence_lod flatten"),
        ("paddle.fluid.layers.loss", "nn equal square"),
        ("paddle.fluid.layers.io", "core Program unique_name data DataFeeder"),
        ("paddle.fluid.executor", "core Program Variable convert_dtype default_main_program"),
        ("paddle.fluid.io", "core layers reader Program Executor CompiledProgram unique_name"),
        ("paddle.fluid.optimizer", "core layers framework LayerHelper unique_name append_backward"),
        ("paddle.fluid.clip", "core framework Variable"),
        ("paddle.fluid.initializer", "core framework unique_name"),
        ("paddle.fluid.reader", "core DataFeeder BatchSampler default_main_program"),
        ("paddle.fluid.framework", "framework_pb2 EMPTY_VAR_NAME GRAD_VAR_SUFFIX wrap_decorator"),
        ("paddle.fluid.layers.loss", "ParamAttr NumpyArrayInitializer nce"),
        ("paddle.fluid.layers.ops", "convert_np_dtype_to_dtype_ relu"),
        ("paddle.fluid.layers.rnn", "LayerHelper dynamic_lstm"),
        ("paddle.fluid.layers.sequence_lod", "VarDesc sequence_pool"),
        ("paddle.fluid.layers.metric_op", "Normal accuracy"),
        ("paddle.fluid.layers.learning_rate_scheduler", "Parameter noam_decay"),
        ("paddle.fluid.layers.device", "get_places"),
        ("paddle.fluid.incubate.fleet.parameter_server.version", "is_transpiler"),
        ("paddle.utils.download", "get_path_from_url get_weights_path_from_url is_url"),
    ],
)
def test_module(module, names):
    found = importlib.import_module(module)
    for name in names.split():
        assert getattr(found, name) is not None, name


def test_what_modules_hold_is_not_offered_on():
    space = {}
    exec("from paddle.fluid.layers import *", space)
    assert "fc" in space and not {"core", "LayerHelper", "Variable", "Constant"} & set(space)
    exec("from paddle.fluid.layers.loss import *", space)
    assert "cross_entropy" in space and "ParamAttr" not in space


def test_parts_of_names():
    core, framework = fluid.core, fluid.framework
    assert (core.kEmptyVarName(), core.kTempVarName()) == ("@EMPTY@", "@TEMP@")
    assert (core.kGradVarSuffix(), core.kZeroVarSuffix()) == ("@GRAD", "@ZERO")
    assert core.kControlDepVarName() == framework.CONTROL_DEP_VAR_PREFIX == "__control_var"
    assert framework.GRAD_VAR_SUFFIX == "@GRAD" and framework.EMPTY_VAR_NAME == "@EMPTY@"
    assert framework.dtype_is_floating("float32") and not framework.dtype_is_floating("int64")


def test_modes():
    assert paddle.framework.in_pir_mode() is paddle.base.in_pir_mode() is False
    assert paddle.framework.in_dynamic_or_pir_mode() is False


def test_what_is_not_there_is_refused():
    with pytest.raises(AttributeError, match="paddle.nn.decode.*is not implemented|has no"):
        paddle.nn.decode.beam_search_decoder_of_mine  # noqa: B018
    assert paddle.fluid.incubate.fleet.parameter_server.version.is_transpiler()


@pytest.mark.parametrize("word", ["guard", "to_variable", "enable_dygraph", "grad"])
def test_dynamic_graphs_are_refused(word):
    said = (
        rf"^{word}\(\) is for dynamic graphs, which Flotilla does not run: build the program after"
    )
    for module in (paddle.base.dygraph.base, fluid.dygraph.base, fluid.dygraph):
        if hasattr(module, word):
            with pytest.raises(RuntimeError, match=said):
                getattr(module, word)()


def test_what_dynamic_graphs_have_in_programs():
    base = fluid.dygraph.base
    assert base.enabled() is False and base.in_declarative_mode() is False
    assert base.disable_dygraph() is None and fluid.disable_dygraph() is None
    with base.no_grad():
        pass
    with pytest.raises(RuntimeError, match="for dynamic graphs"):
        fluid.enable_dygraph()


def test_devices_of_a_program_of_0_14(executor):
    places = fluid.layers.device.get_places(device_count=2, device_type="CPU")
    assert places.type == fluid.core.VarDesc.VarType.PLACE_LIST
    assert places.name == "get_places_0.out_0"
    op = fluid.default_main_program().global_block().ops[0]
    assert (op.type, op.attr("device_count"), op.attr("device_type")) == ("get_places", 2, "CPU")
    fluid.layers.device.get_places()
    doubled = fluid.layers.scale(fluid.data("x", [2]), 2.0)
    for program in (
        fluid.default_main_program(),
        fluid.Program.parse_from_string(fluid.default_main_program().desc.serialize_to_string()),
    ):
        found = executor.run(program, feed={"x": np.ones(2, "float32")}, fetch_list=[doubled.name])
        assert found[0].tolist() == [2, 2]


# ---- names of 2.0 before its release


def test_short_lived_layers(executor):
    nn = paddle.nn
    x = static.data("x", [1, 2, 4, 4])
    y = nn.MaxPool2d(2)(nn.BatchNorm2d(3)(nn.Conv2d(2, 3, 3, padding=1)(x)))
    assert y.shape == (1, 3, 2, 2)
    assert nn.ConvTranspose2d(3, 2, 2, stride=2)(y).shape == (1, 2, 4, 4)
    assert nn.Conv2d is nn.Conv2D and nn.ConvTranspose2d is nn.Conv2DTranspose
    logs = paddle.log_softmax(static.data("z", [2, 3]))
    fed = {"z": np.zeros((2, 3), "float32")}
    program = static.default_main_program()
    found = executor.run(program, feed=fed, fetch_list=[logs], use_prune=True)[0]
    assert found[0].tolist() == pytest.approx([-np.log(3)] * 3, rel=1e-5)


def test_batches_of_each_trainer(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    batches = paddle.batch(lambda: iter(range(8)), 2)
    assert list(paddle.distributed_batch_reader(batches)()) == [[2, 3], [6, 7]]


# ---- versions, places, flags


def test_versions():
    assert paddle.__git_commit__ == paddle.version.commit and paddle.version.istaged
    assert paddle.version.mkl() == paddle.version.with_mkl == "ON"
    assert paddle.version.xpu() == paddle.version.cinn() == paddle.version.cuda() == "False"
    folder = os.path.dirname(paddle.__file__)
    assert paddle.sysconfig.get_include() == os.path.join(folder, "include")
    assert paddle.sysconfig.get_lib() == os.path.join(folder, "libs")


def test_places():
    assert not fluid.is_compiled_with_xpu() and not fluid.core.is_compiled_with_npu()
    assert not fluid.is_compiled_with_npu() and not fluid.is_compiled_with_rocm()
    assert paddle.is_compiled_with_distribute() and fluid.core.is_compiled_with_dist()
    assert fluid.core.is_compiled_with_mkldnn() and not fluid.core.is_compiled_with_brpc()
    assert not (paddle.is_compiled_with_cinn() or paddle.is_compiled_with_ipu())
    assert fluid.XPUPlace(0).is_xpu_place() and fluid.NPUPlace(1).is_npu_place()
    assert fluid.NPUPlace is paddle.NPUPlace and repr(paddle.NPUPlace(1)) == "Place(npu:1)"
    place = fluid.core.Place()
    place.set_place(fluid.CPUPlace())
    assert place.is_cpu_place()
    place.set_place(fluid.XPUPlace(2))
    assert place.is_xpu_place() and place.xpu_device_id() == 2 and place == fluid.XPUPlace(2)
    with pytest.raises(TypeError, match="set_place takes a place, but got a str"):
        place.set_place("cpu")
    assert len(static.npu_places([0, 1])) == 2
    assert fluid.Executor(fluid.NPUPlace(0)).place.is_npu_place()


@pytest.mark.parametrize(
    "name, value",
    [
        ("eager_delete_tensor_gb", 0.0),
        ("fraction_of_gpu_memory_to_use", 0.92),
        ("allocator_strategy", "auto_growth"),
        ("use_mkldnn", False),
        ("enable_parallel_graph", False),  # of 1.8.5 alone
        ("new_executor_serial_run", False),  # of 2.6.2 alone
        ("cudnn_exhaustive_search", False),
    ],
)
def test_flags_of_the_releases(name, value):
    assert fluid.get_flags(f"FLAGS_{name}") == {f"FLAGS_{name}": value}


def test_all_flags():
    flags = fluid.core.globals()
    assert flags["FLAGS_fraction_of_gpu_memory_to_use"] == 0.92 and len(flags) > 140
    assert "FLAGS_benchmark" in flags and "FLAGS_nothing" not in flags
    flags["FLAGS_benchmark"] = True
    try:
        assert paddle.get_flags("FLAGS_benchmark") == {"FLAGS_benchmark": True}
    finally:
        flags["FLAGS_benchmark"] = False
    with pytest.raises(TypeError, match="FLAGS_benchmark cannot be taken away"):
        del flags["FLAGS_benchmark"]


def test_a_flag_from_the_environment(monkeypatch):
    monkeypatch.setenv("FLAGS_use_mkldnn", "1")
    assert paddle.get_flags(["FLAGS_use_mkldnn"]) == {"FLAGS_use_mkldnn": True}
    with pytest.raises(
        ValueError, match="FLAGS_use_mkldn is not set. Did you mean FLAGS_use_mkldnn"
    ):
        paddle.get_flags("FLAGS_use_mkldn")


# ---- checks of arguments


def test_checks_of_arguments():
    from paddle.fluid.data_feeder import (
        check_dtype,
        check_shape,
        check_type,
        check_variable_and_dtype,
    )

    x, n = fluid.data("x", [2]), fluid.data("n", [1], "int32")
    check_variable_and_dtype(x, "x", ["float32", "float64"], "mine")
    check_type(3, "n", (int, type(None)), "mine")
    check_dtype("int64", "n", ("int64",), "mine")
    check_shape([2, n], "mine")
    check_shape(n, "mine")
    for call, said in (
        (lambda: check_type(3, "x", str, "mine"), "^x of mine must be a str, but is a int$"),
        (
            lambda: check_variable_and_dtype(x, "x", ["int32", "int64"], "mine", "Cast it."),
            "^x of mine must hold int32 or int64, but holds float32. Cast it.$",
        ),
        (
            lambda: check_variable_and_dtype(3, "x", ["int32"], "mine"),
            "^x of mine must be a Variable, but is a int$",
        ),
        (lambda: check_shape([2, 1.5], "mine"), "an element of shape of mine must be a int or"),
        (
            lambda: check_shape(x, "mine"),
            "shape of mine must hold int32 or int64, but holds float32",
        ),
    ):
        with pytest.raises(TypeError, match=said):
            call()


# ---- memory


def test_memory_usage():
    x = fluid.data("x", [-1, 100])
    loss = fluid.layers.mean(fluid.layers.fc(x, 200, act="relu"))
    fluid.optimizer.SGD(0.1).minimize(loss)
    main = fluid.default_main_program()
    least, most, unit = fluid.contrib.memory_usage(main, batch_size=10)
    assert unit == "KB" and 0 < least <= most
    kept = (100 * 200 + 200 + 1) * 4 / 1024
    assert least > kept + 10 * 100 * 4 / 1024
    more = fluid.contrib.memory_usage(main, batch_size=1000)
    assert more[2] == "MB" and more[0] * 1024 > least
    assert static.global_scope().find_var("fc_0.w_0") is None
    with pytest.raises(TypeError, match="memory_usage takes a program, but got a str"):
        fluid.contrib.memory_usage("main", 10)
    with pytest.raises(ValueError, match="batch_size must be positive, but is 0"):
        fluid.contrib.memory_usage(main, 0)


def test_memory_usage_of_sequences():
    words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
    sums = fluid.layers.sequence_pool(fluid.layers.embedding(words, [50, 8]), "sum")
    fluid.layers.fc(sums, 2)
    least, most, unit = fluid.contrib.memory_usage(fluid.default_main_program(), 16)
    assert least > 0 and most >= least and unit in ("B", "KB")


def test_memory_usage_of_a_program_that_reads():
    reader = fluid.layers.py_reader(4, [[-1, 8, 1], [-1, 1]], ["int64", "int64"])
    words, label = fluid.layers.read_file(reader)
    sums = fluid.layers.reduce_sum(fluid.layers.embedding(words, [50, 8]), 1)
    loss = fluid.layers.cross_entropy(fluid.layers.fc(sums, 2, act="softmax"), label)
    fluid.optimizer.Adam(0.1).minimize(fluid.layers.mean(loss))
    main = fluid.default_main_program()
    least, most, unit = fluid.contrib.memory_usage(main, 32)
    assert unit == "KB" and 32 * 8 * 8 / 1024 < least <= most
    tested = fluid.contrib.memory_usage(main.clone(for_test=True), 3200)
    assert tested[2] == "MB" and tested[0] < fluid.contrib.memory_usage(main, 3200)[0]


def test_memory_usage_needs_known_sizes():
    fluid.layers.relu(fluid.data("x", [-1, -1]))
    with pytest.raises(ValueError, match='"x" has 2 extents that are not known'):
        fluid.contrib.memory_usage(fluid.default_main_program(), 10)
