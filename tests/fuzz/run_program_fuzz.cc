// tests/fuzz/run_program_fuzz.cc
//
// Whole programs are built and run; whatever is wrong with them, the answer is a result or an
// Error.
//
// The input picks one of the programs in cases.txt (what the tests of operators run: forward ops,
// their gradients, optimizers) and written_cases.txt (what was written by hand: loops, branches,
// ops that passes make), bends a few things in it, builds it in one of several ways,
// and runs it twice, with variables bent in between. Most of what is bent still runs: an op that
// forgot a check meets the odd shape in its kernel, where the sanitizers wait. Every value lies
// between guards (Executor::Options::guarded). With FLT_FUZZ_SHOW=1 the programs are printed.

#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "flotilla/autodiff/backward.h"
#include "flotilla/base/env.h"
#include "flotilla/device/allocator.h"
#include "flotilla/ir/proto.h"
#include "flotilla/ir/structure.h"
#include "flotilla/ir/text.h"
#include "flotilla/kernel/caller.h"
#include "flotilla/op/build.h"
#include "flotilla/op/op_def.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/testing/cases.h"
#include "tests/fuzz/draws.h"

namespace flotilla {
namespace {

constexpr int64_t kMemory = int64_t{48} << 20;
constexpr int64_t kRounds = 40;          // of all loops of a run
constexpr int64_t kMostElements = 4096;  // of a tensor that is fed

// What is counted, and printed when the fuzzer ends.
struct Report {
  int64_t executions = 0, planned = 0, ran = 0;
  std::set<std::string> types;

  ~Report() {
    if (executions < 100) return;
    const auto share = [&](int64_t n) {
      return 100.0 * static_cast<double>(n) / static_cast<double>(executions);
    };
    std::fprintf(stderr,
                 "programs: %lld, of which %.1f%% got a plan and %.1f%% ran to the end; kernels of "
                 "%zu op types ran, of %zu\n",
                 static_cast<long long>(executions), share(planned), share(ran), types.size(),
                 op_types().size());
  }
};

struct Loaded {
  Case text;
  std::shared_ptr<Program> program;
};

class Bent;

struct World {
  std::vector<Loaded> cases;
  std::vector<std::string> types = op_types();
  bool shows = env::text_or("FLT_FUZZ_SHOW", "") == "1";
  Report report;

  // Programs are parsed when they are first used: most runs use few.
  const Loaded& at(size_t i) {
    Loaded& found = cases[i];
    if (found.program == nullptr) found.program = parse(found.text.program);
    return found;
  }
};

World& world() {
  static World made;
  return made;
}

// Loops end, and functions of the user give back what they are given.
class LimitedCaller final : public Caller {
 public:
  std::vector<Tensor> call(int64_t number, const std::vector<Tensor>& inputs) override {
    std::vector<Tensor> results = inputs;
    if (number % 2 == 0 && !results.empty()) results.resize(1);
    return results;
  }
  void check_interrupt() override {
    require(++rounds_ < kRounds, "a loop of the fuzzer has run {} times", kRounds);
  }
  void restart() { rounds_ = 0; }

 private:
  int64_t rounds_ = 0;
};

// A tensor of other extents or another dtype, with elements like those of `model`.
Tensor remade(const Tensor& model, DType dtype, const Shape& shape) {
  Tensor made(dtype, shape);
  visit_dtype(dtype, [&](auto type) {
    using T = decltype(type);
    std::vector<double> values;
    visit_dtype(model.dtype(), [&](auto from) {
      using S = decltype(from);
      for (const S value : model.span<S>()) values.push_back(static_cast<double>(value));
    });
    if (values.empty()) values.push_back(1);
    size_t next = 0;
    for (T& element : made.span<T>()) {
      const double value = values[next++ % values.size()];
      element = std::isfinite(value) && std::abs(value) < 100 ? static_cast<T>(value) : T{1};
    }
  });
  return made;
}

Shape some_shape(Bytes& in, const Shape& from) {
  static const std::vector<int64_t> kExtents = {1, 2, 0, 3, 4, 5, 7, 8, 16, 17};
  std::vector<int64_t> dims = from.dims();
  switch (in.below(6)) {
    case 0:
      dims.push_back(in.pick(kExtents));
      break;
    case 1:
      if (!dims.empty()) dims.pop_back();
      break;
    case 2:
      if (dims.size() > 1) std::swap(dims[in.below(dims.size())], dims.front());
      break;
    case 3:
      dims.insert(dims.begin(), in.pick(kExtents));
      break;
    default:
      if (!dims.empty()) dims[in.below(dims.size())] = in.pick(kExtents);
  }
  int64_t left = kMostElements;
  for (int64_t& extent : dims) {
    if (extent > left) extent = 1;
    if (extent > 0) left /= extent;
  }
  return Shape(dims);
}

void bend_lod(Bytes& in, Tensor& tensor) {
  LoD lod = tensor.lod();
  const int64_t rows = tensor.shape().rank() > 0 ? tensor.shape()[0] : 0;
  switch (in.below(4)) {
    case 0:
      lod.clear();
      break;
    case 1:
      lod = {{0, rows / 2, rows}};
      break;
    case 2:
      lod.insert(lod.begin(), {0, lod.empty() ? rows : std::ssize(lod.front()) - 1});
      break;
    default:
      if (!lod.empty() && lod.back().size() > 1) {
        lod.back()[in.below(lod.back().size())] = in.whole();
      }
  }
  tensor.set_lod(lod);
}

void bend_elements(Bytes& in, Tensor& tensor) {
  if (tensor.numel() == 0) return;
  tensor = tensor.clone();
  const bool all = in.coin();
  visit_dtype(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    const auto elements = tensor.span<T>();
    const size_t at = in.below(elements.size());
    T value{};
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(in.number());
    } else {
      value = static_cast<T>(in.whole());
    }
    if (all) {
      std::fill(elements.begin(), elements.end(), value);
    } else {
      elements[at] = value;
    }
  });
}

void bend_tensor(Bytes& in, Tensor& tensor) {
  const LoD lod = tensor.lod();
  switch (in.below(8)) {
    case 0:
      tensor = remade(tensor, some_dtype(in), tensor.shape());
      tensor.set_lod(lod);
      break;
    case 1:
    case 2:
      return bend_lod(in, tensor);
    case 3:
    case 4:
      bend_elements(in, tensor);
      break;
    default:
      tensor = remade(tensor, tensor.dtype(), some_shape(in, tensor.shape()));
      tensor.set_lod(lod);
  }
}

// A program, what it is fed, and what lies in the scope.
class Bent {
 public:
  Bent(Bytes& in, const Loaded& from) : in_(in), program(from.program->clone()) {
    for (const NamedTensor& feed : from.text.feeds) feeds.push_back({feed.name, feed.tensor});
    for (const NamedTensor& state : from.text.states) states.push_back({state.name, state.tensor});
    fetches = from.text.fetches;
  }

  void bend() {
    switch (in_.below(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return bend_an_attr();
      case 5:
      case 6:
      case 7:
      case 8:
        return bend_a_feed();
      case 9:
        return bend_a_state();
      case 10:
      case 11:
        return rewire(true);
      case 12:
        return rewire(false);
      case 13:
        return keep_feeds();
      case 14:
        return bend_a_var();
      case 15:
        return change_a_type();
      case 16:
        return repeat_an_op();
      case 17:
        return put_into_block();
      case 18:
        return add_default_attr();
      default:
        return append(world().at(in_.below(world().cases.size())));
    }
  }

  void bend_a_state() {
    if (!states.empty()) bend_tensor(in_, states[in_.below(states.size())].tensor);
  }
  void bend_a_feed() {
    if (!feeds.empty()) bend_tensor(in_, feeds[in_.below(feeds.size())].tensor);
  }

  Bytes& in_;
  std::shared_ptr<Program> program;
  std::vector<Feed> feeds = {};
  std::vector<Feed> states = {};
  std::vector<std::string> fetches = {};

 private:
  Block& some_block() {
    return program->block(
        static_cast<int32_t>(in_.below(static_cast<size_t>(program->num_blocks()))));
  }
  // Null where the block is empty.
  Op* some_op() {
    Block& block = some_block();
    return block.size() == 0 ? nullptr : &block.op(in_.below(block.size()));
  }
  std::string some_var() {
    const auto& vars = program->global_block().vars();
    if (vars.empty() || in_.below(12) == 0) return std::string(kEmptyVar);
    return vars[in_.below(vars.size())]->name;
  }

  void bend_an_attr() {
    Op* op = some_op();
    if (op == nullptr || op->attrs().empty()) return;
    auto found = op->attrs().begin();
    std::advance(found, in_.below(op->attrs().size()));
    Attr value = found->second;
    bend_attr(in_, value);
    op->set_attr(std::string(found->first), std::move(value));
  }

  // One that the program leaves out, bent.
  void add_default_attr() {
    Op* op = some_op();
    const OpDef* def = op == nullptr ? nullptr : find_op(op->type());
    if (def == nullptr || def->attrs.empty()) return;
    const AttrSpec& spec = in_.pick(def->attrs);
    Attr value = spec.initial;
    bend_attr(in_, value);
    op->set_attr(spec.name, std::move(value));
  }

  void rewire(bool input) {
    Op* op = some_op();
    if (op == nullptr) return;
    const OpDef* def = find_op(op->type());
    if (def == nullptr) return;
    const std::vector<Slot>& slots = input ? def->inputs : def->outputs;
    if (slots.empty()) return;
    const std::string& slot = in_.pick(slots).name;
    const auto given = input ? op->input_list(slot) : op->output_list(slot);
    std::vector<std::string> vars(given.begin(), given.end());
    switch (in_.below(5)) {
      case 0:
        vars.push_back(some_var());
        break;
      case 1:
        if (!vars.empty()) vars.pop_back();
        break;
      default:
        if (vars.empty()) {
          vars.push_back(some_var());
        } else {
          vars[in_.below(vars.size())] = some_var();
        }
    }
    input ? op->set_input(slot, vars) : op->set_output(slot, vars);
  }

  // What was fed lies in the scope from now on, and may be replaced between two runs.
  void keep_feeds() {
    const bool all = in_.coin();
    do {
      keep(in_.below(feeds.size()));
    } while (all && !feeds.empty());
  }
  void keep(size_t i) {
    if (feeds.empty()) return;
    states.push_back(feeds[i]);
    feeds.erase(feeds.begin() + static_cast<std::ptrdiff_t>(i));
    if (Var* var = program->global_block().find_var(states.back().name)) {
      var->persistable = true;
      var->is_data = false;
    }
    program->touch();
  }

  void bend_a_var() {
    const auto& vars = some_block().vars();
    if (vars.empty()) return;
    Var& var = *vars[in_.below(vars.size())];
    switch (in_.below(5)) {
      case 0:
        var.shape = some_shape(in_, var.shape);
        break;
      case 1:
        var.dtype = some_dtype(in_);
        break;
      case 2:
        var.kind = in_.coin() ? VarKind::kSelectedRows : VarKind::kTensorArray;
        break;
      case 3:
        var.persistable = !var.persistable;
        break;
      default:
        var.lod_level = static_cast<int32_t>(in_.below(3));
    }
    program->touch();
  }

  void change_a_type() {
    if (Op* op = some_op()) op->set_type(in_.pick(world().types));
  }

  void repeat_an_op() {
    Block& block = some_block();
    if (block.size() == 0 || block.size() > 40) return;
    const size_t position = in_.below(block.size());
    if (in_.coin()) {
      Op copy = block.op(position);
      block.insert(in_.below(block.size() + 1), std::move(copy));
    } else {
      block.erase(position);
    }
  }

  // The last ops of the global block run in a block of their own, if or as long as a bool is true.
  void put_into_block() {
    Block& global = program->global_block();
    if (global.size() == 0 || program->num_blocks() > 6) return;
    const size_t first = in_.below(global.size());
    const bool loop = in_.coin();
    Block& inner = program->create_block(0);
    std::vector<size_t> moved;
    for (size_t i = first; i < global.size(); ++i) {
      inner.push_back(Op(global.op(i)));
      moved.push_back(i);
    }
    global.erase(moved);
    const std::string condition = fmt::format("condition_{}", inner.index());
    global.add_var({.name = condition, .dtype = boolean, .shape = {1}, .is_data = true});
    feeds.push_back({condition, Tensor::of<bool>(std::array{true}, {1})});
    global.push_back(Op(loop ? "while" : "conditional_block",
                        {{loop ? "Condition" : "Cond", {condition}}}, {},
                        {{"sub_block", BlockRef{inner.index()}}}));
  }

  // The ops of another case behind these, their variables under names of their own.
  void append(const Loaded& other) {
    if (other.program->num_blocks() > 1 || program->global_block().size() > 40) return;
    Block& block = program->global_block();
    const std::string prefix = fmt::format("p{}_", block.size());
    const auto name = [&](const std::string& old) { return old == kEmptyVar ? old : prefix + old; };
    for (const auto& var : other.program->global_block().vars()) {
      Var copy = *var;
      copy.name = name(var->name);
      copy.block = nullptr;
      block.add_var(std::move(copy));
    }
    for (const auto& op : other.program->global_block().ops()) {
      Slots ins = op->inputs(), outs = op->outputs();
      for (Slots* slots : {&ins, &outs}) {
        for (auto& [slot, vars] : *slots) {
          for (std::string& var : vars) var = name(var);
        }
      }
      block.push_back(Op(op->type(), std::move(ins), std::move(outs), op->attrs()));
    }
    for (const NamedTensor& feed : other.text.feeds) {
      feeds.push_back({name(feed.name), feed.tensor});
    }
    for (const NamedTensor& state : other.text.states) {
      states.push_back({name(state.name), state.tensor});
    }
    for (const std::string& fetch : other.text.fetches) fetches.push_back(name(fetch));
  }
};

// The program again, op by op, as layers build it: what inference refuses then is not built.
std::shared_ptr<Program> rebuilt(const Program& program) {
  auto made = std::make_shared<Program>();
  Block& block = made->global_block();
  for (const auto& var : program.global_block().vars()) {
    Var copy = *var;
    copy.block = nullptr;
    block.add_var(std::move(copy));
  }
  for (const auto& op : program.global_block().ops()) {
    append_op(block, op->type(), op->inputs(), op->outputs(), op->attrs());
  }
  return made;
}

// With the gradient of all that the last op gives.
void differentiate(Program& program) {
  Block& block = program.global_block();
  if (block.size() == 0) return;
  std::vector<Var*> targets, inputs;
  for (const std::string& name : names_in(block.op(block.size() - 1).outputs())) {
    Var* var = block.find_var(name);
    if (var != nullptr && is_floating(var->dtype)) targets.push_back(var);
  }
  for (const auto& var : block.vars()) {
    if (var->is_data && is_floating(var->dtype)) inputs.push_back(var.get());
  }
  if (!targets.empty() && !inputs.empty()) gradients(targets, inputs, {});
}

std::shared_ptr<Program> built(Bytes& in, const Bent& bent) {
  std::shared_ptr<Program> program = bent.program;
  check_blocks(*program);
  const uint8_t how = in.byte();
  if ((how & 3) == 1 && program->num_blocks() == 1) program = rebuilt(*program);
  if ((how & 12) == 4) differentiate(*program);
  if ((how & 48) == 16) {
    std::string bytes = serialize(*program);
    if ((how & 64) != 0 && !bytes.empty()) {
      bytes[in.below(bytes.size())] = static_cast<char>(in.byte());
    }
    program = deserialize(bytes);
  }
  return program;
}

std::vector<std::string> some_fetches(Bytes& in, const Program& program,
                                      const std::vector<std::string>& recorded) {
  if (in.below(4) != 0) return recorded;
  std::set<std::string> names;
  for (const auto& op : program.global_block().ops()) {
    for (const std::string& name : names_in(op->outputs())) {
      if (name != kEmptyVar) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

void show(std::string_view what, const std::string& name, const Tensor& tensor) {
  if (!tensor.defined()) return;
  fmt::print(stderr, "{} {} {}{}\n", what, name, tensor.dtype(), tensor.shape());
}

// What is about to run.
void show(const Program& program, const Bent& bent, const std::vector<std::string>& fetches,
          Scope& scope) {
  std::fprintf(stderr, "%s", print(program, Detail::kBrief).c_str());
  for (const Feed& feed : bent.feeds) show("feed", feed.name, feed.tensor);
  for (const std::string& name : scope.names()) show("state", name, scope.var(name));
  fmt::print(stderr, "fetch {}\n", fmt::join(fetches, ", "));
}

void run(Bytes& in) {
  Report& report = world().report;
  ++report.executions;
  Bent bent(in, world().at(in.below(world().cases.size())));
  for (size_t bends = in.below(4) + (in.below(8) == 0 ? 4 : 0); bends > 0; --bends) bent.bend();
  const std::shared_ptr<Program> program = built(in, bent);
  const std::vector<std::string> fetches = some_fetches(in, *program, bent.fetches);

  LimitedCaller caller;
  Generator generator(7);
  Executor executor({.generator = &generator, .caller = &caller, .guarded = true});
  Scope scope;
  for (const Feed& state : bent.states) scope.var(state.name) = state.tensor.clone();
  for (int round = 0; round < 2; ++round) {
    caller.restart();
    if (world().shows) show(*program, bent, fetches, scope);
    Plan& plan = executor.plan(*program, bent.feeds, fetches, scope);
    if (round == 0) ++report.planned;
    executor.run(plan, bent.feeds, scope);
    if (round == 0) {
      ++report.ran;
      for (const auto& op : program->global_block().ops()) report.types.insert(op->type());
    }
    // A user puts something else there, or feeds something else.
    if (in.coin()) {
      bent.bend_a_feed();
    } else {
      const std::vector<std::string> names = scope.names();
      if (names.empty()) continue;
      Tensor& tensor = scope.var(in.pick(names));
      if (!tensor.defined()) continue;
      Tensor other = tensor.plain().clone();
      bend_tensor(in, other);
      tensor = other;
    }
  }
}

}  // namespace
}  // namespace flotilla

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  using namespace flotilla;
  run_quietly_on_one_thread();
  set_memory_limit(kMemory);
  for (Case& c : load_cases()) world().cases.push_back({std::move(c), nullptr});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  flotilla::Bytes in(data, size);
  try {
    flotilla::run(in);
  } catch (const flotilla::Error& error) {
    // Our own mistakes are no answer.
    if (error.kind() == flotilla::ErrorKind::kInternal) {
      std::fprintf(stderr, "%s\n", error.what());
      __builtin_trap();
    }
  }
  return 0;
}
