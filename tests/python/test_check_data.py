"""`flotilla check data`: what it prints, and how it exits."""

import gzip
import os
import pathlib
import sys

import _flotilla as core
import pytest
import watched

FLOTILLA = pathlib.Path(sys.executable).with_name("flotilla")
CRITEO = "1" + "\t5" * 13 + "\t05db9164" * 26 + "\n"


def check(*arguments):
    done = watched.run([FLOTILLA, "check", "data", *arguments])
    return done.returncode, done.stdout, done.stderr


def test_good_files(tmp_path):
    log, packed = tmp_path / "log", tmp_path / "packed"
    log.write_text(CRITEO * 3)
    packed.write_bytes(gzip.compress(b"2 0.5 1 1 7\n" * 4))
    status, out, _ = check(log, packed)
    assert status == 0
    assert out == (
        f"{log}: Criteo click log, 3 records, 0 problems\n"
        f"{packed}: multi-slot text of 2 slots, 4 records, 0 problems\n"
        "2 files, 7 records, 0 problems\n"
    )


def test_problems_have_line_and_byte(tmp_path):
    file = tmp_path / "part-0"
    file.write_text("2 0.5 1 1 7\n2 0.5 1 1 7a\n2 0.5 1\n")
    status, out, _ = check("--slots", "x:f32:2,y:i64", file)
    assert status == 1
    assert out.splitlines() == [
        f"{file}: multi-slot text of 2 slots, 1 record, 2 problems",
        f'{file}: line 2, byte 22: slot y: expected a whole number as value 1 of 1, found "7a"',
        f"{file}: line 3, byte 32: slot y: expected 2 slots in the line, found only 1",
    ]


def test_many_problems_are_counted(tmp_path):
    file = tmp_path / "part-0"
    file.write_text("1 1\n" + "1 x\n" * 30)
    status, out, _ = check("--max-problems", "2", file)
    assert status == 1
    assert len(out.splitlines()) == 4
    assert out.endswith("28 more problems\n")


def test_tables(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("a;b\n1;2\n3;x\n")
    status, out, _ = check("--format", "csv", "--delimiter", ";", "--header", "--slots",
                           "b:i64", file)  # fmt: skip
    assert status == 1
    assert 'line 3, byte 10: slot b, column b: expected a whole number, found "x"' in out


def test_wrong_options_are_refused(tmp_path):
    file = tmp_path / "a"
    file.write_text("1 1\n")
    for arguments, sentence in (
        (["--slots", "x", file], 'expected a slot as name:dtype or name:dtype:extents, found "x"'),
        (["--format", "cvs", file], 'unknown format "cvs"'),
    ):
        status, _, error = check(*arguments)
        assert status == 1
        assert sentence in error
    assert check()[0] != 0


def test_a_missing_file_and_a_dead_command(tmp_path):
    status, out, _ = check(tmp_path / "none")
    assert (status, out) == (1, f"{tmp_path / 'none'}: no such file\n")
    file = tmp_path / "a"
    file.write_text("1 1\n")
    status, out, _ = check("--pipe-command", "echo broken >&2; exit 7", file)
    assert status == 1
    assert "ended with exit status 7; the end of its stderr:\n    broken" in out


@pytest.mark.skipif("FLT_TEST_DATA" not in os.environ, reason="FLT_TEST_DATA names no folder")
def test_real_files():
    folder = pathlib.Path(os.environ["FLT_TEST_DATA"])
    files = [folder / "criteo/part-0", folder / "uci_housing/housing.data"]
    status, out, _ = check(*files, folder / "mnist/t10k-images-idx3-ubyte.gz")
    assert status == 0
    assert "Criteo click log, 100 records" in out
    assert "table of 14 columns of numbers, 506 records" in out
    assert "IDX images of 28 x 28, 10000 records" in out


def test_from_python(tmp_path):
    file = tmp_path / "log"
    file.write_text(CRITEO + "x\n")
    report = core.check_data(str(file))
    assert (report.kind, report.records, report.problem_count) == ("Criteo click log", 1, 1)
    assert report.problems[0].startswith(f"{file}: line 2, byte {len(CRITEO)}: label: expected")


def test_ids_of_criteo_never_change():
    assert core.criteo_id(1, "05db9164") == 799613
    assert core.criteo_id(3, "longer than one word", 100) == 35
    with pytest.raises(Exception, match="expected a field from 1 to 26"):
        core.criteo_id(0, "")
