// flotilla/ops/tensor/partial.cc
//
// partial_concat and partial_sum: the same columns of several matrices, `length` from `start_index`
// on, side by side or added up.

#include <limits>

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& first = c.in("X");
  for (size_t i = 0; i < c.in_count("X"); ++i) {
    const VarMeta& x = c.in("X", i);
    require(x.shape.rank() == 2 && fits(x.shape, first.shape) && x.dtype == first.dtype,
            "the inputs of {} must be matrices that are alike, but X[0] is {}{} and X[{}] is {}{}",
            c.op().type(), first.dtype, first.shape, i, x.dtype, x.shape);
  }
  const int64_t width = first.shape[1], asked = c.attr<int64_t>("start_index");
  const int64_t start = asked < 0 && width >= 0 ? asked + width : asked;
  int64_t length = c.attr<int64_t>("length");
  if (length < 0 && width >= 0) length = width - start;
  require(width < 0 || (0 <= start && start < width && length <= width - start),
          "{} columns from {} on are no part of X, which has shape {}", length, asked, first.shape);
  const bool sum = c.op().type().starts_with("partial_sum");
  const int64_t count = sum ? 1 : static_cast<int64_t>(c.in_count("X"));
  c.out("Out") = VarMeta::tensor(first.dtype, {first.shape[0], length < 0 ? -1 : length * count});
}

template <bool kSum>
void lower(LowerContext& c) {
  const int64_t start = c.attr<int32_t>("start_index"), length = c.attr<int32_t>("length");
  const int64_t end = start + length;
  // Behind a start that counts from the end, an end of 0 is that of the matrix.
  const bool open = length < 0 || (start < 0 && end == 0);
  std::vector<std::string> parts;
  for (size_t i = 0; i < c.count("X"); ++i) {
    parts.push_back(
        c.slice(c.in("X", i), 1, start, open ? std::numeric_limits<int32_t>::max() : end));
  }
  c.result("Out", kSum ? c.append("sum", {{"X", parts}})
                       : c.append("concat", {{"X", parts}}, {{"axis", 1}}));
}

const OpDef& define(const std::string& type, const std::string& doc, void (*lower)(LowerContext&)) {
  return define_op({.type = type,
                    .doc = doc,
                    .inputs = {{.name = "X", .doc = "matrices of one shape", .list = true}},
                    .outputs = {{.name = "Out", .doc = "a matrix with as many rows"}},
                    .attrs = {{"start_index", 0, "the first column; from the end where negative"},
                              {"length", -1, "how many; -1: all that follow"}},
                    .infer = infer,
                    .grad = grad_of_body(),
                    .lower = lower});
}

const OpDef& partial_concat =
    define("partial_concat", "Some columns of several matrices, side by side.", lower<false>);
const OpDef& partial_sum =
    define("partial_sum", "Some columns of several matrices, added up.", lower<true>);

}  // namespace
}  // namespace flotilla::ops
