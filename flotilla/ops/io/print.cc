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

#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

// What the attributes ask for.
struct Wanted {
  explicit Wanted(const PrepareContext& c)
      : name(c.op().input("In")),
        message(c.attr<std::string>("message")),
        first_n(c.attr<int64_t>("first_n")),
        summarize(c.attr<int64_t>("summarize")),
        show_name(c.attr<bool>("print_tensor_name")),
        show_type(c.attr<bool>("print_tensor_type")),
        show_shape(c.attr<bool>("print_tensor_shape")),
        show_lod(c.attr<bool>("print_tensor_lod")),
        speaks(phase_fits(c)) {}

  static bool phase_fits(const PrepareContext& c) {
    const auto phase = c.attr<std::string>("print_phase");
    return phase == "BOTH" || phase == (c.attr<bool>("is_forward") ? "FORWARD" : "BACKWARD");
  }

  std::string name, message;
  int64_t first_n = -1;
  int64_t summarize = 20;
  bool show_name = true, show_type = true, show_shape = true, show_lod = true;
  bool speaks = true;
};

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

template <typename T>
std::string described(const Wanted& wanted, const Shape& shape, const LoD* lod, const T* data) {
  std::string text;
  if (wanted.show_name) text += fmt::format("Variable: {}\n", wanted.name);
  if (!wanted.message.empty()) text += fmt::format("  - message: {}\n", wanted.message);
  if (wanted.show_lod && lod != nullptr && !lod->empty()) {
    std::vector<std::string> levels;
    for (const auto& level : *lod) levels.push_back(fmt::format("{{{}}}", fmt::join(level, ", ")));
    text += fmt::format("  - lod: {{{}}}\n", fmt::join(levels, ", "));
  }
  text += "  - place: Place(cpu)\n";
  if (wanted.show_shape) text += fmt::format("  - shape: {}\n", shape);
  if (wanted.show_type) text += fmt::format("  - dtype: {}\n", long_name_of(dtype_of<T>));
  return text + fmt::format("  - data: [{}]\n", elements(data, shape.numel(), wanted.summarize));
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const auto times = std::make_shared<int64_t>(0);
  c.view("In", "Out");
  return [wanted = Wanted(c), shape = c.shape("In"), lod = c.lod("In"), times, in = c.in<T>("In"),
          out = c.out<T>("Out")] {
    const T* x = in.data();
    if (x != out.data()) std::copy_n(x, shape.numel(), out.data());
    if (!wanted.speaks || (wanted.first_n >= 0 && *times >= wanted.first_n)) return;
    ++*times;
    const std::string text = described(wanted, shape, lod.get(), x);
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
