#include "flotilla/testing/run_op.h"

#include <fstream>
#include <set>

#include "flotilla/base/env.h"
#include "flotilla/ir/text.h"
#include "flotilla/op/build.h"
#include "flotilla/testing/cases.h"

namespace flotilla {
namespace {

std::string var_name(std::string_view slot, size_t i) { return fmt::format("{}_{}", slot, i); }

void declare(Block& block, const std::string& name, const Tensor& tensor) {
  block.add_var({.name = name,
                 .dtype = tensor.dtype(),
                 .shape = tensor.shape(),
                 .lod_level = static_cast<int32_t>(tensor.lod().size()),
                 .is_data = true});
}

// Sparse rows cannot be fed: they are made by an op from their parts.
void add_sparse(BuiltOp& built, const std::string& name, const SelectedRows& rows) {
  Block& block = built.program->global_block();
  const Tensor numbers = Tensor::of<int64_t>(rows.rows, {static_cast<int64_t>(rows.rows.size())});
  declare(block, name + "_rows", numbers);
  declare(block, name + "_value", rows.value);
  built.feeds.push_back({name + "_rows", numbers});
  built.feeds.push_back({name + "_value", rows.value});
  append_op(block, "toy_rows", {{"Rows", {name + "_rows"}}, {"Value", {name + "_value"}}},
            {{"Out", {name}}}, {{"height", rows.height}});
}

Slots add_inputs(BuiltOp& built, const Inputs& inputs) {
  Slots slots;
  for (const auto& [slot, operands] : inputs) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const std::string name = var_name(slot, i);
      slots[slot].push_back(name);
      if (const auto* rows = std::get_if<SelectedRows>(&operands[i])) {
        add_sparse(built, name, *rows);
      } else {
        const Tensor& tensor = std::get<Tensor>(operands[i]);
        declare(built.program->global_block(), name, tensor);
        built.feeds.push_back({name, tensor});
      }
    }
  }
  return slots;
}

Slots output_slots(const OpDef& def, const Slots& inputs, const OpOptions& options) {
  Slots slots;
  for (const Slot& slot : def.outputs) {
    const auto given = options.outputs.find(slot.name);
    const int count = given != options.outputs.end() ? given->second : slot.optional ? 0 : 1;
    for (int i = 0; i < count; ++i) {
      slots[slot.name].push_back(var_name(slot.name, static_cast<size_t>(i)));
    }
  }
  for (const auto& [in, out] : options.in_place) slots[out] = inputs.at(in);
  return slots;
}

// Appends the program to the file that FLT_RECORD_CASES names, once.
void record(const Program& program, const std::vector<Feed>& feeds,
            const std::vector<std::string>& fetches, const std::vector<Feed>& persistables) {
  const std::optional<std::string> path = env::text("FLT_RECORD_CASES");
  if (!path) return;
  static std::set<std::string> recorded;
  Case made{.program = print(program), .fetches = fetches};
  if (!recorded.insert(made.program).second) return;
  for (const Feed& feed : feeds) made.feeds.push_back({feed.name, feed.tensor});
  for (const Feed& state : persistables) made.states.push_back({state.name, state.tensor});
  std::ofstream(*path, std::ios::app) << to_text(made);
}

}  // namespace

const Var& BuiltOp::var(std::string_view slot, size_t i) const {
  const auto outputs = op().output_list(slot);
  const auto vars = outputs.empty() ? op().input_list(slot) : outputs;
  require(i < vars.size(), "the op has no variable {} in slot {}", i, slot);
  return program->global_block().var(vars[i]);
}

BuiltOp build_op(const std::string& type, const Inputs& inputs, const Attrs& attrs,
                 const OpOptions& options) {
  BuiltOp built{.program = std::make_shared<Program>()};
  const Slots in = add_inputs(built, inputs);
  const Slots out = output_slots(op_def(type), in, options);
  Block& block = built.program->global_block();
  built.position = block.size();
  append_op(block, type, in, out, attrs);
  return built;
}

Tensor dense(const FetchedValue& value) {
  const auto* rows = std::get_if<SelectedRows>(&value);
  return rows != nullptr ? rows->to_dense() : std::get<Tensor>(value);
}

const Tensor& OpResult::at(std::string_view slot, size_t i) const {
  const auto found = slots.find(std::string(slot));
  require(found != slots.end() && i < found->second.size(), "the op gave no output {} in slot {}",
          i, slot);
  return found->second[i];
}

std::vector<FetchedValue> fetch_program(const Program& program, const std::vector<Feed>& feeds,
                                        const std::vector<std::string>& fetches,
                                        const std::vector<Feed>& persistables, Caller* caller) {
  record(program, feeds, fetches, persistables);
  Generator generator(7);
  Executor executor({.generator = &generator, .caller = caller});
  Scope scope;
  for (const Feed& feed : persistables) scope.var(feed.name) = feed.tensor;
  return executor.run(program, feeds, fetches, scope);
}

std::vector<Tensor> run_program(const Program& program, const std::vector<Feed>& feeds,
                                const std::vector<std::string>& fetches,
                                const std::vector<Feed>& persistables, Caller* caller) {
  std::vector<Tensor> results;
  for (const FetchedValue& value : fetch_program(program, feeds, fetches, persistables, caller)) {
    results.push_back(dense(value));
  }
  return results;
}

OpResult run_op(const std::string& type, const Inputs& inputs, const Attrs& attrs,
                const OpOptions& options) {
  const BuiltOp built = build_op(type, inputs, attrs, options);
  const std::vector<Tensor> values = run_program(*built.program, built.feeds, built.output_names());
  OpResult result;
  size_t next = 0;
  for (const auto& [slot, vars] : built.op().outputs()) {
    for (size_t i = 0; i < vars.size(); ++i) result.slots[slot].push_back(values[next++]);
  }
  return result;
}

}  // namespace flotilla
