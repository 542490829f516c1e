"""paddle.inference, and what came before it in fluid.core."""

import threading

import numpy as np
import paddle
import pytest
from paddle import fluid, inference, static


def save(folder, dim=4):
    """A model of both formats in `folder`; what it is called, and its parameters as arrays."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, dim])
        scale = static.data("scale", [None, 1])
        y = static.nn.fc(x, 3, weight_attr="w", bias_attr="b", activation="tanh") * scale
    executor = static.Executor()
    executor.run(startup)
    static.save_inference_model(str(folder / "new/m"), [x, scale], [y], executor, program=main)
    with static.program_guard(main, startup):
        fluid.io.save_inference_model(str(folder / "old"), ["x", "scale"], [y], executor)
    scope = static.global_scope()
    w, b = (np.array(scope.find_var(name).get_tensor()) for name in "wb")
    return lambda x, scale: np.tanh(x @ w + b) * scale


def batch(rows, dim=4, seed=0):
    draw = np.random.RandomState(seed)
    return draw.rand(rows, dim).astype("float32"), draw.rand(rows, 1).astype("float32")


def predict(predictor, x, scale):
    predictor.get_input_handle("x").copy_from_cpu(x)
    predictor.get_input_handle("scale").copy_from_cpu(scale)
    predictor.run()
    (name,) = predictor.get_output_names()
    return predictor.get_output_handle(name).copy_to_cpu()


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def configs(folder):
    new, old = folder / "new", folder / "old"
    program, params = ((new / f"m.{end}").read_bytes() for end in ("pdmodel", "pdiparams"))
    from_memory = inference.Config()
    from_memory.set_model_buffer(program, len(program), params, len(params))
    by_setters = inference.Config()
    by_setters.set_prog_file(str(new / "m.pdmodel"))
    by_setters.set_params_file(str(new / "m.pdiparams"))
    return {
        "files": inference.Config(str(new / "m.pdmodel"), str(new / "m.pdiparams")),
        "setters": by_setters,
        "copy": inference.Config(by_setters),
        "new folder": inference.Config(str(new)),
        "old folder": inference.Config(str(old)),
        "memory": from_memory,
    }


def test_models_of_both_formats_predict(tmp_path):
    model = save(tmp_path)
    for name, config in configs(tmp_path).items():
        predictor = inference.create_predictor(config)
        assert predictor.get_input_names() == ["x", "scale"], name
        for rows in (2, 5, 2):
            close(predict(predictor, *batch(rows)), model(*batch(rows)))
        assert predictor._core.plans_made() == 2


def test_handles(tmp_path):
    model = save(tmp_path)
    predictor = inference.create_predictor(inference.Config(str(tmp_path / "new")))
    x, scale = batch(3)
    handle = predictor.get_input_handle("x")
    handle.reshape([3, 4])
    assert (handle.shape(), handle.type()) == ([3, 4], inference.DataType.FLOAT32)
    np.testing.assert_array_equal(handle.copy_to_cpu(), np.zeros((3, 4)))
    predictor.get_input_handle("scale").copy_from_cpu(scale)
    predictor.run()
    output = predictor.get_output_handle(predictor.get_output_names()[0])
    close(output.copy_to_cpu(), model(np.zeros((3, 4)), scale))
    assert (output.shape(), output.lod(), output.name()) == (
        *([3, 3], []),
        predictor.get_output_names()[0],
    )
    handle.share_external_data(x)
    x[:] = 1
    predictor.run()
    close(output.copy_to_cpu(), model(x, scale))
    handle.copy_from_cpu(x)
    x[:] = 2
    predictor.run()
    close(output.copy_to_cpu(), model(np.ones_like(x), scale))
    (returned,) = predictor.run([x, scale])
    close(np.array(returned), model(x, scale))


def test_sequences_keep_their_lod(tmp_path):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = fluid.layers.data("x", [1], lod_level=1)
        y = fluid.layers.sequence_pool(x, "sum")
    static.save_inference_model(str(tmp_path / "m"), [x], [y], static.Executor(), program=main)
    predictor = inference.create_predictor(inference.Config(str(tmp_path)))
    handle = predictor.get_input_handle("x")
    handle.set_lod([[0, 2, 3]])
    handle.copy_from_cpu(np.array([[1], [2], [4]], "float32"))
    predictor.run()
    output = predictor.get_output_handle(predictor.get_output_names()[0])
    assert output.copy_to_cpu().tolist() == [[3], [4]]
    assert handle.lod() == [[0, 2, 3]]


def test_clones_on_threads_share_the_weights(tmp_path):
    model = save(tmp_path, dim=64)
    pool = inference.PredictorPool(inference.Config(str(tmp_path / "new")), 8)
    wrong = []

    def work(t):
        for i in range(50):
            values = batch(1 + (t + i) % 4, 64, seed=t)
            if not np.allclose(predict(pool.retrive(t), *values), model(*values), atol=1e-5):
                wrong.append((t, i))

    threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_refused(tmp_path):
    save(tmp_path)
    config = inference.Config(str(tmp_path / "new"))
    predictor = inference.create_predictor(config)
    with pytest.raises(ValueError, match='the input "x" has no value: set it before run'):
        predictor.run()
    with pytest.raises(ValueError, match='no input "z"; its inputs are: x, scale'):
        predictor.get_input_handle("z")
    with pytest.raises(TypeError, match="takes a numpy array, but got list"):
        predictor.get_input_handle("x").copy_from_cpu([1.0])
    with pytest.raises(ValueError, match="the model has 2 inputs, but run.. got 1"):
        predictor.run([np.zeros((1, 4), "float32")])
    with pytest.raises(ValueError, match="names no model"):
        inference.create_predictor(inference.Config())
    with pytest.raises(TypeError, match="takes a Config, but got str"):
        inference.create_predictor("m")
    with pytest.raises(RuntimeError, match="nowhere"):
        inference.create_predictor(inference.Config(str(tmp_path / "nowhere"), ""))
    with pytest.raises(ValueError, match="threads must be positive"):
        config.set_cpu_math_library_num_threads(0)
    with pytest.raises(IndexError, match=r"index must lie in \[0, 2\)"):
        inference.PredictorPool(config, 2).retrive(2)
    broken = (tmp_path / "new/m.pdiparams").read_bytes()[:-3]
    program = (tmp_path / "new/m.pdmodel").read_bytes()
    with pytest.raises((ValueError, RuntimeError)):
        config.set_model_buffer(program, len(program), broken, len(broken))
        inference.create_predictor(config)


def test_switches_have_no_effect_and_say_so_once(tmp_path):
    model = save(tmp_path)
    config = inference.Config(str(tmp_path / "new"))
    assert config.ir_optim() and not config.use_gpu() and not config.mkldnn_enabled()
    config.switch_ir_optim(False)
    config.enable_mkldnn()
    config.enable_memory_optim()
    assert not config.ir_optim() and config.mkldnn_enabled()
    with pytest.warns(UserWarning, match="enable_use_gpu.* has no effect") as notices:
        config.enable_use_gpu(100, 0)
        config.enable_tensorrt_engine(1 << 30, 1, 3, inference.PrecisionType.Half, False, False)
        config.delete_pass("fc_fuse_pass")
    assert len(notices) == 1
    assert config.use_gpu() and config.memory_pool_init_size_mb() == 100
    config.disable_gpu()
    assert "use_gpu: False" in config.summary()
    close(predict(inference.create_predictor(config), *batch(2)), model(*batch(2)))


def test_words_of_1_8(tmp_path):
    model = save(tmp_path)
    x, scale = batch(3)
    config = fluid.core.AnalysisConfig(str(tmp_path / "old"))
    config.disable_gpu()
    config.switch_specify_input_names(True)
    predictor = fluid.core.create_paddle_predictor(config)
    tensors = [fluid.core.PaddleTensor(scale, "scale"), fluid.core.PaddleTensor(data=x, name="x")]
    (output,) = predictor.clone().run(tensors)
    close(output.as_ndarray(), model(x, scale))
    assert (output.shape, output.dtype) == ([3, 3], fluid.core.PaddleDType.FLOAT32)
    close(np.reshape(output.data.float_data(), (3, 3)), model(x, scale))

    native = fluid.core.NativeConfig()
    native.model_dir, native.use_gpu = str(tmp_path / "old"), False
    (output,) = fluid.core.create_paddle_predictor(native).run(
        [fluid.core.PaddleTensor(x), fluid.core.PaddleTensor(scale)]
    )
    close(output.as_ndarray(), model(x, scale))

    config.switch_use_feed_fetch_ops(False)
    predictor = fluid.core.create_paddle_predictor(config)
    for name, value in (("x", x), ("scale", scale)):
        predictor.get_input_tensor(name).copy_from_cpu(value)
    assert predictor.zero_copy_run()
    (name,) = predictor.get_output_names()
    close(predictor.get_output_tensor(name).copy_to_cpu(), model(x, scale))


def test_buffers_of_1_8():
    buffer = fluid.core.PaddleBuf([1.0, 2.0])
    assert (buffer.length(), buffer.float_data(), buffer.empty()) == (8, [1.0, 2.0], False)
    buffer.reset(np.array([3, 4], "int64"))
    assert (buffer.int64_data(), buffer.tolist("int64")) == ([3, 4], [3, 4])
    buffer.resize(8)
    assert buffer.int64_data() == [3]
    assert fluid.core.PaddleBuf(4).int32_data() == [0]


def test_small_things():
    assert inference.get_num_bytes_of_data_type(inference.DataType.FLOAT16) == 2
    assert inference.get_version().startswith("version: ")
    assert inference.get_trt_compile_version() == (0, 0, 0)
    assert paddle.inference is inference
