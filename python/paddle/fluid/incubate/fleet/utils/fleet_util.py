"""What programs that train day by day do again and again."""

import logging
import math
import re

import numpy as np

from paddle.base.place import CPUPlace
from paddle.base.scope import global_scope
from paddle.distributed.fleet import metrics as _metrics

__all__ = ["FleetUtil"]

_logger = logging.getLogger(__name__)

_METRICS = (
    *("auc", "bucket_error", "mae", "rmse", "actual_ctr", "predicted_ctr", "copc"),
    *("mean_predict_qvalue", "total_ins_num"),
)


class FleetUtil:
    """Metrics over all workers, and models by day and pass. ``mode``: "pslib" or "transpiler"."""

    def __init__(self, mode="pslib"):
        if mode == "pslib":
            from ..parameter_server.pslib import fleet
        elif mode == "transpiler":
            from ..parameter_server.distribute_transpiler import fleet
        else:
            raise ValueError(f'mode must be "pslib" or "transpiler", but is {mode!r}')
        self._fleet = fleet

    # ---- what only the first worker says

    def rank0_print(self, s):
        if self._fleet.worker_index() == 0:
            print(s, flush=True)

    def rank0_info(self, s):
        if self._fleet.worker_index() == 0:
            _logger.info(s)

    def rank0_error(self, s):
        if self._fleet.worker_index() == 0:
            _logger.error(s)

    # ---- metrics

    def set_zero(self, var_name, scope=None, place=None, param_type="int64"):
        """Write zeros to a variable of a scope."""
        tensor = (scope or global_scope()).var(var_name).get_tensor()
        tensor.set(np.zeros(tensor._get_dims(), param_type), place or CPUPlace())

    def get_global_auc(self, scope=None, stat_pos="_generated_var_2", stat_neg="_generated_var_3"):
        """The AUC over the samples of all workers; None where the scope has no counts."""
        if not self._in(scope, stat_pos, stat_neg):
            return None
        return _metrics.auc(stat_pos, stat_neg, scope, self._fleet.util)

    def print_global_auc(
        self,
        scope=None,
        stat_pos="_generated_var_2",
        stat_neg="_generated_var_3",
        print_prefix="",
    ):
        self.rank0_print(
            f"{print_prefix} global auc = {self.get_global_auc(scope, stat_pos, stat_neg)}"
        )

    def get_global_metrics(
        self,
        scope=None,
        stat_pos_name="_generated_var_2",
        stat_neg_name="_generated_var_3",
        sqrerr_name="sqrerr",
        abserr_name="abserr",
        prob_name="prob",
        q_name="q",
        pos_ins_num_name="pos",
        total_ins_num_name="total",
    ):
        """[AUC, bucket error, MAE, RMSE, actual CTR, predicted CTR, their quotient, mean of q, number
        of samples] over all workers; nine times None where the scope lacks one of the variables."""
        sums = [sqrerr_name, abserr_name, prob_name, q_name, pos_ins_num_name, total_ins_num_name]
        if not self._in(scope, stat_pos_name, stat_neg_name, *sums):
            return [None] * len(_METRICS)
        util = self._fleet.util
        auc = self.get_global_auc(scope, stat_pos_name, stat_neg_name)
        positive = np.ravel(_metrics.sum(stat_pos_name, scope, util)).astype(float)
        negative = np.ravel(_metrics.sum(stat_neg_name, scope, util)).astype(float)
        sqrerr, abserr, prob, q, clicks, total = (
            float(np.ravel(_metrics.sum(name, scope, util))[0]) for name in sums
        )
        actual, predicted = clicks / total, prob / total
        return [
            *(auc, _bucket_error(positive, negative), abserr / total, math.sqrt(sqrerr / total)),
            *(actual, predicted, actual / predicted if predicted > 1e-6 else 0.0),
            *(q / total, int(total)),
        ]

    def print_global_metrics(self, *names, print_prefix="", **words):
        """Print what get_global_metrics, which takes the same arguments, returns."""
        values = self.get_global_metrics(*names, **words)
        shown = (
            f"{name}={value:.6f}" if isinstance(value, float) else f"{name}={value}"
            for name, value in zip(_METRICS, values)
        )
        self.rank0_print(f"{print_prefix} global {' '.join(shown)}")

    def _in(self, scope, *names):
        for name in names:
            if (scope or global_scope()).find_var(name) is None:
                self.rank0_print(f"not found: {name}")
                return False
        return True

    # ---- models by day and pass

    def load_fleet_model(self, path, mode=0):
        self._fleet.load_model(path, mode=mode)

    def save_fleet_model(self, path, mode=0):
        self._fleet.save_persistables(None, path, mode=mode)

    def load_model(self, output_path, day, pass_id):
        """Load what :meth:`save_model` wrote."""
        self.load_fleet_model(f"{output_path}/{day}/{pass_id}")

    def save_model(self, output_path, day, pass_id):
        """Save under <output_path>/<day>/<pass_id>."""
        self.save_fleet_model(f"{output_path}/{day}/{pass_id}")

    def save_batch_model(self, output_path, day):
        """Save under <output_path>/<day>/0."""
        self.save_fleet_model(f"{output_path}/{day}/0", mode=3)

    def save_delta_model(self, output_path, day, pass_id):
        """Save under <output_path>/<day>/delta-<pass_id>; all, not what has changed alone."""
        self.save_fleet_model(f"{output_path}/{day}/delta-{pass_id}", mode=1)

    def save_xbox_base_model(self, output_path, day):
        """Save under <output_path>/<day>/base."""
        self.save_fleet_model(f"{output_path}/{day}/base", mode=2)

    def pull_all_dense_params(self, scope, program):
        """Nothing to do: after every step workers have the dense parameters of the servers."""

    def get_online_pass_interval(
        self, days, hours, split_interval, split_per_pass, is_data_hourly_placed
    ):
        """The passes of a day, each a list of the folders it reads: "HHMM", or "HH" where data is
        placed by hours. ``split_interval``: minutes; ``hours``: "0 1 2", "{0..23}" or a list."""
        hours = re.split(r"\D+", hours.strip("{} ")) if isinstance(hours, str) else hours
        per_day = 24 * 60 // int(split_interval)
        per_pass = int(split_per_pass)
        first, last = int(hours[0]), int(hours[-1])
        splits = [divmod(i * int(split_interval), 60) for i in range(per_day)]
        names = [
            f"{hour:02}" if is_data_hourly_placed else f"{hour:02}{minute:02}"
            for hour, minute in splits
            if first <= hour <= last
        ]
        return [
            names[begin : begin + per_pass]
            for begin in range(0, len(names) - per_pass + 1, per_pass)
        ]


def _bucket_error(positive, negative):
    """How far predictions are from what was clicked, over groups of neighbouring buckets that have
    enough samples to tell."""
    widest, enough = 0.01, 0.05
    begin, shows, expected, clicks = -1.0, 0.0, 0.0, 0.0
    error, weight = 0.0, 0.0
    for i, (clicked, shown) in enumerate(zip(positive, positive + negative)):
        ctr = i / len(positive)
        if abs(ctr - begin) > widest:
            begin, shows, expected, clicks = ctr, 0.0, 0.0, 0.0
        shows, expected, clicks = shows + shown, expected + ctr * shown, clicks + clicked
        mean = expected / shows if shows else 0.0
        if mean and math.sqrt((1 - mean) / (mean * shows)) < enough:
            error += abs(clicks / shows / mean - 1) * shows
            weight += shows
            begin = -1.0
    return error / weight if weight else 0.0
