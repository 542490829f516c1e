"""Readers and data sets yield what real Paddle's yield."""

import json
import os
from pathlib import Path

import pytest
import reader_cases as cases
from paddle.dataset import common

RECORDED = {
    version: json.loads(
        (Path(__file__).parent / "recorded" / f"readers_{version}.json").read_text()
    )
    for version in ("1.8.5", "2.6.2")
}


@pytest.fixture(autouse=True)
def restore_download(monkeypatch):
    monkeypatch.setattr(common, "download", common.download)
    monkeypatch.setattr(common, "DATA_HOME", common.DATA_HOME)


def check(name, found):
    found = json.loads(json.dumps(found))  # tuples become lists, as they were recorded
    for version, recorded in RECORDED.items():
        if name in recorded:
            assert found.keys() == recorded[name].keys(), version
            for case, answer in recorded[name].items():
                assert found[case] == answer, (version, case)


def test_readers():
    check("readers", cases.readers())


@pytest.mark.parametrize("case", cases.SETS)
def test_sets(case, tmp_path):
    check(case.__name__, case(str(tmp_path)))


def test_real_files():
    data = os.environ.get("FLT_TEST_DATA")
    if not data or not os.path.exists(os.path.join(data, "mnist", "t10k-images-idx3-ubyte.gz")):
        pytest.skip("FLT_TEST_DATA does not point to the folder with real data")
    check("real", cases.real(data))
