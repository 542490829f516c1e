"""The recommender of the fluid era's book: features of users and movies, joined by their cosine."""

import sys

import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.layers as layers

IS_SPARSE = True
BATCH_SIZE = 256
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 90


def embedded(name, rows, size):
    ids = fluid.data(name=name, shape=[None], dtype="int64")
    return fluid.embedding(
        input=ids,
        dtype="float32",
        size=[rows, size],
        param_attr=name + "_table",
        is_sparse=IS_SPARSE,
    )


def user_features():
    movielens = paddle.dataset.movielens
    parts = [
        layers.fc(input=embedded("user_id", movielens.max_user_id() + 1, 32), size=32),
        layers.fc(input=embedded("gender_id", 2, 16), size=16),
        layers.fc(input=embedded("age_id", len(movielens.age_table), 16), size=16),
        layers.fc(input=embedded("job_id", movielens.max_job_id() + 1, 16), size=16),
    ]
    return layers.fc(input=layers.concat(input=parts, axis=1), size=200, act="tanh")


def movie_features():
    movielens = paddle.dataset.movielens
    movie = layers.fc(input=embedded("movie_id", movielens.max_movie_id() + 1, 32), size=32)
    category_id = fluid.data(name="category_id", shape=[None, 1], dtype="int64", lod_level=1)
    category = layers.embedding(
        input=category_id, size=[len(movielens.movie_categories()), 32], is_sparse=IS_SPARSE
    )
    category = layers.sequence_pool(input=category, pool_type="sum")
    title_id = fluid.data(name="movie_title", shape=[None, 1], dtype="int64", lod_level=1)
    title = layers.embedding(
        input=title_id, size=[len(movielens.get_movie_title_dict()), 32], is_sparse=IS_SPARSE
    )
    title = layers.sequence_pool(input=title, pool_type="sum")
    return layers.fc(
        input=layers.concat(input=[movie, category, title], axis=1), size=200, act="tanh"
    )


def main():
    inference = layers.cos_sim(X=user_features(), Y=movie_features())
    scale_infer = layers.scale(x=inference, scale=5.0)
    label = fluid.data(name="score", shape=[None, 1], dtype="float32")
    avg_cost = layers.mean(layers.square_error_cost(input=scale_infer, label=label))
    fluid.default_startup_program().random_seed = 3
    fluid.optimizer.Adam(learning_rate=0.003).minimize(avg_cost)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    train_reader = paddle.batch(
        paddle.reader.shuffle(paddle.dataset.movielens.train(), buf_size=8192), BATCH_SIZE
    )
    order = ["user_id", "gender_id", "age_id", "job_id", "movie_id", "category_id"]
    order += ["movie_title", "score"]
    block = fluid.default_main_program().global_block()
    feeder = fluid.DataFeeder([block.var(name) for name in order], fluid.CPUPlace())
    for step, data in enumerate(train_reader()):
        out = exe.run(feed=feeder.feed(data), fetch_list=[avg_cost.name])
        if step % 30 == 0:
            print("step %d, cost %.4f" % (step, np.array(out[0])[0]))
        if step == STEPS:
            break
    params = fluid.io.get_program_parameter(fluid.default_main_program())
    print("tables: %d" % len([one for one in params if one.name.endswith("_table")]))


main()
