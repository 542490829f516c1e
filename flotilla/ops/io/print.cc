// flotilla/ops/io/print.cc
//
// print: Out is In, and each run writes what it holds to standard output, as lines that one call
// writes whole:
//
//     Variable: fc_0.tmp_1
//       - message: before softmax
//       - lod: {{0, 2, 3}}
//       - place: Place(cpu)
//       - shape: [3, 10]
//       - dtype: float32
//       - data: [0.125 -1.5 ...]
//
// Its gradient is a print too, with is_forward = false; print_phase says which of the two speak.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

template <typename T>
std::string elements(const T* data, int64_t count, int64_t limit) {
  const int64_t shown = limit < 0 ? count : std::min(count, limit);
  std::string text;
  for (int64_t i = 0; i < shown; ++i) {
    if (i > 0) text += ' ';
    if constexpr (std::is_floating_point_v<T>) {
      text += fmt::format("{:.6g}", data[i]);
    } else {
      text += fmt::format("{}", static_cast<int64_t>(data[i]));
    }
  }
  return text + (shown < count ? " ..." : "");
}

std::string line_of(const LoD& lod) {
  std::vector<std::string> levels;
  for (const auto& level : lod) levels.push_back(fmt::format("{{{}}}", fmt::join(level, ", ")));
  return fmt::format("  - lod: {{{}}}\n", fmt::join(levels, ", "));
}

// What stands before and behind the sequences, which are known only in a run.
std::pair<std::string, std::string> lines_around(const PrepareContext& c) {
  std::string before, behind = "  - place: Place(cpu)\n";
  const auto message = c.attr<std::string>("message");
  if (c.attr<bool>("print_tensor_name")) before = fmt::format("Variable: {}\n", c.op().input("In"));
  if (!message.empty()) before += fmt::format("  - message: {}\n", message);
  if (c.attr<bool>("print_tensor_shape")) behind += fmt::format("  - shape: {}\n", c.shape("In"));
  if (c.attr<bool>("print_tensor_type")) {
    behind += fmt::format("  - dtype: {}\n", long_name_of(c.dtype("In")));
  }
  return {before, behind};
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const auto phase = c.attr<std::string>("print_phase");
  const bool fits = phase == (c.attr<bool>("is_forward") ? "FORWARD" : "BACKWARD");
  const int64_t first_n = c.attr<int64_t>("first_n");
  const int64_t most = phase != "BOTH" && !fits ? 0 : first_n < 0 ? -1 : first_n;
  c.view("In", "Out");
  return [most, around = lines_around(c), times = std::make_shared<int64_t>(0),
          summarize = c.attr<int64_t>("summarize"), shows_lod = c.attr<bool>("print_tensor_lod"),
          n = c.shape("In").numel(), lod = c.lod("In"), in = c.in<T>("In"), out = c.out<T>("Out")] {
    const T* x = in.data();
    if (x != out.data()) std::copy_n(x, n, out.data());
    if (most >= 0 && *times >= most) return;
    ++*times;
    const LoD* levels = lod.get();
    const bool has_lod = shows_lod && levels != nullptr && !levels->empty();
    const std::string text = around.first + (has_lod ? line_of(*levels) : "") + around.second +
                             fmt::format("  - data: [{}]\n", elements(x, n, summarize));
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
};

void infer(InferContext& c) {
  const auto phase = c.attr<std::string>("print_phase");
  require(phase == "BOTH" || phase == "FORWARD" || phase == "BACKWARD",
          "print_phase must be BOTH, FORWARD or BACKWARD, but is \"{}\"", phase);
  VarMeta out = like(c.in("In"));
  remember_same(out, c.in("In"));
  c.out("Out") = std::move(out);
}

void grad(GradContext& g) {
  const std::string dout = g.output_grad("Out"), dx = g.input_grad("In");
  if (dx.empty()) return;
  Attrs attrs = g.op().attrs();
  attrs["is_forward"] = false;
  for (const char* mark : {"op_role", "op_role_var", "op_callstack"}) attrs.erase(mark);
  g.emit("print", {{"In", {dout}}}, {{"Out", {dx}}}, std::move(attrs));
}

const OpDef& print = define_op({
    .type = "print",
    .doc = "Out is In; what it holds is written to standard output.",
    .inputs = {{"In", "tensor of any dtype"}},
    .outputs = {{"Out", "the same"}},
    .attrs = {{"first_n", -1, "how often it is written; -1: in every run"},
              {"message", "", "a line before the rest"},
              {"summarize", 20, "how many elements are written; -1: all"},
              {"print_tensor_name", true, "whether the name is written"},
              {"print_tensor_type", true, "whether the dtype is written"},
              {"print_tensor_shape", true, "whether the shape is written"},
              {"print_tensor_layout", true, "ignored"},
              {"print_tensor_lod", true, "whether the sequences are written, where there are"},
              {"print_phase", "BOTH", "FORWARD, BACKWARD or BOTH"},
              {"is_forward", true, "false in the gradient"}},
    .infer = infer,
    .grad = custom_grad(grad),
    .kernels = kernels_for_all(prepare),
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops
