"""Sets of files, and the options of a job."""

import warnings

import paddle
import pytest
from paddle import static
from paddle.distributed import fleet
from paddle.distributed.fleet.base.fleet_base import Fleet


@pytest.fixture
def train(executor, tmp_path, monkeypatch):
    """Trains on files of numbers; what is said where it fails."""
    monkeypatch.chdir(tmp_path)
    x, y = static.data("x", [None, 1]), static.data("y", [None, 1], "int64")
    loss = paddle.mean(static.nn.fc(x, 1)) + 0.0 * paddle.mean(paddle.cast(y, "float32"))
    paddle.optimizer.SGD(0.1).minimize(loss)
    executor.run(static.default_startup_program())

    def run(files, pipe="cat"):
        dataset = paddle.distributed.QueueDataset()
        dataset.init(batch_size=1, thread_num=1, pipe_command=pipe, use_var=[x, y])
        if files is not None:
            dataset.set_filelist(files)
        with pytest.raises(ValueError) as error:
            executor.train_from_dataset(static.default_main_program(), dataset)
        return str(error.value)

    (tmp_path / "part-0").write_text("1 0.5 1 3\n1 0.25 1 x\n")
    return run


def test_no_list_of_files(train):
    assert train(None).splitlines()[0] == (
        "the data set has an empty list of files; name them with set_filelist"
    )


def test_a_file_that_is_not_there(train, tmp_path):
    assert train(["part-7"]).splitlines()[0] == (
        'file 1 of 1 of the data set, "part-7", does not exist (the working directory is '
        f"{tmp_path})"
    )


def test_a_bad_line(train):
    assert train(["part-0"]).splitlines()[0] == (
        'part-0: line 2, byte 19: slot y: expected a whole number as value 1 of 1, found "x"'
    )


def test_a_pipe_command_that_dies(train):
    said = train(["part-0"], "echo broken >&2; exit 3")
    first, second = said.splitlines()[:2]
    assert first == (
        'part-0: the pipe command "echo broken >&2; exit 3" ended with exit status 3; the end of its '
        "stderr:"
    )
    assert second.strip() == "broken"


# ---- options


def test_a_typo_in_a_strategy(said):
    strategy = fleet.DistributedStrategy()

    def set_it():
        strategy.a_synk = True

    assert said(set_it)[0] == (
        '"a_synk" is not an option of DistributedStrategy. Did you mean "a_sync"?'
    )


def test_a_typo_in_configs(said):
    strategy = fleet.DistributedStrategy()

    def set_it():
        strategy.a_sync_configs = {"k_step": 3}

    assert said(set_it)[0] == (
        '"k_step" is not an option of a_sync_configs. Did you mean "k_steps"?'
    )


def test_a_wrong_type(said):
    strategy = fleet.DistributedStrategy()

    def set_it():
        strategy.a_sync = "yes"

    assert said(set_it)[0] == 'a_sync must be True or False, but is "yes"'


def test_a_strategy_without_effect(monkeypatch):
    for name in ("PADDLE_TRAINER_ENDPOINTS", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"):
        monkeypatch.delenv(name, raising=False)
    own = Fleet()
    own.init(is_collective=True)
    strategy = fleet.DistributedStrategy()
    strategy.amp = True
    loss = paddle.mean(static.nn.fc(static.data("x", [None, 4]), 2))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        own.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
    (sentence,) = [str(one.message) for one in warned if "amp" in str(one.message)]
    assert sentence == (
        "strategy.amp = True has no effect yet: all arithmetic stays in the type of the parameters."
    )
    assert [one.filename for one in warned if "amp" in str(one.message)] == [__file__]


def test_fleet_init_was_forgotten(said):
    own = Fleet()
    loss = paddle.mean(paddle.static.data("x", [2, 3]))
    optimizer = own.distributed_optimizer(paddle.optimizer.SGD(0.1))
    for call in (own.worker_index, lambda: optimizer.minimize(loss)):
        assert said(call, RuntimeError)[0] == (
            "fleet does not know who this process is: call fleet.init() first"
        )


def test_servers_in_a_job_without_any(said):
    own = Fleet()
    own.init(is_collective=True)
    assert said(own.run_server, RuntimeError)[0] == (
        "fleet.run_server() is for jobs with parameter servers, and this job has none: start the "
        "program with fleetrun --server_num and --worker_num"
    )
