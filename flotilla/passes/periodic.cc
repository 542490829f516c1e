// flotilla/passes/periodic.cc
//
//     increment(step) -> step
//     elementwise_mod(step, k) -> rest
//     equal(rest, zero) -> due                [ logical_or(due, less_equal(step, until)) -> due ]
//     conditional_block(due) { body }

#include "flotilla/passes/periodic.h"

#include "flotilla/op/build.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

Attrs filling(DType dtype, const Shape& shape, double value) {
  return {
      {"shape", shape.dims()}, {"dtype", to_paddle(dtype)}, {"value", static_cast<float>(value)}};
}

// Inserts ops one behind the other.
class Inserter {
 public:
  Inserter(Block& block, size_t position, std::string prefix)
      : block_(block), position_(position), prefix_(std::move(prefix)) {}

  void op(std::string type, Slots inputs, Slots outputs, Attrs attrs = {}) {
    insert_op(block_, position_++, std::move(type), std::move(inputs), std::move(outputs),
              std::move(attrs));
  }
  // The result of an op with inputs X and Y.
  std::string binary(std::string type, const std::string& x, const std::string& y,
                     std::string_view name) {
    const std::string out = fmt::format("{}_{}", prefix_, name);
    op(std::move(type), {{"X", {x}}, {"Y", {y}}}, {{"Out", {out}}});
    return out;
  }
  std::string number(int64_t value, std::string_view name) {
    const std::string out = fmt::format("{}_{}", prefix_, name);
    op("fill_constant", {}, {{"Out", {out}}}, filling(i64, {1}, static_cast<double>(value)));
    return out;
  }

 private:
  Block& block_;
  size_t position_;
  std::string prefix_;
};

}  // namespace

Var& add_zeros(Program& main, Program& startup, const std::string& name, DType dtype,
               const Shape& shape) {
  const Var zeros = {
      .name = name, .dtype = dtype, .shape = shape, .persistable = true, .stop_gradient = true};
  startup.global_block().add_var(zeros);
  append_op(startup.global_block(), "fill_constant", {}, {{"Out", {name}}},
            filling(dtype, shape, 0));
  return main.global_block().add_var(zeros);
}

Block& insert_periodic(Program& main, Program& startup, size_t position, const Period& period,
                       std::vector<Op> body) {
  require(period.steps >= 1, "{} needs 1 step or more, but has {}", period.name, period.steps);
  Block& inner = main.create_block(0);
  Names reads, writes;
  for (Op& op : body) {
    const Touched touched(op);
    reads.insert(touched.reads.begin(), touched.reads.end());
    writes.insert(touched.writes.begin(), touched.writes.end());
    inner.push_back(std::move(op));
  }
  const std::string step = add_zeros(main, startup, period.name + "_step", i64, {1}).name;
  const RoleGuard role(main, period.role);
  Inserter insert(main.global_block(), position, period.name);
  insert.op("increment", {{"X", {step}}}, {{"Out", {step}}}, {{"step", 1.0f}});
  const std::string rest =
      insert.binary("elementwise_mod", step, insert.number(period.steps, "k"), "rest");
  std::string due = insert.binary("equal", rest, insert.number(0, "zero"), "due");
  if (period.until > 0) {
    const std::string early =
        insert.binary("less_equal", step, insert.number(period.until, "until"), "early");
    due = insert.binary("logical_or", due, early, "now");
  }
  insert.op("conditional_block",
            {{"Cond", {due}}, {"Input", std::vector<std::string>(reads.begin(), reads.end())}},
            {{"Out", std::vector<std::string>(writes.begin(), writes.end())}},
            {{"sub_block", BlockRef{inner.index()}}, {"is_scalar_condition", true}});
  return inner;
}

}  // namespace flotilla::passes
