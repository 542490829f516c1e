"""Linear regression as programs of 2018 wrote it: layers, a feeder, an executor and a loop."""

import sys

import numpy
import paddle
import paddle.fluid as fluid


def network():
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    y_predict = fluid.layers.fc(input=x, size=1, act=None)
    cost = fluid.layers.square_error_cost(input=y_predict, label=y)
    return x, y, y_predict, fluid.layers.mean(cost)


def test(executor, program, reader, feeder, fetch_list):
    accumulated = len(fetch_list) * [0]
    count = 0
    for data in reader():
        outs = executor.run(program=program, feed=feeder.feed(data), fetch_list=fetch_list)
        accumulated = [total[0] + total[1][0] for total in zip(accumulated, outs)]
        count += 1
    return [total / count for total in accumulated]


def main(folder):
    x, y, y_predict, avg_cost = network()
    main_program = fluid.default_main_program()
    startup_program = fluid.default_startup_program()
    main_program.random_seed = 90
    startup_program.random_seed = 90
    test_program = main_program.clone(for_test=True)
    sgd_optimizer = fluid.optimizer.SGDOptimizer(learning_rate=0.01)
    sgd_optimizer.minimize(avg_cost)

    train_reader = paddle.batch(
        paddle.reader.shuffle(paddle.dataset.uci_housing.train(), buf_size=500), batch_size=20
    )
    test_reader = paddle.batch(paddle.dataset.uci_housing.test(), batch_size=20)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
    exe.run(startup_program)
    step = 0
    for pass_id in range(20):
        for data in train_reader():
            (avg_loss_value,) = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost])
            if step % 100 == 0:
                print("Train cost, Step %d, Cost %f" % (step, avg_loss_value[0]))
            if numpy.isnan(float(avg_loss_value[0])):
                sys.exit("got NaN loss, training failed.")
            step += 1
        if pass_id % 5 == 4:
            metrics = test(exe, test_program, test_reader, feeder, [avg_cost.name])
            print("Test cost, Pass %d, Cost %f" % (pass_id, metrics[0]))
    fluid.io.save_inference_model(folder, ["x"], [y_predict], exe)
    infer(folder)


def infer(folder):
    exe = fluid.Executor(fluid.CPUPlace())
    inference_scope = fluid.core.Scope()
    with fluid.scope_guard(inference_scope):
        [inference_program, feed_target_names, fetch_targets] = fluid.io.load_inference_model(
            folder, exe
        )
        samples = next(paddle.batch(paddle.dataset.uci_housing.test(), batch_size=10)())
        features = numpy.array([data[0] for data in samples]).astype("float32")
        labels = numpy.array([data[1] for data in samples]).astype("float32")
        assert feed_target_names[0] == "x"
        results = exe.run(
            inference_program,
            feed={feed_target_names[0]: numpy.array(features)},
            fetch_list=fetch_targets,
        )
        print("infer results: (House Price)")
        for predicted, truth in zip(results[0], labels):
            print("%.2f, %.2f" % (predicted[0], truth[0]))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "fit_a_line.inference.model")
