// flotilla/ops/tensor/pad.cc
//
// pad, pad2d, pad3d: X with a border, mirrored, repeated, or a constant.

#include <algorithm>

#include "flotilla/device/allocator.h"
#include "flotilla/op/needs_value.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/tensor/index_map.h"

namespace flotilla::ops {
namespace {

// Before and after, for each axis.
struct Pads {
  Ints before = {}, after = {};
};

constexpr int64_t kMostPadding = int64_t{1} << 40;

Shape padded(const Shape& x, const Pads& pads) {
  Shape out = x;
  for (int64_t a = 0; a < x.rank(); ++a) {
    const size_t i = static_cast<size_t>(a);
    if (out[a] < 0) continue;
    for (const int64_t pad : {pads.before[i], pads.after[i]}) {
      require(-kMostPadding < pad && pad < kMostPadding,
              "paddings must lie below 2^40, but along axis {} one is {}", a, pad);
    }
    out[a] += pads.before[i] + pads.after[i];
    require(out[a] >= 0, "paddings of {} and {} leave nothing of axis {} of X, which has shape {}",
            pads.before[i], pads.after[i], a, x);
  }
  return out;
}

AxisMaps border_maps(const Shape& x, const Pads& pads, Border border) {
  AxisMaps axes;
  const Shape all = padded(x, pads);
  require_room(all.numel());
  for (int64_t a = 0; a < x.rank(); ++a) {
    const size_t i = static_cast<size_t>(a);
    const int64_t before = pads.before[i], after = pads.after[i];
    require_room(all[a] * static_cast<int64_t>(sizeof(int64_t)));
    require(border != Border::kReflect || (before < x[a] && after < x[a]),
            "a mirrored border must be narrower than the axis, but {} and {} meet extent {}",
            before, after, x[a]);
    require(border == Border::kConstant || x[a] > 0,
            "a border cannot be made of axis {} of X, which has shape {}", a, x);
    axes.push_back({border, x[a], all[a], before});
  }
  return axes;
}

const IntSource kPaddings = {.tensor = "Paddings", .attr = "paddings"};

struct PadForm {
  std::string type;
  std::string value;  // the attribute that holds the constant
  // The axes that paddings name, in their order, counted among the spatial ones; none: all axes.
  Ints axes = {};
  std::vector<std::pair<std::string, Border>> modes = {};
  std::string data_format = {};

  int64_t rank() const { return std::ssize(axes) + 2; }
};

const std::vector<PadForm> kPadForms = {
    {"pad", "pad_value"},
    {"pad2d",
     "pad_value",
     {0, 1},
     {{"constant", Border::kConstant}, {"reflect", Border::kReflect}, {"edge", Border::kRepeat}},
     "NCHW"},
    {"pad3d",
     "value",
     {2, 1, 0},
     {{"constant", Border::kConstant},
      {"reflect", Border::kReflect},
      {"replicate", Border::kRepeat},
      {"circular", Border::kCircular}},
     "NCDHW"}};

// Of the op or the gradient op.
const PadForm& form_of(const Op& op) {
  return *std::ranges::find_if(kPadForms, [&](const PadForm& form) {
    return op.type() == form.type || op.type() == form.type + "_grad";
  });
}

template <typename Context>
int64_t spatial_axis(const Context& c, const Shape& x, const PadForm& form, int64_t axis) {
  require(x.rank() == form.rank(), "{} takes an X of rank {}, but X has shape {}", c.op().type(),
          form.rank(), x);
  const bool channels_last = c.template attr<std::string>("data_format").ends_with("C");
  return axis + (channels_last ? 1 : 2);
}

template <typename Context>
Pads spatial_pads(const Context& c, const Shape& x, const PadForm& form) {
  const size_t rank = x.dims().size();
  const MaybeInts given = ints_of(c, kPaddings);
  require(given.size() == 2 * form.axes.size(), "paddings of {} must hold {} numbers, but holds {}",
          c.op().type(), 2 * form.axes.size(), given.size());
  Pads pads{Ints(rank, 0), Ints(rank, 0)};
  for (size_t i = 0; i < form.axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(spatial_axis(c, x, form, form.axes[i]));
    if (!given[2 * i] || !given[2 * i + 1]) throw NeedsValue("Paddings", c.op().type());
    pads.before[axis] = *given[2 * i];
    pads.after[axis] = *given[2 * i + 1];
  }
  return pads;
}

template <typename Context>
Pads pads_of(const Context& c, const Shape& x) {
  const PadForm& form = form_of(c.op());
  if (!form.axes.empty()) return spatial_pads(c, x, form);
  const Ints given = c.template attr<Ints>("paddings");
  require(static_cast<int64_t>(given.size()) == 2 * x.rank(),
          "paddings must hold two numbers for each axis of X, which has shape {}, but holds {}", x,
          given.size());
  Pads pads;
  for (size_t i = 0; i < given.size(); i += 2) {
    pads.before.push_back(given[i]);
    pads.after.push_back(given[i + 1]);
  }
  return pads;
}

Border border_of(const PrepareContext& c) {
  const PadForm& form = form_of(c.op());
  if (form.modes.empty()) return Border::kConstant;
  const std::string mode = c.attr<std::string>("mode");
  std::string known;
  for (const auto& [name, border] : form.modes) {
    if (mode == name) return border;
    known += known.empty() ? name : ", " + name;
  }
  refuse("mode of {} must be one of {}, but is \"{}\"", c.op().type(), known, mode);
}

// Before the paddings are known.
Shape unknown_along_pads(const InferContext& c, Shape x) {
  const PadForm& form = form_of(c.op());
  for (const int64_t axis : form.axes) x[spatial_axis(c, x, form, axis)] = -1;
  return x;
}

void infer_pad(InferContext& c) {
  const VarMeta& x = c.in("X");
  const bool later = !c.running() && c.has_in("Paddings");
  c.out("Out") = VarMeta::tensor(
      x.dtype, later ? unknown_along_pads(c, x.shape) : padded(x.shape, pads_of(c, x.shape)));
}

// Where X is not given, its shape follows from that of the result.
void infer_pad_grad(InferContext& c) {
  if (c.has_in("X")) {
    if (c.running()) pads_of(c, c.in("X").shape);  // or the run waits for them
    c.out("X@GRAD") = like(c.in("X"));
    return;
  }
  const VarMeta& dout = c.in("Out@GRAD");
  Pads pads = pads_of(c, dout.shape);
  for (int64_t& extent : pads.before) extent = -extent;
  for (int64_t& extent : pads.after) extent = -extent;
  c.out("X@GRAD") = VarMeta::tensor(dout.dtype, padded(dout.shape, pads));
}

AxisMaps pad_maps(const PrepareContext& c, const Shape& x) {
  return border_maps(x, pads_of(c, x), border_of(c));
}

constexpr auto pad_forward = []<typename T>(PrepareContext& c) -> Step {
  const auto value = static_cast<T>(c.attr<float>(form_of(c.op()).value));
  return take_mapped<T>(c, "X", "Out", pad_maps(c, c.shape("X")), value);
};

constexpr auto pad_backward = []<typename T>(PrepareContext& c) -> Step {
  return give_back_mapped<T>(c, "Out@GRAD", "X@GRAD", pad_maps(c, c.shape("X@GRAD")));
};

const bool kPads = [] {
  for (const PadForm& form : kPadForms) {
    const bool all = form.axes.empty();
    OpDef def{
        .type = form.type,
        .doc = "X with a border.",
        .inputs = {{.name = "X", .doc = "tensor"}},
        .outputs = {{.name = "Out", .doc = "X inside a border"}},
        .attrs = {{"paddings", std::vector<int32_t>{}, "width of the border, before and after"}},
        .infer = infer_pad,
        .grad = grad_op(all ? std::vector<Use>{} : std::vector<Use>{"X", "Paddings"},
                        {.kernels = kernels_for<float, double>(pad_backward),
                         .infer = infer_pad_grad,
                         .inputs = {unread("X", "input of the op")}}),
        .kernels = kernels_for<float, double, int32_t, int64_t>(pad_forward),
        .dtype_slot = "X"};
    if (!all) def.inputs = with_slots_of({kPaddings}, std::move(def.inputs));
    if (!all) def.attrs.push_back({"mode", std::string("constant"), "what the border holds"});
    def.attrs.push_back({form.value, 0.0f, "the constant"});
    if (!all) def.attrs.push_back({"data_format", form.data_format, "where the channels stand"});
    define_op(std::move(def));
  }
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
