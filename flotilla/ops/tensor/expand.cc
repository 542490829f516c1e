// flotilla/ops/tensor/expand.cc
//
// Operators that repeat a tensor along its axes: expand_v2 and expand_as_v2 widen axes of extent 1,
// tile and expand lay copies side by side, meshgrid repeats vectors over a grid, broadcast_tensors
// widens several tensors to the shape of all. The gradient adds up what the copies got.
//
// All of them are one walk: X seen as [1, x0, 1, x1, ...], Out as [r0, x0, r1, x1, ...]; and all
// work on lists of tensors, most of them on a list of one.

#include <algorithm>

#include "flotilla/ir/structure.h"
#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/reduce_engine.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/tensor/gpu_fold.h"

namespace flotilla::ops {
namespace {

// How often each axis of X, filled up with ones in front, is repeated.
struct Repeats {
  Ints extents = {};  // of X
  Ints times = {};

  Shape out() const {
    Ints dims;
    for (size_t a = 0; a < extents.size(); ++a) {
      dims.push_back(extents[a] < 0 || times[a] < 0 ? -1 : checked_product(extents[a], times[a]));
    }
    return Shape(std::move(dims));
  }
  // Extents of the walk; `folded`: as X sees it. Where nothing is repeated, it may be often.
  Shape walk(bool folded) const {
    Ints dims;
    for (size_t a = 0; a < extents.size(); ++a) {
      dims.push_back(folded ? 1 : times[a]);
      dims.push_back(extents[a]);
    }
    const Shape made(std::move(dims));
    check_extents(made, "the copies of X");
    return made;
  }
};

Ints filled_up(const Shape& x, size_t rank) {
  Ints dims = x.dims();
  dims.insert(dims.begin(), rank - std::min(rank, dims.size()), 1);
  return dims;
}

// The repeats that give X the shape `to`; -1 keeps an extent of X.
Repeats widening(const Shape& x, const Ints& to) {
  require(static_cast<int64_t>(to.size()) >= x.rank(),
          "X of shape {} cannot be expanded to the lower rank of {}", x, Shape(to));
  Repeats r{.extents = filled_up(x, to.size())};
  for (size_t a = 0; a < to.size(); ++a) {
    const int64_t have = r.extents[a], want = to[a];
    require(have == 1 || want == -1 || have == -1 || want == have,
            "X of shape {} cannot be expanded to {}: {} meets {}", x, Shape(to), have, want);
    r.times.push_back(have == 1 ? (want == -1 ? 1 : want) : 1);
  }
  return r;
}

// The repeats that give X the shape of another tensor, whose -1 is not known yet.
Repeats widening(const Shape& x, const Shape& to) {
  Repeats r = widening(x, to.dims());
  for (size_t a = 0; a < r.times.size(); ++a) {
    if (r.extents[a] == 1 && to.dims()[a] < 0) r.times[a] = -1;
  }
  return r;
}

// The repeats of tile: the shorter one of X and `times` is filled up with ones in front.
Repeats tiling(const Shape& x, Ints times) {
  const size_t rank = std::max(times.size(), x.dims().size());
  times.insert(times.begin(), rank - times.size(), 1);
  return {filled_up(x, rank), std::move(times)};
}

// ---- Which repeats an op asks for, one for each tensor in X -------------------------------------

const IntSource kExpandShape = {"Shape", "expand_shapes_tensor", "shape"};
const IntSource kTileTimes = {"RepeatTimes", "repeat_times_tensor", "repeat_times"};
const IntSource kExpandTimes = {"ExpandTimes", "expand_times_tensor", "expand_times"};

const Shape& shape_in(const auto& c, std::string_view slot, size_t i = 0) {
  return meta_at(c, slot, i).shape;
}
Ints numbers(const InferContext& c, const IntSource& source) { return extents_of(c, source); }
Ints numbers(const PrepareContext& c, const IntSource& source) { return known_ints(c, source); }

constexpr auto kExpandV2 = [](const auto& c) -> std::vector<Repeats> {
  return {widening(shape_in(c, "X"), numbers(c, kExpandShape))};
};

constexpr auto kExpandAsV2 = [](const auto& c) -> std::vector<Repeats> {
  const Ints target = c.template attr<Ints>("target_shape");
  const Shape& x = shape_in(c, "X");
  return {target.empty() ? widening(x, shape_in(c, "Y")) : widening(x, target)};
};

constexpr auto kTile = [](const auto& c) -> std::vector<Repeats> {
  return {tiling(shape_in(c, "X"), numbers(c, kTileTimes))};
};

constexpr auto kExpand = [](const auto& c) -> std::vector<Repeats> {
  const Ints times = numbers(c, kExpandTimes);
  const Shape& x = shape_in(c, "X");
  require(static_cast<int64_t>(times.size()) == x.rank(),
          "expand_times must hold one number for each axis of X, which has shape {}, but is {}", x,
          Shape(times));
  return {tiling(x, times)};
};

constexpr auto kExpandAs = [](const auto& c) -> std::vector<Repeats> {
  const Shape &x = shape_in(c, "X"), &target = shape_in(c, "target_tensor");
  require(x.rank() == target.rank(), "X and target_tensor must have one rank, but are {} and {}", x,
          target);
  Ints times;
  for (int64_t a = 0; a < x.rank(); ++a) {
    require(x[a] < 0 || target[a] < 0 || (x[a] > 0 && target[a] % x[a] == 0),
            "copies of X of shape {} do not fill target_tensor of shape {}", x, target);
    times.push_back(x[a] < 0 || target[a] < 0 ? -1 : target[a] / x[a]);
  }
  return {{x.dims(), times}};
};

// Vector i moves along axis i of the grid and is repeated along the others.
constexpr auto kMeshgrid = [](const auto& c) -> std::vector<Repeats> {
  Ints lengths;
  for (size_t i = 0; i < count_at(c, "X"); ++i) {
    const Shape& x = shape_in(c, "X", i);
    require(x.rank() <= 1, "{} takes vectors, but X[{}] has shape {}", c.op().type(), i, x);
    lengths.push_back(x.rank() == 0 ? 1 : x[0]);
  }
  std::vector<Repeats> grid(lengths.size(), {Ints(lengths.size(), 1), lengths});
  for (size_t i = 0; i < lengths.size(); ++i) std::swap(grid[i].extents[i], grid[i].times[i]);
  return grid;
};

constexpr auto kBroadcastTensors = [](const auto& c) -> std::vector<Repeats> {
  Shape all = shape_in(c, "X");
  for (size_t i = 1; i < count_at(c, "X"); ++i) all = broadcast(all, shape_in(c, "X", i), -1);
  std::vector<Repeats> repeats;
  for (size_t i = 0; i < count_at(c, "X"); ++i) {
    repeats.push_back(widening(shape_in(c, "X", i), all));
  }
  return repeats;
};

// ---- The walk -----------------------------------------------------------------------------------

template <auto kRepeats>
void infer(InferContext& c) {
  const std::vector<Repeats> repeats = kRepeats(c);
  for (size_t i = 0; i < repeats.size(); ++i) {
    c.out("Out", i) = VarMeta::tensor(c.dtype("X", i), repeats[i].out());
  }
}

Step repeat(PrepareContext& c, const Repeats& r, size_t i) {
  Box copies{.extents = r.walk(false).dims()};
  for (const int64_t stride : dense_strides(Shape(r.extents))) {
    copies.strides.insert(copies.strides.end(), {0, stride});
  }
  return take_box(c, "X", "Out", copies, i);
}

template <auto kRepeats>
Step forward(PrepareContext& c) {
  std::vector<Step> steps;
  const std::vector<Repeats> repeats = kRepeats(c);
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (c.has("Out", i)) steps.push_back(repeat(c, repeats[i], i));
  }
  return in_order(std::move(steps));
}

template <typename T>
Step add_up(PrepareContext& c, const Repeats& r, std::string_view dout, size_t i) {
  if (on_gpu(c)) return gpu_add_up<T>(c, r.walk(false), r.walk(true), dout, i);
  if (!c.has(dout, i)) {
    return [n = c.shape("X", i).numel(), to = c.out<T>("X@GRAD", i)] {
      std::fill_n(to.data(), n, T{0});
    };
  }
  const FoldPlan fold(r.walk(false), Layout(), r.walk(true));
  return [fold, work = c.workspace<T>(fold.workspace()), from = c.in<T>(dout, i),
          to = c.out<T>("X@GRAD", i)] {
    fold.run<SumFold>(from.data(), to.data(), work.data(), [](T sum) { return sum; });
  };
}

// Programs of 2.6 call the slot of meshgrid's gradients outputs@GRAD.
template <auto kRepeats, typename T>
Step backward(PrepareContext& c) {
  const char* dout = c.count("outputs@GRAD") > 0 ? "outputs@GRAD" : "Out@GRAD";
  std::vector<Step> steps;
  const std::vector<Repeats> repeats = kRepeats(c);
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (c.has("X@GRAD", i)) steps.push_back(add_up<T>(c, repeats[i], dout, i));
  }
  return in_order(std::move(steps));
}

// ---- Definitions --------------------------------------------------------------------------------

template <auto kRepeats>
void define(const std::string& type, const std::string& doc, std::vector<Slot> inputs,
            std::vector<AttrSpec> attrs = {}, GradOp grad = {}) {
  constexpr auto backward_of = []<typename T>(PrepareContext& c) {
    return backward<kRepeats, T>(c);
  };
  grad.kernels = kernels_for<float, double>(backward_of);
  define_op({.type = type,
             .doc = doc,
             .inputs = inputs,
             .outputs = {{.name = "Out", .doc = "copies of X", .list = inputs[0].list}},
             .attrs = std::move(attrs),
             .infer = infer<kRepeats>,
             .grad = grad_op(shape_and_others(inputs), std::move(grad)),
             .kernels = every_dtype(forward<kRepeats>),
             .dtype_slot = "X"});
}

void infer_grid_grad(InferContext& c) {
  const std::vector<Repeats> grid = kMeshgrid(c);
  for (size_t i = 0; i < grid.size(); ++i) {
    c.out("X@GRAD", i) = like(c.in("X", i));
    if (i >= c.in_count("outputs@GRAD")) continue;
    const Shape all = grid[i].out(), given = c.in("outputs@GRAD", i).shape;
    require(fits(given, all), "outputs@GRAD[{}] must have shape {}, but has {}", i, all, given);
  }
}

// 2.6 calls the slot differently from 1.8.
void name_gradients_as_2x(Block& block, size_t position) {
  Op& op = block.op(position);
  const auto grads = op.input_list("Out@GRAD");
  if (!op.has_input("outputs@GRAD")) op.set_input("outputs@GRAD", {grads.begin(), grads.end()});
}

const bool kDefined = [] {
  const std::vector<int32_t> none;
  const Slot x = {.name = "X", .doc = "tensor"};
  define<kExpandV2>("expand_v2", "Repeats X along axes of extent 1 until it has the shape `shape`.",
                    with_slots_of({kExpandShape}, {x}),
                    {{"shape", none, "extents; -1 keeps one of X"}},
                    {.infer = infer_moved_grad<kExpandShape>});
  define<kExpandAsV2>("expand_as_v2", "Repeats X along axes of extent 1 until it has Y's shape.",
                      {x, shape_giver("Y", "gives the shape")},
                      {{"target_shape", none, "extents, instead of Y"}});
  define<kTile>("tile", "Lays copies of X side by side.", with_slots_of({kTileTimes}, {x}),
                {{"repeat_times", none, "how many along each axis"}},
                {.infer = infer_moved_grad<kTileTimes>});
  define<kExpand>("expand", "Lays copies of X side by side.", with_slots_of({kExpandTimes}, {x}),
                  {{"expand_times", none, "how many along each axis"}},
                  {.infer = infer_moved_grad<kExpandTimes>});
  define<kExpandAs>(
      "expand_as", "Lays copies of X side by side until they have the shape of target_tensor.",
      {x,
       {.name = "target_tensor", .doc = "gives the shape", .no_grad = true, .shape_only = true}});
  const Slot grads = {.name = "Out@GRAD", .doc = "gradients", .optional = true, .list = true};
  Slot same = grads;
  same.name = "outputs@GRAD";
  define<kMeshgrid>(
      "meshgrid", "Repeats each vector of X over the grid that all of them span.",
      {{.name = "X", .doc = "vectors", .list = true}}, {},
      {.infer = infer_grid_grad, .inputs = {grads, same}, .to_paddle = name_gradients_as_2x});
  define<kBroadcastTensors>("broadcast_tensors",
                            "Repeats each tensor of X until it has the shape of all.",
                            {{.name = "X", .doc = "tensors", .list = true}});
  return true;
}();

}  // namespace
}  // namespace flotilla::ops
