"""What strategies change is the same on one process and on several."""

import numpy as np
import pytest
from test_training import train


@pytest.mark.parametrize(
    "optimizer, strategy",
    [
        ("adam", {"gradient_merge": True, "gradient_merge_configs": {"k_steps": 3}}),
        ("adam", {"lamb": True, "lamb_configs": {"exclude_from_weight_decay": [".b_0"]}}),
        ("momentum", {"lars": True, "lars_configs": {"lars_coeff": 0.2}}),
        ("sgd", {"localsgd": True}),
    ],
    ids=["gradient_merge", "lamb", "lars", "localsgd"],
)
def test_ranks_give_what_one_process_gives(tmp_path, optimizer, strategy):
    options = {"optimizer": optimizer, "strategy": strategy, "steps": 60}
    one = train(tmp_path, 1, **options)
    assert one["losses"][-1] < 0.9 * one["losses"][0], "it must learn something"
    many = train(tmp_path, 2, **options)
    np.testing.assert_allclose(many["losses"], one["losses"], rtol=1e-5)
