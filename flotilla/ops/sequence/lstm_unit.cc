// flotilla/ops/sequence/lstm_unit.cc
//
// lstm_unit: one step of long short-term memory for each row of a batch. A row of X holds what goes
// into the gates, four parts of `width` numbers: i, f, o, and the candidate g.
//
//   C = sigmoid(f + forget_bias) C_prev + sigmoid(i) tanh(g);  H = sigmoid(o) tanh(C)

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &before = c.in("C_prev").shape;
  require(x.rank() == 2 && before.rank() == 2 && fits(x[0], before[0]) &&
              (x[1] == 4 * before[1] || x[1] < 0 || before[1] < 0),
          "X and C_prev must have shapes [rows, 4 * width] and [rows, width], but have {} and {}",
          x, before);
  c.out("C") = like(c.in("C_prev"));
  c.out("H") = like(c.in("C_prev"));
}

void lower(LowerContext& c) {
  const std::string parts =
      c.apply("reshape2", c.in("X"), {{"shape", std::vector<int32_t>{0, 4, -1}}});
  const auto part = [&](int32_t k) {
    return c.append("slice", {{"Input", {parts}}},
                    {{"axes", std::vector<int32_t>{1}},
                     {"starts", std::vector<int32_t>{k}},
                     {"ends", std::vector<int32_t>{k + 1}},
                     {"decrease_axis", std::vector<int32_t>{1}}});
  };
  const auto gate = [&](const std::string& x) { return c.apply("sigmoid", x); };
  const std::string forget = c.apply("scale", part(1), {{"bias", c.attr<float>("forget_bias")}});
  const std::string kept = c.apply("elementwise_mul", gate(forget), c.in("C_prev"));
  const std::string added = c.apply("elementwise_mul", gate(part(0)), c.apply("tanh", part(3)));
  const std::string cell = c.apply("elementwise_add", kept, added);
  c.result("C", cell);
  c.result("H", c.apply("elementwise_mul", gate(part(2)), c.apply("tanh", cell)));
}

const OpDef& lstm_unit = define_op({
    .type = "lstm_unit",
    .doc = "One step of long short-term memory.",
    .inputs = {{.name = "X", .doc = "[rows, 4 * width]"},
               {.name = "C_prev", .doc = "the cell before, [rows, width]"}},
    .outputs = {{.name = "C", .doc = "the cell"}, {.name = "H", .doc = "the hidden state"}},
    .attrs = {{"forget_bias", 0.0f, "added to what goes into the forget gate"}},
    .infer = infer,
    .grad = grad_of_body({"X", "C_prev", "C"}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops
