#include "flotilla/testing/check_op.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "flotilla/autodiff/backward.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ir/text.h"
#include "flotilla/op/op_def.h"
#ifdef FLT_CUDA
#include "flotilla/testing/cuda/check_kernels.h"
#endif

namespace flotilla {
namespace {

constexpr int64_t kDifferences = 40;  // elements of an input that are moved
constexpr double kMove = 1e-5;

bool holds(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The op with the gradient of sum(outputs * weights), and all that is fetched.
struct Experiment {
  BuiltOp built = {};
  std::vector<Feed> persistables = {};
  std::vector<std::string> moved = {};    // inputs whose gradient is checked
  std::vector<std::string> grads = {};    // their gradients
  std::vector<std::string> outputs = {};  // all outputs
  std::vector<std::string> targets = {};  // outputs that the gradient comes from
  std::vector<Tensor> weights = {};       // of targets

  std::vector<std::string> fetches() const {
    std::vector<std::string> names = outputs;
    names.insert(names.end(), grads.begin(), grads.end());
    return names;
  }
};

bool is_target(const OpCase& c, const OpDef& def, const std::string& slot) {
  const Slot* spec = def.find_output(slot);
  if (!c.grad_outputs.empty()) return holds(c.grad_outputs, slot);
  if (spec->no_grad) return false;
  if (def.grad.kind != GradRule::kGradOp) return true;
  return op_def(def.grad_type()).find_input(grad_name(slot)) != nullptr;
}

bool is_moved(const OpCase& c, const OpDef& def, const std::string& slot) {
  if (!c.grad_inputs.empty()) return holds(c.grad_inputs, slot);
  return !def.find_input(slot)->no_grad;
}

std::vector<Var*> add_weights(Experiment& e) {
  Block& block = e.built.program->global_block();
  std::vector<Var*> vars;
  // Some shapes are known only when the op runs.
  const std::vector<Tensor> found = run_program(*e.built.program, e.built.feeds, e.targets);
  for (size_t i = 0; i < e.targets.size(); ++i) {
    const Var& target = block.var(e.targets[i]);
    const Tensor weight = uniform(found[i].shape(), -1, 1, 100 + i, target.dtype);
    Var& var = block.add_var({.name = fmt::format("weight_{}", i),
                              .dtype = target.dtype,
                              .shape = target.shape,
                              .is_data = true});
    e.weights.push_back(weight);
    e.built.feeds.push_back({var.name, weight});
    vars.push_back(&var);
  }
  return vars;
}

void differentiate(const OpCase& c, Experiment& e) {
  Block& block = e.built.program->global_block();
  const OpDef& def = op_def(c.type);
  std::vector<Var*> inputs, targets;
  for (const auto& [slot, vars] : e.built.op().inputs()) {
    for (const std::string& name : vars) {
      Var& var = block.var(name);
      var.stop_gradient =
          !is_floating(var.dtype) || var.kind != VarKind::kTensor || !is_moved(c, def, slot);
      if (var.stop_gradient) continue;
      inputs.push_back(&var);
      e.moved.push_back(name);
    }
  }
  for (const auto& [slot, vars] : e.built.op().outputs()) {
    for (const std::string& name : vars) {
      Var& var = block.var(name);
      if (!is_floating(var.dtype) || !is_target(c, def, slot)) continue;
      targets.push_back(&var);
      e.targets.push_back(name);
    }
  }
  if (inputs.empty() || targets.empty()) return;
  e.grads = gradients(targets, inputs, add_weights(e));
}

bool has_gradient(const OpCase& c) { return c.grad && op_def(c.type).grad.kind != GradRule::kNone; }

Experiment experiment(const OpCase& c, const Inputs& inputs) {
  Experiment e{
      .built = build_op(c.type, inputs, c.attrs, {.outputs = c.outputs, .in_place = c.in_place})};
  e.outputs = e.built.output_names();
  if (has_gradient(c)) {
    differentiate(c, e);
    for (size_t i = 0; i < e.grads.size(); ++i) {
      EXPECT_NE(e.grads[i], "") << "no gradient arrives at " << e.moved[i];
    }
    std::erase(e.grads, "");
  }
  return e;
}

std::vector<Tensor> run(const Experiment& e) {
  return run_program(*e.built.program, e.built.feeds, e.fetches(), e.persistables);
}

Tensor rounded(const Tensor& tensor, DType dtype) {
  std::vector<double> values = values_of(tensor);
  for (double& value : values) value = std::round(value);
  return from_values(values, tensor.shape(), dtype);
}

// All inputs of dtype `from` as `to`; with `whole`, rounded first.
Inputs convert_inputs(const Inputs& inputs, DType from, DType to, bool whole) {
  Inputs out;
  for (const auto& [slot, operands] : inputs) {
    for (const FetchedValue& operand : operands) {
      if (const auto* rows = std::get_if<SelectedRows>(&operand)) {
        SelectedRows copy = *rows;
        if (copy.value.dtype() == from) copy.value = converted(copy.value, to);
        out[slot].push_back(copy);
        continue;
      }
      Tensor tensor = std::get<Tensor>(operand);
      if (tensor.dtype() == from) {
        const LoD lod = tensor.lod();
        tensor = whole ? rounded(tensor, to) : converted(tensor, to);
        tensor.set_lod(lod);
      }
      out[slot].push_back(tensor);
    }
  }
  return out;
}

// The dtype of the input that picks the kernel; nothing where the op has no input.
std::optional<DType> picking_dtype(const OpCase& c, const OpDef& def) {
  const auto dtype_of_slot = [&](const std::string& slot) -> std::optional<DType> {
    const auto found = c.inputs.find(slot);
    if (found == c.inputs.end() || found->second.empty()) return std::nullopt;
    const FetchedValue& first = found->second.front();
    const auto* rows = std::get_if<SelectedRows>(&first);
    return rows != nullptr ? rows->value.dtype() : std::get<Tensor>(first).dtype();
  };
  if (const auto dtype = dtype_of_slot(def.dtype_slot)) return dtype;
  for (const Slot& slot : def.inputs) {
    if (const auto dtype = dtype_of_slot(slot.name)) return dtype;
  }
  return std::nullopt;
}

std::set<DType> cpu_dtypes(const OpDef& def) {
  std::set<DType> found;
  for (const Kernel& kernel : def.kernels) {
    if (kernel.device == kCpu) found.insert(kernel.dtype);
  }
  if (def.lower != nullptr) found.insert({f32, f64});  // by way of other ops
  return found;
}

void expect_close(const Experiment& e, const std::vector<Tensor>& found,
                  const std::vector<Tensor>& expected, double tolerance) {
  const std::vector<std::string> names = e.fetches();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].shape(), expected[i].shape()) << names[i];
    const double far = distance(found[i], expected[i]);
    EXPECT_LE(far, tolerance) << names[i] << "\n  is     " << ::testing::PrintToString(found[i])
                              << "\n  not    " << ::testing::PrintToString(expected[i]);
  }
}

void expect_same_bits(const Experiment& e, const std::vector<Tensor>& a,
                      const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::memcmp(a[i].raw(), b[i].raw(), static_cast<size_t>(a[i].bytes())), 0)
        << e.fetches()[i] << " differs between two runs";
  }
}

// sum(targets * weights) of a forward run.
double weighted_sum(const Experiment& e, const std::vector<FetchedValue>& targets) {
  double total = 0;
  for (size_t k = 0; k < targets.size(); ++k) {
    const std::vector<double> out = values_of(dense(targets[k])), weight = values_of(e.weights[k]);
    for (size_t i = 0; i < out.size(); ++i) total += out[i] * weight[i];
  }
  return total;
}

// Moves some elements of one input, spread over it, and compares.
void check_differences(const OpCase& c, const Experiment& e, size_t input, const Tensor& gradient) {
  Generator generator(7);
  Executor executor({.generator = &generator});
  Scope scope;
  std::vector<Feed> feeds = e.built.feeds;
  const auto feed = std::find_if(feeds.begin(), feeds.end(),
                                 [&](const Feed& f) { return f.name == e.moved[input]; });
  feed->tensor = feed->tensor.clone();
  double* x = feed->tensor.data<double>();
  const auto loss = [&] {
    generator.seed(7);  // a dropout draws the same mask each time
    return weighted_sum(e, executor.run(*e.built.program, feeds, e.targets, scope));
  };
  const std::vector<double> expected = values_of(gradient);
  double scale = 1;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  const int64_t n = feed->tensor.numel(), stride = n / kDifferences + 1;
  for (int64_t i = 0; i < n; i += stride) {
    const double before = x[i], move = kMove * std::max(1.0, std::abs(before));
    x[i] = before + move;
    const double above = loss();
    x[i] = before - move;
    const double below = loss();
    x[i] = before;
    EXPECT_NEAR(expected[static_cast<size_t>(i)], (above - below) / (2 * move),
                c.grad_tolerance * scale)
        << "the gradient of " << e.moved[input] << " at element " << i << " (" << before
        << ") against finite differences";
  }
}

void check_gradient(const OpCase& c, const Experiment& e, const std::vector<Tensor>& results) {
  for (size_t i = 0; i < e.grads.size() && e.grads.size() == e.moved.size(); ++i) {
    check_differences(c, e, i, results[e.outputs.size() + i]);
  }
}

// Inputs of rank 4 as variables that lie in blocks of 16 channels, as a convolution leaves them.
bool block_inputs(Experiment& e) {
  const Layout layout = parse_layout("aBcd16b");
  Block& block = e.built.program->global_block();
  std::vector<Feed> kept;
  for (const Feed& feed : e.built.feeds) {
    if (feed.tensor.shape().rank() == 4 && feed.tensor.dtype() == f32 &&
        !feed.name.starts_with("weight_")) {
      Var& var = block.var(feed.name);
      var.persistable = true;
      var.is_data = false;
      e.persistables.push_back({feed.name, feed.tensor.clone(layout)});
    } else {
      kept.push_back(feed);
    }
  }
  e.built.feeds = kept;
  return !e.persistables.empty();
}

class ThreadsGuard {
 public:
  ThreadsGuard() : before_(threads()) {}
  ~ThreadsGuard() { set_threads(before_); }
  ThreadsGuard(const ThreadsGuard&) = delete;
  ThreadsGuard& operator=(const ThreadsGuard&) = delete;

 private:
  int before_;
};

void check_threads(const OpCase& c, const Experiment& e) {
  const ThreadsGuard guard;
  std::vector<Tensor> one;
  for (const int count : {1, 2}) {
    SCOPED_TRACE(fmt::format("{} threads", count));
    set_threads(count);
    const std::vector<Tensor> first = run(e);
    expect_same_bits(e, first, run(e));
    if (count == 1) one = first;
    expect_close(e, first, one, c.tolerance);
  }
}

// Where there is a GPU: the op and its gradient with the CUDA kernels that they have.
void check_gpu([[maybe_unused]] const Experiment& e, [[maybe_unused]] double tolerance) {
#ifdef FLT_CUDA
  check_cuda_kernels(*e.built.program, e.built.feeds, e.persistables, tolerance);
#endif
}

// Half a unit in the last place of 1: what storing a result in the dtype may change it by.
double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

bool is_short_float_dtype(DType dtype) { return dtype == f16 || dtype == bf16; }

// Whether each op of the program has a kernel for `dtype`.
bool runs_in(const Program& program, DType dtype) {
  const Block& block = program.global_block();
  for (size_t i = 0; i < block.size(); ++i) {
    if (!cpu_dtypes(op_def(block.op(i).type())).contains(dtype)) return false;
  }
  return true;
}

// The op and its gradient in a 16-bit type, against f32 from inputs that both types have. Such
// kernels compute in f32: a value is rounded to the type where it is stored, which is once for a
// result, and for a gradient once for each of the result that it reads, what comes of that, and
// itself; sums add a rounding of f32 for each term.
void check_short_floats(const OpCase& c, DType given, DType dtype) {
  constexpr double kStored = 4;
  const Inputs inputs = convert_inputs(c.inputs, given, dtype, false);
  OpCase tried = c;
  tried.grad =
      tried.grad && has_gradient(c) && runs_in(*experiment(c, inputs).built.program, dtype);
  const Experiment e = experiment(tried, inputs);
  Experiment wide = experiment(tried, convert_inputs(inputs, dtype, f32, false));
  double terms = 0;
  for (size_t i = 0; i < e.built.feeds.size(); ++i) {
    const Tensor& fed = e.built.feeds[i].tensor;
    if (fed.dtype() == dtype) wide.built.feeds[i].tensor = converted(fed, f32);
    terms = std::max(terms, static_cast<double>(fed.numel()));
  }
  const double tolerance = kStored * rounding_of(dtype) + terms * rounding_of(f32) + c.tolerance;
  expect_close(e, run(e), run(wide), tolerance);
}

// Each dtype with a kernel, against f64 (or whole numbers against the first run).
void check_dtypes(const OpCase& c, const OpDef& def, DType given) {
  const std::set<DType> dtypes = cpu_dtypes(def);
  const bool floats = is_floating(given);
  if (floats && !dtypes.contains(f64)) {
    EXPECT_FALSE(c.reference) << c.type << " has no cpu f64 kernel to compare with";
    return;
  }
  const DType base = floats ? f64 : given;
  const Experiment exact = experiment(c, convert_inputs(c.inputs, given, base, false));
  const std::vector<Tensor> expected = run(exact);
  if (floats) check_gradient(c, exact, expected);
  check_gpu(exact, floats ? c.grad_tolerance : 0);
  OpCase forward = c;
  forward.grad = false;
  for (const DType dtype : dtypes) {
    SCOPED_TRACE(fmt::format("dtype {}", dtype));
    if (dtype == base) continue;
    if (dtype == f32 && floats) {
      Experiment e = experiment(c, convert_inputs(c.inputs, given, f32, false));
      expect_close(e, run(e), expected, c.tolerance);
      check_gpu(e, c.tolerance);
      SCOPED_TRACE("blocked inputs");
      if (block_inputs(e)) expect_close(e, run(e), expected, c.tolerance);
    } else if (is_short_float_dtype(dtype) && floats && dtypes.contains(f32)) {
      check_short_floats(c, given, dtype);
    } else if ((dtype == i32 || dtype == i64) && c.integers) {
      const Experiment e = experiment(forward, convert_inputs(c.inputs, given, dtype, true));
      const Experiment same = experiment(forward, convert_inputs(c.inputs, given, base, true));
      expect_close(e, run(e), run(same), 1e-12);
    }
  }
}

}  // namespace

void check_op(const OpCase& c) {
  const OpDef& def = op_def(c.type);
  const Experiment as_given = experiment(c, c.inputs);
  SCOPED_TRACE(print(as_given.built.op()));
  const std::optional<DType> given = picking_dtype(c, def);
  if (given.has_value()) check_dtypes(c, def, *given);
  check_threads(c, as_given);
}

}  // namespace flotilla
