"""tools/counts.py on small trees."""

import counts

OP = """// A comment.
#include "x.h"

void infer(InferContext& c) {{
  const Shape& x = c.in("{name}").shape;
  const Shape& y = c.in("Y").shape;
  require(x == y, "{name} is {{}}", x);
  c.out("Out") = c.in("{name}");
}}
Step forward(PrepareContext& c) {{
  return [in = c.in("{name}")] {{ use(in, {number}); }};  // why
  {last}
}}
"""


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_blocks_that_differ_by_names_and_literals_are_repeated(tmp_path):
    write(tmp_path, "ops/a.cc", OP.format(name="X", number=1, last="return first;"))
    write(tmp_path, "ops/b.cc", OP.format(name="Input", number="0x20", last="return second;"))
    write(tmp_path, "ops/a_test.cc", OP.format(name="X", number=1, last="return first;"))
    [(first, second, length)] = counts.repeated_blocks(tmp_path / "ops")
    assert (first[0].name, first[1], second[0].name, second[1]) == ("a.cc", 4, "b.cc", 4)
    assert length == 8


def test_seven_lines_are_not_repeated(tmp_path):
    write(tmp_path, "ops/a.cc", OP.format(name="X", number=1, last="return first;"))
    write(tmp_path, "ops/b.cc", OP.format(name="X", number=1, last="throw second;"))
    assert counts.repeated_blocks(tmp_path / "ops") == []


def test_methods_are_counted_without_members_and_types():
    body = """
      explicit Large(int size) : size_(size) {}
      Large(const Large&) = delete;
      ~Large();
      bool operator==(const Large&) const = default;
      int size() const { return f(size_); }
      static std::vector<int> all(std::function<void(int)> use = {});
      void hold() FLT_REQUIRES(mutex_);
     private:
      struct Inner { void not_mine(); };
      using Make = int(int);
      std::function<void(int)> call_;
      int size_ FLT_GUARDED_BY(mutex_) = f(1);
    """
    assert counts.methods(body) == 5


def test_own_files_tests_and_comments_do_not_name_a_thing(tmp_path):
    write(tmp_path, "flotilla/ops/adadelta.cc", '"adadelta"')
    write(tmp_path, "flotilla/ops/other_test.cc", '"adadelta"')
    write(tmp_path, "flotilla/ops/said.h", "// like adadelta")
    write(tmp_path, "flotilla/ps/rule.h", "#include <adadelta.h>\nAdadelta rule;")
    found = counts.files_that_name(tmp_path, "adadelta", ("adadelta.",), ["flotilla"], ".cc", ".h")
    assert [path.name for path in found] == ["rule.h"]


def test_ops_are_found_in_the_list_of_files(tmp_path):
    write(tmp_path, "flotilla/ops/interp.cc", 'define(way + "_interp", "_v2");')
    write(tmp_path, "flotilla/ops/all_reduce.cc", 'define("c_allreduce_" + how, "concat");')
    write(tmp_path, "flotilla/ops/kthvalue_mode.cc", '"kthvalue", "mode"')
    write(tmp_path, "flotilla/ops/concat.cc", '"concat"')
    write(tmp_path, "flotilla/ops/share.cc", '"c_concat"  // "said"')
    write(tmp_path, "flotilla/ops/said.cc", '// "said"')
    write(tmp_path, "flotilla/ops/common/a_formulas.h", '"relu"')
    write(tmp_path, "flotilla/update/adam.cc", '"adam", "merged_adam"')
    found = ["linear_interp_v2", "c_allreduce_sum", "mode", "concat", "relu", "adam", "fused_adam"]
    lost = ["c_concat", "said", "adamw", "sum"]
    assert counts.not_found_by_name(tmp_path, found + lost) == lost
