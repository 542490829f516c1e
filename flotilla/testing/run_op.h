// flotilla/testing/run_op.h
//
// One operator, built or run by itself: a program with one op whose inputs are fed.
//
//   run_op("concat", {{"X", {a, b}}}, {{"axis", 1}}).at("Out")
//   run_op("split", {{"X", a}}, {{"num", 2}}, {.outputs = {{"Out", 2}}}).at("Out", 1)
//   run_op("sgd", {{"Param", p}, {"Grad", sparse({1, 3}, g, 10)}, {"LearningRate", lr}}, {},
//          {.in_place = {{"Param", "ParamOut"}}}).at("ParamOut")

#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/plan/plan.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/tensors.h"

namespace flotilla {

// What a slot is given: one tensor, or a list.
struct Operands : std::vector<FetchedValue> {
  Operands() = default;
  Operands(Tensor tensor) { emplace_back(std::move(tensor)); }
  Operands(SelectedRows rows) { emplace_back(std::move(rows)); }
  Operands(std::initializer_list<Tensor> tensors) : vector(tensors.begin(), tensors.end()) {}
  Operands(const std::vector<Tensor>& tensors) : vector(tensors.begin(), tensors.end()) {}
};
using Inputs = std::map<std::string, Operands>;

struct OpOptions {
  // How many variables an output slot holds; by default one in each slot that is not optional.
  std::map<std::string, int> outputs = {};

  // Input slots and the output slots that are the same variable.
  std::map<std::string, std::string> in_place = {};
};

// A program with one op. The variables of a slot are <slot>_<i>.
struct BuiltOp {
  std::shared_ptr<Program> program = {};
  std::vector<Feed> feeds = {};
  size_t position = 0;  // of the op in the block

  const Op& op() const { return program->global_block().op(position); }
  // What the program knows of a variable.
  const Var& var(std::string_view slot, size_t i = 0) const;
  std::vector<std::string> output_names() const { return names_in(op().outputs()); }
};

BuiltOp build_op(const std::string& type, const Inputs& inputs, const Attrs& attrs = {},
                 const OpOptions& options = {});

// The outputs of an op, slot by slot. Sparse rows are made dense.
class OpResult {
 public:
  std::map<std::string, std::vector<Tensor>> slots = {};

  const Tensor& at(std::string_view slot, size_t i = 0) const;
};

OpResult run_op(const std::string& type, const Inputs& inputs, const Attrs& attrs = {},
                const OpOptions& options = {});

// Runs a program with a fresh scope and a generator that always starts at the same seed.
// `persistables` are put into the scope first. Sparse rows are made dense.
std::vector<Tensor> run_program(const Program& program, const std::vector<Feed>& feeds,
                                const std::vector<std::string>& fetches,
                                const std::vector<Feed>& persistables = {},
                                Caller* caller = nullptr);

// The same, with sparse rows as they are.
std::vector<FetchedValue> fetch_program(const Program& program, const std::vector<Feed>& feeds,
                                        const std::vector<std::string>& fetches,
                                        const std::vector<Feed>& persistables = {},
                                        Caller* caller = nullptr);

Tensor dense(const FetchedValue& value);

}  // namespace flotilla
