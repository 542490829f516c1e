// tests/fuzz/infer_fuzz.cc
//
// Whatever the variables of an op are when it is appended, inference says what it writes, or
// refuses.
//
// The input picks one of the programs that run_program_fuzz bends and an op of it, or an op type
// whose slots it fills anew, makes its variables tensors of any rank, extents and dtype, sparse
// rows, arrays and the like, bends attributes, and infers. With FLT_FUZZ_SHOW=1 the ops are
// printed.

#include <set>

#include "flotilla/base/env.h"
#include "flotilla/device/allocator.h"
#include "flotilla/ir/text.h"
#include "flotilla/op/build.h"
#include "tests/fuzz/draws.h"

namespace flotilla {
namespace {

constexpr int64_t kMemory = int64_t{48} << 20;

// What is counted, and printed when the fuzzer ends.
struct Report {
  int64_t ops = 0, inferred = 0;
  std::set<std::string> types;

  ~Report() {
    if (ops < 100) return;
    std::fprintf(
        stderr,
        "programs: %lld of one op, of which %.1f%% were not refused; %zu op types, of %zu\n",
        static_cast<long long>(ops),
        100.0 * static_cast<double>(inferred) / static_cast<double>(ops), types.size(),
        op_types().size());
  }
};

struct World {
  std::vector<std::shared_ptr<Program>> programs;
  std::vector<std::string> types = op_types();
  bool shows = env::text_or("FLT_FUZZ_SHOW", "") == "1";
  Report report;
};

World& world() {
  static World made;
  return made;
}

VarKind some_kind(Bytes& in) {
  static const std::vector<VarKind> kKinds = [] {
    std::vector<VarKind> kinds(8, VarKind::kTensor);
    for (const VarKindName& one : kVarKinds) kinds.push_back(one.kind);
    kinds.insert(kinds.end(), 3, VarKind::kSelectedRows);
    kinds.insert(kinds.end(), 3, VarKind::kTensorArray);
    return kinds;
  }();
  return in.pick(kKinds);
}

Shape any_shape(Bytes& in) {
  static const std::vector<int64_t> kExtents = {-1, 1, 2, 0, 3, 4, 6, 8, 1 << 20, -1};
  std::vector<int64_t> dims(in.below(7));
  for (int64_t& extent : dims) extent = in.pick(kExtents);
  return Shape(dims);
}

void bend(Bytes& in, Var& var) {
  if (in.coin()) var.shape = any_shape(in);
  if (in.below(4) == 0) var.kind = some_kind(in);
  if (in.below(4) == 0) var.dtype = some_dtype(in);
  if (in.below(4) == 0) var.lod_level = static_cast<int32_t>(in.below(4));
}

void infer(Block& block, const Op& op) {
  World& w = world();
  const OpDef* def = find_op(op.type());
  if (def == nullptr) return;
  if (w.shows) {
    for (const Slots* slots : {&op.inputs(), &op.outputs()}) {
      for (const auto& [slot, names] : *slots) {
        for (const std::string& name : names) {
          const Var* var = block.find_var_recursive(name);
          if (var == nullptr) continue;
          std::fprintf(stderr, "%s %s %s%s lod %d\n", name.c_str(),
                       std::string(name_of(var->kind)).c_str(),
                       std::string(name_of(var->dtype)).c_str(), to_string(var->shape).c_str(),
                       var->lod_level);
        }
      }
    }
    std::fprintf(stderr, "%s\n", print(op).c_str());
  }
  w.report.types.insert(op.type());
  infer_op(block, op, *def);
  ++w.report.inferred;
}

// An op of a program, after some of its variables have been bent.
void infer_one_of_a_program(Bytes& in) {
  const std::shared_ptr<Program> program = in.pick(world().programs)->clone();
  Block& block = program->block(static_cast<int32_t>(in.below(program->blocks().size())));
  if (block.ops().empty()) return;
  Op& op = *block.ops()[in.below(block.ops().size())];
  for (const Slots* slots : {&op.inputs(), &op.outputs()}) {
    for (const auto& [slot, names] : *slots) {
      for (const std::string& name : names) {
        Var* var = block.find_var_recursive(name);
        if (var != nullptr && in.coin()) bend(in, *var);
      }
    }
  }
  if (!op.attrs().empty() && in.coin()) {
    auto entry = std::next(op.attrs().begin(), static_cast<int64_t>(in.below(op.attrs().size())));
    Attr attr = entry->second;
    bend_attr(in, attr);
    op.set_attr(entry->first, attr);
  }
  infer(block, op);
}

// An op of any type, with variables in its slots and attributes as they are by default or bent.
void infer_any(Bytes& in) {
  const OpDef& def = op_def(in.pick(world().types));
  auto program = std::make_shared<Program>();
  Block& block = program->global_block();
  int64_t made = 0;
  const auto fill = [&](const std::vector<Slot>& slots) {
    Slots filled;
    for (const Slot& slot : slots) {
      const size_t count = slot.list ? in.below(4) : slot.optional ? in.below(2) : 1;
      for (size_t i = 0; i < count; ++i) {
        Var& var = block.add_var({.name = fmt::format("v{}", made++)});
        var.shape = any_shape(in);
        bend(in, var);
        filled[slot.name].push_back(var.name);
      }
    }
    return filled;
  };
  Slots inputs = fill(def.inputs), outputs = fill(def.outputs);
  Attrs attrs;
  for (const AttrSpec& spec : def.attrs) {
    Attr attr = spec.initial;
    if (in.below(3) == 0) bend_attr(in, attr);
    attrs[spec.name] = attr;
  }
  infer(block, Op(def.type, std::move(inputs), std::move(outputs), std::move(attrs)));
}

}  // namespace
}  // namespace flotilla

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  using namespace flotilla;
  set_memory_limit(kMemory);
  for (const Case& c : load_cases()) world().programs.push_back(parse(c.program));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  flotilla::Bytes in(data, size);
  ++flotilla::world().report.ops;
  try {
    in.coin() ? flotilla::infer_any(in) : flotilla::infer_one_of_a_program(in);
  } catch (const flotilla::Error& error) {
    // Our own mistakes are no answer.
    if (error.kind() == flotilla::ErrorKind::kInternal) {
      std::fprintf(stderr, "%s\n", error.what());
      __builtin_trap();
    }
  }
  return 0;
}
