#include "flotilla/testing/cuda/check_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "flotilla/base/env.h"
#include "flotilla/device/cuda/graph.h"
#include "flotilla/ir/text.h"
#include "flotilla/op/kernel_dtype.h"
#include "flotilla/op/needs_value.h"
#include "flotilla/testing/cuda/gpu_host.h"

namespace flotilla {
namespace {

using Named = std::map<std::string, FetchedValue>;

VarMeta meta_of(const FetchedValue& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value)) {
    return VarMeta::tensor(tensor->dtype(), tensor->shape());
  }
  const auto& rows = std::get<SelectedRows>(value);
  VarMeta meta = VarMeta::tensor(rows.value.dtype(), rows.value.shape());
  meta.kind = VarKind::kSelectedRows;
  meta.shape[0] = rows.height;
  meta.rows = std::ssize(rows.rows);
  return meta;
}

InferContext::Metas metas_of(const Slots& slots, const Named& values) {
  InferContext::Metas metas;
  for (const auto& [slot, names] : slots) {
    for (const std::string& name : names) {
      const auto found = values.find(name);
      metas[slot].push_back(found == values.end() ? VarMeta{} : meta_of(found->second));
    }
  }
  return metas;
}

bool has_cuda_kernel(const Op& op, const Named& values) {
  const OpDef& def = op_def(op.type());
  const DType dtype =
      kernel_dtype(op, def, metas_of(op.inputs(), values), metas_of(op.outputs(), values));
  return std::any_of(def.kernels.begin(), def.kernels.end(), [&](const Kernel& kernel) {
    return kernel.device == kCuda && kernel.dtype == dtype;
  });
}

// Whether the values that the CPU left are those that the op saw.
bool can_be_repeated(const Block& block, size_t position) {
  const Op& op = block.op(position);
  std::set<std::string> written;
  for (size_t i = position; i < block.size(); ++i) {
    for (const std::string& name : names_in(block.op(i).outputs())) written.insert(name);
  }
  for (const std::string& name : names_in(op.inputs())) {
    if (name != kEmptyVar && written.contains(name)) return false;
  }
  for (const auto* slots : {&op.inputs(), &op.outputs()}) {
    for (const auto& [slot, names] : *slots) {
      for (const std::string& name : names) {
        const Var* var = name == kEmptyVar ? nullptr : block.find_var(name);
        if (var == nullptr) continue;
        const bool rows = var->kind == VarKind::kSelectedRows;
        if ((var->kind != VarKind::kTensor && !rows) || var->lod_level > 0) return false;
      }
    }
  }
  return true;
}

bool has_sparse(const Op& op, const Named& values) {
  for (const auto* slots : {&op.inputs(), &op.outputs()}) {
    for (const std::string& name : names_in(*slots)) {
      const auto found = values.find(name);
      if (found != values.end() && std::holds_alternative<SelectedRows>(found->second)) return true;
    }
  }
  return false;
}

// One op, its values on the GPU and what they should be.
class Trial {
 public:
  Trial(const Op& op, const Named& values, GpuHost::Sharing sharing)
      : values_(values), host_(*gpu_, sharing) {
    const GpuHost::Values in = add(op.inputs(), inputs_), out = add(op.outputs(), outputs_);
    step_ = host_.prepare(op, in, out);
  }

  std::vector<Tensor> run() {
    begin();
    step_();
    return outputs();
  }

  std::vector<Tensor> replay() {
    // Captured over other contents than it is replayed with.
    for (const auto& [name, value] : inputs_) spoil(value);
    if (!graph_.captured()) graph_.capture(gpu_->stream(), {&step_, 1});
    begin();
    graph_.replay(gpu_->stream());
    return outputs();
  }

  void move() {
    host_.move();
    graph_.capture(gpu_->stream(), {&step_, 1});
  }

  std::vector<Tensor> expected() const {
    std::vector<Tensor> tensors;
    for (const auto& [name, value] : outputs_) tensors.push_back(dense(values_.at(name)));
    return tensors;
  }

 private:
  GpuHost::Values add(const Slots& slots, std::map<std::string, int32_t>& known) {
    GpuHost::Values made;
    for (const auto& [slot, names] : slots) {
      for (const std::string& name : names) {
        if (name != kEmptyVar && !known.contains(name)) {
          known[name] = host_.add(meta_of(values_.at(name)));
        }
        made[slot].push_back(name == kEmptyVar ? -1 : known.at(name));
      }
    }
    return made;
  }

  void begin() {
    for (const auto& [name, value] : outputs_) spoil(value);
    for (const auto& [name, value] : inputs_) upload(value, values_.at(name));
  }

  void spoil(int32_t value) {
    host_.spoil(value);
    if (host_.rows_of(value) >= 0) host_.spoil(host_.rows_of(value));
  }

  void upload(int32_t value, const FetchedValue& from) {
    if (const auto* tensor = std::get_if<Tensor>(&from)) return host_.upload(value, *tensor);
    const auto& rows = std::get<SelectedRows>(from);
    host_.upload(value, rows.value);
    host_.upload(host_.rows_of(value), Tensor::of<int64_t>(rows.rows, {std::ssize(rows.rows)}));
  }

  Tensor download(int32_t value, const FetchedValue& like) {
    if (std::holds_alternative<Tensor>(like)) return host_.download(value);
    SelectedRows rows = {.height = std::get<SelectedRows>(like).height,
                         .value = host_.download(value)};
    const Tensor numbers = host_.download(host_.rows_of(value));
    rows.rows.assign(numbers.data<int64_t>(), numbers.data<int64_t>() + numbers.numel());
    return rows.to_dense();
  }

  std::vector<Tensor> outputs() {
    std::vector<Tensor> tensors;
    for (const auto& [name, value] : outputs_) {
      tensors.push_back(download(value, values_.at(name)));
    }
    return tensors;
  }

  const Named& values_;
  const std::shared_ptr<Gpu> gpu_ = open_gpu(0);
  GpuHost host_;
  std::map<std::string, int32_t> inputs_, outputs_;  // variable to value
  Step step_;
  cuda::Graph graph_;
};

// While it lives, f32 is multiplied with all its digits, as on the CPU.
class AllDigits {
 public:
  AllDigits() : before_(env::text(kName)) { setenv(kName, "0", 1); }
  ~AllDigits() {
    if (before_) {
      setenv(kName, before_->c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }
  AllDigits(const AllDigits&) = delete;
  AllDigits& operator=(const AllDigits&) = delete;

 private:
  static constexpr const char* kName = "FLT_TF32";
  const std::optional<std::string> before_;
};

void expect_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::memcmp(a[i].raw(), b[i].raw(), static_cast<size_t>(a[i].bytes())), 0)
        << "output " << i << " of a replay differs from the first run";
  }
}

// Null where a kernel leaves the op to the CPU: sparse rows, or values that only a run knows.
std::unique_ptr<Trial> trial_of(const Op& op, const Named& values, GpuHost::Sharing sharing) {
  try {
    return std::make_unique<Trial>(op, values, sharing);
  } catch (const NeedsValue&) {
    return nullptr;
  } catch (const Error&) {
    if (!has_sparse(op, values)) throw;
    return nullptr;
  }
}

// Whether the op could be tried.
bool try_kernel(const Op& op, const Named& values, GpuHost::Sharing sharing, double tolerance) {
  SCOPED_TRACE(fmt::format("on the GPU, {}: {}", sharing == GpuHost::kApart ? "apart" : "in place",
                           print(op)));
  const std::unique_ptr<Trial> trial = trial_of(op, values, sharing);
  if (trial == nullptr) return false;
  const std::vector<Tensor> first = trial->run(), expected = trial->expected();
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_LE(distance(first[i], expected[i]), tolerance)
        << "output " << i << "\n  is     " << ::testing::PrintToString(first[i]) << "\n  not    "
        << ::testing::PrintToString(expected[i]);
  }
  expect_same_bits(trial->replay(), first);
  expect_same_bits(trial->replay(), first);
  trial->move();
  expect_same_bits(trial->replay(), first);
  return true;
}

}  // namespace

int check_cuda_kernels(const Program& program, const std::vector<Feed>& feeds,
                       const std::vector<Feed>& persistables, double tolerance) {
  if (gpu_count() == 0) return 0;
  const AllDigits all_digits;
  const Block& block = program.global_block();
  std::set<std::string> names;
  for (const auto& op : block.ops()) {
    for (const std::string& name : names_in(op->inputs())) names.insert(name);
    for (const std::string& name : names_in(op->outputs())) names.insert(name);
  }
  names.erase(std::string(kEmptyVar));
  const std::vector<std::string> fetches(names.begin(), names.end());
  const std::vector<FetchedValue> fetched = fetch_program(program, feeds, fetches, persistables);
  Named values;
  for (size_t i = 0; i < fetches.size(); ++i) {
    const auto* tensor = std::get_if<Tensor>(&fetched[i]);
    values[fetches[i]] = tensor != nullptr ? FetchedValue(tensor->plain()) : fetched[i];
  }

  int checked = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    if (!can_be_repeated(block, i) || !has_cuda_kernel(block.op(i), values)) continue;
    const bool tried = try_kernel(block.op(i), values, GpuHost::kApart, tolerance);
    if (tried) try_kernel(block.op(i), values, GpuHost::kInPlace, tolerance);
    checked += tried ? 1 : 0;
  }
  return checked;
}

}  // namespace flotilla
