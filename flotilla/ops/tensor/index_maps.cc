// flotilla/ops/tensor/index_maps.cc
//
// Operators where each axis of Out takes its indices from an axis of X by a table: pad, pad2d,
// pad3d (mirrored, repeated, or a constant beyond the border), roll.
//
//     pad3d, mode reflect, [1, 2]:  out 0 1 2 3 4 5  from  1 0 1 2 1 0
//     roll by 1:                    out 0 1 2        from  2 0 1

#include <algorithm>

#include "flotilla/device/allocator.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/needs_value.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

// table[i]: the index of X that index i of Out takes; -1: the constant.
using Table = Ints;

class IndexMap {
 public:
  IndexMap(const Shape& x, std::vector<Table> tables)
      : strides_(dense_strides(x)), tables_(std::move(tables)) {
    for (const Table& table : tables_) rows_ *= static_cast<int64_t>(table.size());
    columns_ = tables_.empty() ? 1 : static_cast<int64_t>(tables_.back().size());
    rows_ = columns_ == 0 ? 0 : rows_ / columns_;
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // Where row `row` of Out begins in X; -1: all of it is the constant.
  int64_t row_of(int64_t row) const {
    int64_t from = 0;
    for (size_t a = tables_.empty() ? 0 : tables_.size() - 1; a-- > 0;) {
      const int64_t extent = static_cast<int64_t>(tables_[a].size());
      const int64_t index = tables_[a][static_cast<size_t>(row % extent)];
      if (index < 0) return -1;
      from += index * strides_[a];
      row /= extent;
    }
    return from;
  }
  // The index within a row of X.
  int64_t column_of(int64_t column) const {
    return tables_.empty() ? 0 : tables_.back()[static_cast<size_t>(column)];
  }

 private:
  Ints strides_;
  std::vector<Table> tables_;
  int64_t rows_ = 1, columns_ = 1;
};

template <typename T>
void take(const IndexMap& map, const T* x, T* out, T constant) {
  parallel_for(map.rows(), map.columns() * 2, [&](int64_t row) {
    const int64_t from = map.row_of(row);
    T* to = out + row * map.columns();
    for (int64_t i = 0; i < map.columns(); ++i) {
      const int64_t column = map.column_of(i);
      to[i] = from < 0 || column < 0 ? constant : x[from + column];
    }
  });
}

// Elements of X that were taken several times get several gradients: one thread adds them.
template <typename T>
void give_back(const IndexMap& map, const T* dout, T* dx, int64_t n) {
  zero_bytes(dx, n * static_cast<int64_t>(sizeof(T)));
  for (int64_t row = 0; row < map.rows(); ++row) {
    const int64_t to = map.row_of(row);
    if (to < 0) continue;
    for (int64_t i = 0; i < map.columns(); ++i) {
      const int64_t column = map.column_of(i);
      if (column >= 0) dx[to + column] += dout[row * map.columns() + i];
    }
  }
}

// ---- Tables -------------------------------------------------------------------------------------

enum class Border { kConstant, kReflect, kRepeat, kCircular };

Table border_table(int64_t extent, int64_t before, int64_t after, Border border) {
  Table table;
  for (int64_t i = -before; i < extent + after; ++i) {
    int64_t from = i;
    const bool outside = i < 0 || i >= extent;
    if (outside && border == Border::kConstant) from = -1;
    if (border == Border::kRepeat) from = std::clamp<int64_t>(i, 0, extent - 1);
    if (border == Border::kCircular) from = (i % extent + extent) % extent;
    if (border == Border::kReflect) from = i < 0 ? -i : i >= extent ? 2 * extent - 2 - i : i;
    table.push_back(from);
  }
  return table;
}

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

std::vector<Table> border_tables(const Shape& x, const Pads& pads, Border border) {
  std::vector<Table> tables;
  const Shape all = padded(x, pads);
  require_room(all.numel());
  for (int64_t a = 0; a < x.rank(); ++a) {
    const size_t i = static_cast<size_t>(a);
    const int64_t before = pads.before[i], after = pads.after[i];
    require_room(all[a] * static_cast<int64_t>(sizeof(Table::value_type)));
    require(border != Border::kReflect || (before < x[a] && after < x[a]),
            "a mirrored border must be narrower than the axis, but {} and {} meet extent {}",
            before, after, x[a]);
    require(border == Border::kConstant || x[a] > 0,
            "a border cannot be made of axis {} of X, which has shape {}", a, x);
    tables.push_back(border_table(x[a], before, after, border));
  }
  return tables;
}

// ---- pad, pad2d, pad3d --------------------------------------------------------------------------

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
Pads spatial_pads(const Context& c, const Shape& x, const PadForm& form) {
  const size_t rank = x.dims().size();
  require(x.rank() == form.rank(), "{} takes an X of rank {}, but X has shape {}", c.op().type(),
          form.rank(), x);
  const MaybeInts given = ints_of(c, kPaddings);
  require(given.size() == 2 * form.axes.size(), "paddings of {} must hold {} numbers, but holds {}",
          c.op().type(), 2 * form.axes.size(), given.size());
  const bool channels_last = c.template attr<std::string>("data_format").ends_with("C");
  Pads pads{Ints(rank, 0), Ints(rank, 0)};
  for (size_t i = 0; i < form.axes.size(); ++i) {
    const size_t axis = static_cast<size_t>(form.axes[i] + (channels_last ? 1 : 2));
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

void infer_pad(InferContext& c) {
  const VarMeta& x = c.in("X");
  const bool later = !c.running() && c.has_in("Paddings");
  c.out("Out") = VarMeta::tensor(x.dtype, later ? Shape(Ints(x.shape.dims().size(), -1))
                                                : padded(x.shape, pads_of(c, x.shape)));
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

IndexMap pad_map(const PrepareContext& c, const Shape& x) {
  return IndexMap(x, border_tables(x, pads_of(c, x), border_of(c)));
}

constexpr auto pad_forward = []<typename T>(PrepareContext& c) -> Step {
  return
      [map = pad_map(c, c.shape("X")), value = static_cast<T>(c.attr<float>(form_of(c.op()).value)),
       in = c.in<T>("X"), out = c.out<T>("Out")] { take(map, in.data(), out.data(), value); };
};

constexpr auto pad_backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& x = c.shape("X@GRAD");
  return [map = pad_map(c, x), n = x.numel(), dout = c.in<T>("Out@GRAD"),
          din = c.out<T>("X@GRAD")] { give_back(map, dout.data(), din.data(), n); };
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
        .grad = grad_op(
            all ? std::vector<Use>{} : std::vector<Use>{"X", "Paddings"},
            {.kernels = kernels_for<float, double>(pad_backward),
             .infer = infer_pad_grad,
             .inputs =
                 {{.name = "X", .doc = "input of the op", .optional = true, .shape_only = true}}}),
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

// ---- roll ---------------------------------------------------------------------------------------

const IntSource kShifts = {.tensor = "ShiftsTensor", .attr = "shifts"};

void infer_roll(InferContext& c) {
  if (c.running()) known_ints(c, kShifts);
  const size_t shifts = ints_of(c, kShifts).size();
  const Ints axes = c.attr<Ints>("axis");
  require(axes.empty() ? shifts == 1 : shifts == axes.size(),
          "roll needs a shift for each axis, but has {} shifts and {} axes", shifts, axes.size());
  for (const int64_t axis : axes) c.in("X").shape.axis(axis);
  c.out("Out") = like(c.in("X"));
}

// Without axes X is rolled as one long row.
IndexMap roll_map(const PrepareContext& c, const Shape& x, bool back) {
  const Ints shifts = known_ints(c, kShifts), axes = c.attr<Ints>("axis");
  const Shape walked = axes.empty() ? Shape{x.numel()} : x;
  Ints total(walked.dims().size(), 0);
  for (size_t i = 0; i < shifts.size(); ++i) {
    const int64_t axis = axes.empty() ? 0 : walked.axis(axes.at(i));
    const int64_t shift = shifts[i] % std::max<int64_t>(1, walked[axis]);
    total[static_cast<size_t>(axis)] += back ? -shift : shift;
  }
  std::vector<Table> tables;
  for (size_t a = 0; a < total.size(); ++a) {
    const int64_t extent = walked.dims()[a];
    Table& table = tables.emplace_back();
    for (int64_t i = 0; i < extent; ++i) {
      table.push_back(((i - total[a]) % extent + extent) % extent);
    }
  }
  return IndexMap(walked, std::move(tables));
}

template <typename T>
Step roll(PrepareContext& c, std::string_view in, std::string_view out, bool back) {
  return [map = roll_map(c, c.shape(in), back), from = c.in<T>(in), to = c.out<T>(out)] {
    take(map, from.data(), to.data(), T{0});
  };
}

constexpr auto roll_forward = []<typename T>(PrepareContext& c) -> Step {
  return roll<T>(c, "X", "Out", false);
};
constexpr auto roll_backward = []<typename T>(PrepareContext& c) -> Step {
  return roll<T>(c, "Out@GRAD", "X@GRAD", true);
};

const OpDef& roll_op = define_op({
    .type = "roll",
    .doc = "X moved along some axes; what leaves at one end comes in at the other.",
    .inputs = with_slots_of({kShifts}, {{.name = "X", .doc = "tensor"}}),
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"shifts", std::vector<int64_t>{}, "how far along each axis"},
              {"axis", std::vector<int64_t>{}, "the axes; none: X as one long row"}},
    .infer = infer_roll,
    .grad = grad_op(
        {shape_of("X"), "ShiftsTensor"},
        {.kernels = kernels_for<float, double>(roll_backward), .infer = infer_moved_grad<kShifts>}),
    .kernels = kernels_for_all(roll_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops
