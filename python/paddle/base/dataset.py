"""Data sets that are lists of files: what QueueDataset and InMemoryDataset are told.

Reading, parsing, shuffling and batching are the core's. The methods have the names of both eras:
``set_batch_size`` of 1.x and ``_set_batch_size`` of 2.x are one.
"""

import os
import re
import sys
import warnings

import numpy as np

import _flotilla as core
from paddle._files import open_file
from paddle._names import did_you_mean
from paddle._words import compiled

__all__ = ["DatasetBase", "DatasetFactory", "FileInstantDataset", "InMemoryDataset", "QueueDataset"]

# A typing error must not fill the machine with threads.
_MOST_THREADS = 1024


def _also(table):
    """Add methods to a class that change nothing: ``NAME(PARAMETERS): DOCSTRING``, or with a condition
    on the first parameter, and why any other call is refused. Then give all that begin with ``set``
    their names of 2.x, which begin with an underscore."""

    def add(kind):
        for name, parameters, word, condition, said in _ROW.findall(table):
            body = f"only({condition}, {word!r}, {word}, said)" if condition else "pass"
            made = compiled(name, f"self, {parameters}", body, only=_only, said=said)
            made.__doc__ = None if condition else said
            setattr(kind, name, made)
        for name in [one for one in vars(kind) if one.startswith("set_")]:
            setattr(kind, f"_{name}", vars(kind)[name])
        return kind

    return add


_ROW = re.compile(r"^(\w+)\(((\w+).*?)\)(?: if (.*?))?: (.*)$", re.MULTILINE)


def _set(*settings):
    """The setters of settings that are called like them."""
    return {one: f"set_{one}" for one in settings}


def _only(ok, name, value, what):
    if not ok:
        raise NotImplementedError(f"{name}={value!r} is not supported: {what}")


@_also(
    """
set_hdfs_config(fs_name, fs_ugi): Accepted: files of this machine are read; others are refused.
set_rank_offset(rank_offset) if not rank_offset: page views are not implemented
set_pv_batch_size(pv_batch_size) if pv_batch_size == 1: page views are not implemented
_set_uid_slot(uid_slot) if not uid_slot: sorting records by user is not implemented
_set_use_ps_gpu(use_ps_gpu) if not use_ps_gpu: tables on GPUs are not implemented
"""
)
class DatasetBase:
    """A list of files with records of slots. Use QueueDataset or InMemoryDataset."""

    _core_type = "QueueDataset"

    def __init__(self):
        self._core = getattr(core, self._core_type)()
        if sys.prefix != sys.base_prefix:  # "python" in a pipe command is the one that runs us
            self._core.command_folder = os.path.join(sys.prefix, "bin")
        self.use_var = []
        self.fea_eval = False
        self._parser = ("multi_slot", {})
        self._texts = {}  # parse_ins_id and the like: whether each line has that text
        self._not_local = None
        self._input_type = 0

    def init(
        self,
        batch_size=1,
        thread_num=1,
        use_var=[],  # noqa: B006 (Paddle's signature)
        pipe_command="cat",
        input_type=0,
        fs_name="",
        fs_ugi="",
        download_cmd="cat",
        parser="multi_slot",
        max_bad_records=0,
    ):
        """Say how the files are read.

        ``use_var``: the variables that are fed, in the order of the slots of a line.
        ``pipe_command``: each file goes through it. ``parser``: "multi_slot", "criteo" or "csv";
        see set_parser. ``max_bad_records``: how many lines may be skipped because they cannot be
        read.
        """
        settings = dict(locals())
        del settings["self"]
        self._put(settings)

    def _put(self, settings):
        for name, value in settings.items():
            getattr(self, self._setters[name])(value)

    _setters = {
        **_set("batch_size", "use_var", "pipe_command", "input_type", "download_cmd", "parser"),
        **_set("max_bad_records"),
        **{"thread_num": "set_thread", "fs_name": "_accept", "fs_ugi": "_accept"},
    }

    def _accept(self, value):
        pass

    def set_batch_size(self, batch_size):
        if int(batch_size) < 1:
            raise ValueError(f"batch_size must be positive, but is {batch_size}")
        self._core.batch_size = int(batch_size)

    def set_input_type(self, input_type):
        """What the files hold: 0, a sample in each line, which alone can be read."""
        self._input_type = input_type

    def set_thread(self, thread_num):
        if int(thread_num) < 1:
            raise ValueError(f"thread_num must be positive, but is {thread_num}")
        if int(thread_num) > _MOST_THREADS:
            raise ValueError(f"thread_num can be {_MOST_THREADS} at most, but is {thread_num}")
        self._core.threads = int(thread_num)

    @property
    def thread_num(self):
        return self._core.threads

    def set_filelist(self, filelist):
        """Name the files, in the order in which one thread reads them."""
        if isinstance(filelist, (str, bytes)):
            raise TypeError(f"filelist must be a list of files, but is the text {filelist!r}")
        files = [os.fsdecode(file) if isinstance(file, bytes) else str(file) for file in filelist]
        try:
            self._core.files = files
        except TypeError:  # surrogates stand for bytes that are no UTF-8
            raise ValueError(f"the names of files must be UTF-8, but one is not: {files}") from None

    def get_filelist(self):
        return self._core.files

    def set_use_var(self, var_list):
        self._core.set_slots(list(var_list))
        self.use_var = list(var_list)

    def set_pipe_command(self, pipe_command):
        self._core.pipe_command = pipe_command

    def set_parser(self, parser, **options):
        """Choose what reads a line.

        "multi_slot": ``<count> <value>...`` for each slot, as data generators write it.
        "criteo" (``hash_dim``): Criteo's click log. "csv" (``delimiter``, ``header``, ``columns``,
        ``allow_empty``, ``empty_value``): tables of numbers.
        """
        self._core.set_parser(parser, self._with_texts(parser, options))
        self._parser = (parser, options)

    def _with_texts(self, parser, options):
        texts = sum(self._texts.values())
        if texts == 0:
            return options
        if parser != "multi_slot":
            raise ValueError(f'only multi-slot text has ids of samples, not "{parser}"')
        return {**options, "leading_texts": texts}

    def set_max_bad_records(self, max_bad_records):
        self._core.max_bad_records = int(max_bad_records)

    @property
    def bad_records(self):
        """How many lines the latest pass or load has skipped."""
        return self._core.bad_records

    def set_download_cmd(self, download_cmd):
        if download_cmd != "cat":
            self._not_local = f"download_cmd {download_cmd!r}"

    def set_fea_eval(self, record_candidate_size, fea_eval=True):
        """Let slots_shuffle work. All records take part, whatever ``record_candidate_size`` is."""
        self.fea_eval = bool(fea_eval)

    def slots_shuffle(self, slots):
        raise NotImplementedError("slots_shuffle needs the records in memory: use InMemoryDataset")

    def desc(self):
        """The settings as text, in the API of Paddle's DataFeedDesc."""
        lines = [
            f"batch_size: {self._core.batch_size}",
            f'pipe_command: "{self._core.pipe_command}"',
            f"thread_num: {self._core.threads}",
            "multi_slot_desc {",
        ]
        for var in self.use_var:
            kind = "float" if "float" in str(var.dtype_name) else "uint64"
            dense = "true" if var.lod_level == 0 else "false"
            lines.append(
                f'  slots {{ name: "{var.name}" type: "{kind}" is_dense: {dense} is_used: true }}'
            )
        return "\n".join([*lines, "}", ""])

    def _prepare_to_run(self):
        """What is checked before files are read."""
        if self._input_type != 0:
            raise NotImplementedError(
                f"the data set has input_type={self._input_type!r}, but only 0 can be read: files "
                "with a sample in each line"
            )
        far = [file for file in self._core.files if file.startswith(("afs:", "hdfs:"))]
        found = self._not_local or (f"the file {far[0]!r}" if far else None)
        if found is not None:
            raise NotImplementedError(
                f"the data set has {found}, but only local files can be read; copy them to this "
                "machine, or let pipe_command fetch them"
            )
        if not self._core.files and core.fleet.has_tables():
            warnings.warn("this worker has no files and trains on nothing", stacklevel=3)
            self._core.files = [os.devnull]

    def _finish_to_run(self):
        pass

    def _dynamic_adjust_before_train(self, thread_num):
        pass

    def _dynamic_adjust_after_train(self):
        pass

    def _check_use_var_with_data_generator(self, var_list, data_generator_class, test_file):
        """Compare what a generator makes of the lines of ``test_file`` with the variables."""
        with open_file(test_file, "r") as lines:
            for number, line in enumerate(lines, 1):
                for sample in data_generator_class.generate_sample(line)():
                    _check_sample(var_list, sample, f"{test_file}: line {number}")

    _desc = desc


class QueueDataset(DatasetBase):
    """Files that are read again in every pass, while the program runs."""

    def init(self, **kwargs):
        """See DatasetBase.init."""
        super().init(**kwargs)

    def local_shuffle(self):
        raise NotImplementedError("a QueueDataset is not kept in memory: use InMemoryDataset")

    def global_shuffle(self, fleet=None):
        raise NotImplementedError("a QueueDataset is not kept in memory: use InMemoryDataset")


class FileInstantDataset(QueueDataset):
    """A QueueDataset under its other name."""


@_also(
    """
set_feed_type(data_feed_type): Accepted: all kinds of records are read alike.
set_queue_num(queue_num): Accepted: batches come from one queue, whatever the number of threads.
set_fleet_send_batch_size(fleet_send_batch_size=1024): Accepted: what fits into memory is sent.
set_fleet_send_sleep_seconds(fleet_send_sleep_seconds=0): Accepted: a shuffle does not sleep.
set_date(date): Accepted: the names of files say which day they are of.
set_merge_by_lineid(merge_size=2) if merge_size <= 0: merging records of one id is not implemented
set_merge_by_sid(merge_by_sid) if not merge_by_sid: merging records is not implemented
set_enable_pv_merge(enable_pv_merge) if not enable_pv_merge: merging records is not implemented
set_generate_unique_feasigns(generate_uni_feasigns, shard_num) if not generate_uni_feasigns: \
tables need no list of ids before training
_set_shuffle_by_uid(enable_shuffle_uid) if not enable_shuffle_uid: records are independent of \
each other
"""
)
class InMemoryDataset(DatasetBase):
    """Files that are loaded once, shuffled, and passed over as often as wanted."""

    _core_type = "InMemoryDataset"

    def __init__(self):
        super().__init__()
        self._seed = None
        self._exchange = core.Alone()

    def init(self, **kwargs):
        """DatasetBase.init, and ``data_feed_type``, ``queue_num`` (accepted), ``seed``."""
        own = {name: kwargs.pop(name) for name in tuple(kwargs) if name in self._own_setters}
        super().init(**kwargs)
        self._put(own)

    def update_settings(self, **kwargs):
        """Change some settings: the keywords of init, and those of the distributed settings."""
        for name in kwargs:
            if name not in self._setters:
                hint = did_you_mean(name, self._setters, "'{}'")
                raise ValueError(f"an InMemoryDataset has no setting {name!r}.{hint}")
        self._put(kwargs)

    def _init_distributed_settings(self, **kwargs):
        self.update_settings(**kwargs)

    _own_setters = {
        **_set("queue_num", "parse_ins_id", "parse_content", "fleet_send_batch_size"),
        **_set("fleet_send_sleep_seconds"),
        **{"data_feed_type": "set_feed_type", "seed": "set_shuffle_seed"},
        **{"merge_size": "set_merge_by_lineid", "fea_eval": "_set_fea_eval_only"},
        "candidate_size": "_accept",
    }
    _setters = {**DatasetBase._setters, **_own_setters}

    def _set_fea_eval_only(self, fea_eval):
        self.set_fea_eval(0, fea_eval)

    def set_parse_ins_id(self, parse_ins_id):
        """Each line begins with ``1 <id of the sample>``, which is passed over."""
        self._set_text("ins_id", parse_ins_id)

    def set_parse_content(self, parse_content):
        """Each line has ``1 <text>`` before its slots, which is passed over."""
        self._set_text("content", parse_content)

    def set_parse_logkey(self, parse_logkey):
        """Each line has ``1 <key>`` before its slots, which is passed over."""
        self._set_text("logkey", parse_logkey)

    def _set_text(self, name, wanted):
        self._texts[name] = bool(wanted)
        self.set_parser(self._parser[0], **self._parser[1])

    def set_shuffle_seed(self, seed):
        """Let shuffles repeat: the n-th one after this call has the same order every time.

        Without a seed they draw from numpy's global generator, so that np.random.seed does it.
        """
        self._seed = None if seed is None else np.random.RandomState(seed)

    def _next_seed(self):
        return int((self._seed or np.random).randint(0, 2**62, dtype=np.int64))

    def load_into_memory(self, is_shuffle=False):
        """Read all files, replacing the records in memory."""
        self._prepare_to_run()
        self._core.load_into_memory()
        if is_shuffle:
            self.local_shuffle()

    def preload_into_memory(self, thread_num=None):
        """Begin to read all files in the background; wait_preload_done waits for it."""
        self._prepare_to_run()
        self._core.preload_into_memory(thread_num or 0)

    def wait_preload_done(self):
        self._core.wait_preload_done()

    def local_shuffle(self):
        """Bring the records of this process into a random order."""
        self._core.local_shuffle(self._next_seed())

    def global_shuffle(self, fleet=None, thread_num=12):
        """Shuffle the records of all processes together and distribute them again."""
        self._core.global_shuffle(self._exchange_of(fleet), self._next_seed())

    def slots_shuffle(self, slots):
        """Deal the values of some slots out to other records; slots shuffled before go back."""
        if not self.fea_eval:
            raise RuntimeError("call set_fea_eval(candidate_size, True) before slots_shuffle")
        self._core.slots_shuffle([str(slot) for slot in slots], self._next_seed())

    def release_memory(self):
        self._core.release_memory()

    def get_memory_data_size(self, fleet=None):
        """How many records are in memory; with a fleet, of all its processes."""
        return self._sum(self._core.memory_data_size(), fleet)

    def get_shuffle_data_size(self, fleet=None):
        """How many records a global shuffle has brought here; with a fleet, to all processes."""
        return self._sum(self._core.shuffle_data_size(), fleet)

    def _sum(self, count, fleet):
        return count if fleet is None else self._exchange_of(fleet).sum_of(count)

    def _exchange_of(self, fleet):
        if fleet is None or fleet.worker_num() == 1:
            return self._exchange
        return core.fleet.exchange()


class DatasetFactory:
    """Makes data sets by the names of their classes."""

    _classes = {one.__name__: one for one in (QueueDataset, InMemoryDataset, FileInstantDataset)}

    def create_dataset(self, datafeed_class="QueueDataset"):
        """A new QueueDataset, InMemoryDataset or FileInstantDataset."""
        if isinstance(self, str):  # programs call it by the class, too
            return DatasetFactory().create_dataset(self)
        if datafeed_class not in self._classes:
            names = ", ".join(self._classes)
            raise ValueError(f"datafeed_class must be one of {names}, but is {datafeed_class!r}")
        return self._classes[datafeed_class]()


def _check_sample(var_list, sample, where):
    if len(sample) != len(var_list):
        raise ValueError(
            f"{where}: the generator makes {len(sample)} slots, but use_var has {len(var_list)}"
        )
    for var, (name, values) in zip(var_list, sample):
        if var.name != name:
            raise ValueError(f"{where}: slot {name!r} comes where use_var has {var.name!r}")
        kind = float if "float" in str(var.dtype_name) else int
        wrong = [v for v in values if not isinstance(v, (int, kind)) or isinstance(v, bool)]
        if wrong:
            raise TypeError(
                f"{where}: slot {name!r} holds {wrong[0]!r}, but {var.name} is {var.dtype_name}"
            )
