"""The signatures that programs of both eras call, with their defaults.

A line is a name and what Paddle's documents and installations show. Ours may have further words at
the end, and may take an argument under another era's name as well (`@also`): then the position is
what counts, and both words are understood.
"""

import importlib
import inspect

import pytest

# 1.x
FLUID = """
fluid.layers.data(name, shape, append_batch_size=True, dtype='float32', lod_level=0, type=7, stop_gradient=True)
fluid.data(name, shape, dtype='float32', lod_level=0)
fluid.layers.fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None)
fluid.layers.conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW')
fluid.layers.pool2d(input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True, ceil_mode=False, name=None, exclusive=True, data_format='NCHW')
fluid.layers.batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None, data_layout='NCHW', in_place=False, name=None, moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True, use_global_stats=False)
fluid.layers.elementwise_add(x, y, axis=-1, act=None, name=None)
fluid.layers.softmax(input, use_cudnn=False, name=None, axis=-1)
fluid.layers.softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True, return_softmax=False, axis=-1)
fluid.layers.cross_entropy(input, label, soft_label=False, ignore_index=-100)
fluid.layers.accuracy(input, label, k=1, correct=None, total=None)
fluid.layers.mean(x, name=None)
fluid.layers.reduce_mean(input, dim=None, keep_dim=False, name=None)
fluid.layers.square_error_cost(input, label)
fluid.layers.embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype='float32')
fluid.Executor(place=None)
fluid.Executor.run(self, program=None, feed=None, fetch_list=None, feed_var_name='feed', fetch_var_name='fetch', scope=None, return_numpy=True, use_program_cache=False, return_merged=True, use_prune=False)
fluid.DataFeeder(feed_list, place, program=None)
fluid.optimizer.SGD(learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None)
fluid.optimizer.Momentum(learning_rate, momentum, parameter_list=None, use_nesterov=False, regularization=None)
fluid.optimizer.Adam(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameter_list=None, regularization=None, grad_clip=None, name=None, lazy_mode=False)
fluid.optimizer.Adagrad(learning_rate, epsilon=1e-06, parameter_list=None, regularization=None, grad_clip=None, name=None, initial_accumulator_value=0.0)
fluid.optimizer.SGD.minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None)
fluid.ParamAttr(name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True, do_model_average=True)
fluid.initializer.Constant(value=0.0, force_cpu=False)
fluid.initializer.Uniform(low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0)
fluid.initializer.Normal(loc=0.0, scale=1.0, seed=0)
fluid.initializer.TruncatedNormal(loc=0.0, scale=1.0, seed=0)
fluid.initializer.Xavier(uniform=True, fan_in=None, fan_out=None, seed=0)
fluid.initializer.MSRA(uniform=True, fan_in=None, seed=0)
fluid.initializer.NumpyArrayInitializer(value)
fluid.regularizer.L1DecayRegularizer(regularization_coeff=0.0)
fluid.regularizer.L2DecayRegularizer(regularization_coeff=0.0)
fluid.clip.GradientClipByValue(max, min=None, need_clip=None)
fluid.clip.GradientClipByNorm(clip_norm, need_clip=None)
fluid.clip.GradientClipByGlobalNorm(clip_norm, group_name='default_group', need_clip=None)
fluid.backward.append_backward(loss, parameter_list=None, no_grad_set=None, callbacks=None, checkpoints=None)
fluid.backward.gradients(targets, inputs, target_gradients=None, no_grad_set=None)
fluid.program_guard(main_program, startup_program=None)
fluid.name_scope(prefix=None)
fluid.device_guard(device=None)
fluid.scope_guard(scope)
fluid.unique_name.guard(new_generator=None)
fluid.cpu_places(device_count=None)
fluid.cuda_places(device_ids=None)
fluid.create_lod_tensor(data, recursive_seq_lens, place)
fluid.create_random_int_lodtensor(recursive_seq_lens, base_shape, place, low, high)
fluid.CompiledProgram(program_or_graph, build_strategy=None)
fluid.CompiledProgram.with_data_parallel(self, loss_name=None, build_strategy=None, exec_strategy=None, share_vars_from=None, places=None)
fluid.ParallelExecutor(use_cuda, loss_name=None, main_program=None, share_vars_from=None, exec_strategy=None, build_strategy=None, num_trainers=1, trainer_id=0, scope=None)
fluid.ParallelExecutor.run(self, fetch_list, feed=None, feed_dict=None, return_numpy=True)
fluid.io.save_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None)
fluid.io.load_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None)
fluid.io.save_params(executor, dirname, main_program=None, filename=None)
fluid.io.load_params(executor, dirname, main_program=None, filename=None)
fluid.io.save_persistables(executor, dirname, main_program=None, filename=None)
fluid.io.load_persistables(executor, dirname, main_program=None, filename=None)
fluid.io.save_inference_model(dirname, feeded_var_names, target_vars, executor, main_program=None, model_filename=None, params_filename=None, export_for_deployment=True, program_only=False)
fluid.io.load_inference_model(dirname, executor, model_filename=None, params_filename=None, pserver_endpoints=None)
fluid.save(program, model_path)
fluid.load(program, model_path, executor=None, var_list=None)
fluid.io.load_program_state(model_path, var_list=None)
fluid.io.set_program_state(program, state_dict)
fluid.metrics.Accuracy.update(self, value, weight)
fluid.io.DataLoader.from_generator(feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False, use_multiprocess=False, drop_last=True)
fluid.io.DataLoader.from_dataset(dataset, places, drop_last=True)
fluid.io.PyReader(feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False)
fluid.io.PyReader.decorate_sample_generator(self, sample_generator, batch_size, drop_last=True, places=None)
fluid.io.PyReader.decorate_sample_list_generator(self, reader, places=None)
fluid.io.PyReader.decorate_batch_generator(self, reader, places=None)
fluid.layers.py_reader(capacity, shapes, dtypes, lod_levels=None, name=None, use_double_buffer=True)
fluid.layers.create_py_reader_by_data(capacity, feed_list, name=None, use_double_buffer=True)
fluid.layers.double_buffer(reader, place=None, name=None)
fluid.layers.read_file(reader)
"""

# 2.x
PADDLE = """
data(name, shape, dtype='float32', lod_level=0)
seed(seed)
save(obj, path, protocol=4)
load(path)
set_flags(flags)
get_flags(flags)
set_device(device)
ParamAttr(name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True, do_model_average=True, need_clip=True)
static.data(name, shape, dtype=None, lod_level=0)
static.InputSpec(shape, dtype='float32', name=None, stop_gradient=False)
static.Executor(place=None)
static.Executor.run(self, program=None, feed=None, fetch_list=None, feed_var_name='feed', fetch_var_name='fetch', scope=None, return_numpy=True, use_program_cache=False, use_prune=False)
static.nn.fc(x, size, num_flatten_dims=1, weight_attr=None, bias_attr=None, activation=None, name=None)
static.nn.conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format='NCHW')
static.nn.batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None, data_layout='NCHW', in_place=False, name=None, moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True, use_global_stats=False)
static.nn.layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, name=None)
static.nn.embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype='float32')
static.nn.sparse_embedding(input, size, padding_idx=None, is_test=False, entry=None, table_class='MemorySparseTable', param_attr=None, dtype='float32', slot=None)
static.create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None)
static.create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None)
static.accuracy(input, label, k=1, correct=None, total=None)
static.auc(input, label, curve='ROC', num_thresholds=4095, topk=1, slide_steps=1, ins_tag_weight=None)
static.append_backward(loss, parameter_list=None, no_grad_set=None, callbacks=None, checkpoints=None, distop_context=None)
static.gradients(targets, inputs, target_gradients=None, no_grad_set=None)
static.save(program, model_path, protocol=4)
static.load(program, model_path, executor=None, var_list=None)
static.save_inference_model(path_prefix, feed_vars, fetch_vars, executor)
static.load_inference_model(path_prefix, executor)
static.serialize_program(feed_vars, fetch_vars)
static.serialize_persistables(feed_vars, fetch_vars, executor)
static.deserialize_program(data)
static.deserialize_persistables(program, data, executor)
static.save_to_file(path, content)
static.load_from_file(path)
static.normalize_program(program, feed_vars, fetch_vars)
static.load_program_state(model_path, var_list=None)
static.set_program_state(program, state_dict)
static.program_guard(main_program, startup_program=None)
static.CompiledProgram(program_or_graph, build_strategy=None)
static.Program.clone(self, for_test=False)
static.Program.state_dict(self, mode='all', scope=None)
static.Program.set_state_dict(self, state_dict, scope=None)
utils.unique_name.generate(key)
utils.unique_name.guard(new_generator=None)
regularizer.L1Decay(coeff=0.0)
regularizer.L2Decay(coeff=0.0)
nn.initializer.Constant(value=0.0)
nn.initializer.Uniform(low=-1.0, high=1.0, name=None)
nn.initializer.Normal(mean=0.0, std=1.0, name=None)
nn.initializer.TruncatedNormal(mean=0.0, std=1.0, name=None)
nn.initializer.XavierUniform(fan_in=None, fan_out=None, name=None)
nn.initializer.XavierNormal(fan_in=None, fan_out=None, name=None)
nn.initializer.KaimingUniform(fan_in=None, negative_slope=0.0, nonlinearity='relu')
nn.initializer.KaimingNormal(fan_in=None, negative_slope=0.0, nonlinearity='relu')
nn.initializer.Assign(value, name=None)
nn.initializer.set_global_initializer(weight_init, bias_init=None)
metric.accuracy(input, label, k=1, correct=None, total=None, name=None)
nn.functional.cross_entropy(input, label, weight=None, ignore_index=-100, reduction='mean', soft_label=False, axis=-1, use_softmax=True, label_smoothing=0.0, name=None)
nn.functional.log_loss(input, label, epsilon=0.0001, name=None)
nn.functional.l1_loss(input, label, reduction='mean', name=None)
nn.functional.mse_loss(input, label, reduction='mean', name=None)
nn.Linear(in_features, out_features, weight_attr=None, bias_attr=None, name=None)
nn.Embedding(num_embeddings, embedding_dim, padding_idx=None, sparse=False, weight_attr=None, name=None)
io.DataLoader(dataset, feed_list=None, places=None, return_list=True, batch_sampler=None, batch_size=1, shuffle=False, drop_last=False, collate_fn=None, num_workers=0, use_buffer_reader=True, prefetch_factor=2, use_shared_memory=True, timeout=0, worker_init_fn=None, persistent_workers=False)
io.TensorDataset(tensors)
io.Subset(dataset, indices)
io.random_split(dataset, lengths, generator=None)
io.RandomSampler(data_source, replacement=False, num_samples=None, generator=None)
io.WeightedRandomSampler(weights, num_samples, replacement=True)
io.BatchSampler(dataset=None, sampler=None, shuffle=False, batch_size=1, drop_last=False)
io.DistributedBatchSampler(dataset, batch_size, num_replicas=None, rank=None, shuffle=False, drop_last=False)
io.get_worker_info()
optimizer.SGD(learning_rate=0.001, parameters=None, weight_decay=None, grad_clip=None)
optimizer.Momentum(learning_rate=0.001, momentum=0.9, parameters=None, use_nesterov=False, weight_decay=None)
optimizer.Adam(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, parameters=None, weight_decay=None, grad_clip=None, lazy_mode=False)
"""

# Readers and data sets of both eras.
READERS = """
batch(reader, batch_size, drop_last=False)
reader.shuffle(reader, buf_size)
reader.buffered(reader, size)
reader.chain(*readers)
reader.compose(*readers)
reader.map_readers(func, *readers)
reader.xmap_readers(mapper, reader, process_num, buffer_size, order=False)
reader.firstn(reader, n)
reader.cache(reader)
reader.multiprocess_reader(readers, use_pipe=True, queue_size=1000)
dataset.common.download(url, module_name, md5sum, save_name=None)
dataset.common.md5file(fname)
dataset.common.split(reader, line_count, suffix='%05d.pickle')
dataset.common.cluster_files_reader(files_pattern, trainer_count, trainer_id)
dataset.mnist.reader_creator(image_filename, label_filename, buffer_size)
dataset.uci_housing.load_data(filename, feature_num=14, ratio=0.8)
dataset.flowers.reader_creator(data_file, label_file, setid_file, dataset_name, mapper, buffered_size=1024, use_xmap=True, cycle=False)
dataset.cifar.reader_creator(filename, sub_name, cycle=False)
dataset.cifar.train10(cycle=False)
dataset.imdb.build_dict(pattern, cutoff)
dataset.imdb.reader_creator(pos_pattern, neg_pattern, word_idx)
dataset.imikolov.build_dict(min_word_freq=50)
dataset.imikolov.train(word_idx, n, data_type=1)
dataset.image.simple_transform(im, resize_size, crop_size, is_train, is_color=True, mean=None)
dataset.image.load_image_bytes(bytes, is_color=True)
dataset.conll05.reader_creator(corpus_reader, word_dict=None, predicate_dict=None, label_dict=None)
dataset.wmt14.train(dict_size)
dataset.wmt14.get_dict(dict_size, reverse=True)
dataset.wmt16.train(src_dict_size, trg_dict_size, src_lang='en')
dataset.wmt16.get_dict(lang, dict_size, reverse=False)
"""


def parse(line):
    """("static.nn.fc", its parameters)"""
    name, arguments = line.split("(", 1)
    scope = {}
    exec(f"def function({arguments}: pass", scope)
    return name, list(inspect.signature(scope["function"]).parameters.values())


def resolve(name):
    """The object that `name` stands for inside paddle."""
    found = importlib.import_module("paddle")
    for part in name.split("."):
        found = getattr(found, part)
    return found


LINES = [line for text in (FLUID, PADDLE, READERS) for line in text.strip().splitlines()]


@pytest.mark.parametrize("line", LINES, ids=[line.split("(")[0] for line in LINES])
def test_signature(line):
    name, expected = parse(line)
    found = resolve(name)
    ours = list(inspect.signature(found).parameters.values())
    words = {p.name: p for p in ours}
    also = getattr(found, "_also", {})
    for position, parameter in enumerate(expected):
        word = also.get(parameter.name, parameter.name)
        assert word in words, f"{name} does not take {parameter.name}"
        assert words[word].default == parameter.default, f"{name}: default of {parameter.name}"
        if parameter.name not in OUT_OF_PLACE.get(name, ()):
            assert ours[position].name == word, f"{name}: {parameter.name} stands at {position}"


# use_prune comes after return_merged, which only 1.x has.
OUT_OF_PLACE = {"static.Executor.run": ["use_prune"]}


def test_every_line_is_documented():
    missing = [name for name, _ in map(parse, LINES) if not inspect.getdoc(resolve(name))]
    assert missing == []
