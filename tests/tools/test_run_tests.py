"""tools/run_tests.py reads both runners' reports, and a failure is never lost."""

import run_tests

GTEST = """<testsuites name="AllTests"><testsuite name="A">
<testcase name="Good" status="run" result="completed" classname="A"/>
<testcase name="Bad" status="run" result="completed" classname="A"><failure message="x.cc:3"/></testcase>
<testcase name="Later" status="run" result="skipped" classname="A"><skipped message="no GPU"/></testcase>
</testsuite></testsuites>"""

CTEST = """<testsuite name="x"><testcase name="ir.A.Good" classname="ir.A.Good" status="run"><system-out/></testcase>
<testcase name="ir.A.Bad" status="fail"><failure message=""/><system-out>x.cc:3</system-out>
</testcase><testcase name="ir.A.Later" status="notrun"><skipped message="MATCHED"/>
<system-out>x.cc:9: Skipped
there is no GPU
[  SKIPPED ] A.Later</system-out></testcase></testsuite>"""

PYTEST = """<testsuites><testsuite><testcase classname="tests.test_a" name="test_x"/>
<testcase classname="tests.test_a" name="test_y"><skipped message="FLT_SPEC_DIR is not set"/>
</testcase><testcase classname="tests.test_a" name="test_z"><failure>boom</failure></testcase>
</testsuite></testsuites>"""


def read(tmp_path, text, prefix=""):
    path = tmp_path / "report.xml"
    path.write_text(text)
    return run_tests.read_junit(path, prefix)


def test_reads_googletest(tmp_path):
    good, bad, later = read(tmp_path, GTEST, "ir.")
    assert (good.name, good.outcome) == ("ir.A.Good", "passed")
    assert bad.outcome == "failed" and "x.cc:3" in bad.detail
    assert (later.outcome, later.detail) == ("skipped", "no GPU")


def test_reads_ctest(tmp_path):
    good, bad, later = read(tmp_path, CTEST, "asan: ")
    assert (good.name, good.outcome) == ("asan: ir.A.Good", "passed")
    assert bad.outcome == "failed" and "x.cc:3" in bad.detail
    assert (later.outcome, later.detail) == ("skipped", "there is no GPU")


def test_reads_pytest(tmp_path):
    good, skipped, bad = read(tmp_path, PYTEST)
    assert (good.name, good.outcome) == ("tests.test_a.test_x", "passed")
    assert (skipped.outcome, skipped.detail) == ("skipped", "FLT_SPEC_DIR is not set")
    assert (bad.outcome, bad.detail.strip()) == ("failed", "boom")


def test_the_closing_line_counts_everything(tmp_path, capsys):
    assert run_tests.close(read(tmp_path, CTEST)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "1 passed, 1 failed, 1 skipped"
    assert "  ir.A.Later: there is no GPU" in lines


def test_nothing_that_ran_is_a_failure(capsys):
    assert run_tests.close([]) == 1
    assert run_tests.close([run_tests.Result("a", "passed")]) == 0


def test_a_command_that_fails_is_a_failed_test():
    assert run_tests.check("x", ["false"])[0].outcome == "failed"
    assert run_tests.check("x", ["true"])[0].outcome == "passed"
