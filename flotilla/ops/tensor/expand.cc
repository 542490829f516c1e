// flotilla/ops/tensor/expand.cc
//
// Operators that repeat a tensor along its axes: expand_v2 and expand_as_v2 widen axes of extent 1,
// tile and expand lay copies side by side, meshgrid repeats vectors over a grid, broadcast_tensors
// widens several tensors to the shape of all. The gradient adds up what the copies got.
//
// All of them are one walk: X seen as [1, x0, 1, x1, ...], Out as [r0, x0, r1, x1, ...].

#include <algorithm>

#include "flotilla/base/element_count.h"
#include "flotilla/ir/structure.h"
#include "flotilla/ops/math/reduce_engine.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"

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

// The repeats of tile: the shorter one of X and `times` is filled up with ones in front.
Repeats tiling(const Shape& x, Ints times) {
  const size_t rank = std::max(times.size(), x.dims().size());
  times.insert(times.begin(), rank - times.size(), 1);
  return {filled_up(x, rank), std::move(times)};
}

// ---- Which repeats an op asks for ---------------------------------------------------------------

const IntSource kExpandShape = {"Shape", "expand_shapes_tensor", "shape"};
const IntSource kTileTimes = {"RepeatTimes", "repeat_times_tensor", "repeat_times"};
const IntSource kExpandTimes = {"ExpandTimes", "expand_times_tensor", "expand_times"};

template <typename Context>
const Shape& shape_in(const Context& c, std::string_view slot) {
  if constexpr (std::is_same_v<Context, InferContext>) {
    return c.in(slot).shape;
  } else {
    return c.shape(slot);
  }
}

template <typename Context>
Ints numbers(const Context& c, const IntSource& source) {
  if constexpr (std::is_same_v<Context, InferContext>) {
    return extents_of(c, source);
  } else {
    return known_ints(c, source);
  }
}

struct ExpandV2 {
  template <typename Context>
  static Repeats of(const Context& c) {
    return widening(shape_in(c, "X"), numbers(c, kExpandShape));
  }
};

struct ExpandAsV2 {
  template <typename Context>
  static Repeats of(const Context& c) {
    const Ints target = c.template attr<Ints>("target_shape");
    return widening(shape_in(c, "X"), target.empty() ? shape_in(c, "Y").dims() : target);
  }
};

struct Tile {
  template <typename Context>
  static Repeats of(const Context& c) {
    return tiling(shape_in(c, "X"), numbers(c, kTileTimes));
  }
};

struct Expand {
  template <typename Context>
  static Repeats of(const Context& c) {
    const Ints times = numbers(c, kExpandTimes);
    const Shape& x = shape_in(c, "X");
    require(static_cast<int64_t>(times.size()) == x.rank(),
            "expand_times must hold one number for each axis of X, which has shape {}, but is {}",
            x, Shape(times));
    return tiling(x, times);
  }
};

struct ExpandAs {
  template <typename Context>
  static Repeats of(const Context& c) {
    const Shape &x = shape_in(c, "X"), &target = shape_in(c, "target_tensor");
    require(x.rank() == target.rank(), "X and target_tensor must have one rank, but are {} and {}",
            x, target);
    Ints times;
    for (int64_t a = 0; a < x.rank(); ++a) {
      require(x[a] < 0 || target[a] < 0 || (x[a] > 0 && target[a] % x[a] == 0),
              "copies of X of shape {} do not fill target_tensor of shape {}", x, target);
      times.push_back(x[a] < 0 || target[a] < 0 ? -1 : target[a] / x[a]);
    }
    return {x.dims(), times};
  }
};

// ---- The walk -----------------------------------------------------------------------------------

template <typename Op>
void infer(InferContext& c) {
  c.out("Out") = VarMeta::tensor(c.dtype("X"), Op::of(c).out());
}

Step repeat(PrepareContext& c, const Repeats& r, size_t i = 0) {
  const Shape walk = r.walk(false);
  const Ints dense = dense_strides(Shape(r.extents));
  Ints from;
  for (const int64_t stride : dense) {
    from.push_back(0);
    from.push_back(stride);
  }
  const BoxCopy copy(walk.dims(), dense_strides(walk), from, size_of(c.dtype("X", i)));
  return [copy, in = c.in_bytes("X", i), out = c.out_bytes("Out", i)] {
    copy.run(out.data(), in.data());
  };
}

template <typename T>
Step add_up(PrepareContext& c, const Repeats& r, std::string_view dout, size_t i = 0) {
  const FoldPlan fold(r.walk(false), Layout(), r.walk(true));
  return [fold, work = c.workspace<T>(fold.workspace()), from = c.in<T>(dout, i),
          to = c.out<T>("X@GRAD", i)] {
    fold.run<SumFold>(from.data(), to.data(), work.data(), [](T sum) { return sum; });
  };
}

// ---- Definitions --------------------------------------------------------------------------------

struct Row {
  std::string type;
  std::string doc;
  std::vector<Slot> more_inputs;
  std::vector<AttrSpec> attrs;
};

template <typename Op>
void define(const Row& row) {
  std::vector<Slot> inputs = {{.name = "X", .doc = "tensor"}};
  std::vector<Use> uses = {shape_of("X")};
  for (const Slot& slot : row.more_inputs) {
    inputs.push_back(slot);
    uses.push_back(slot.name);
  }
  constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
    return add_up<T>(c, Op::of(c), "Out@GRAD");
  };
  define_op({.type = row.type,
             .doc = row.doc,
             .inputs = std::move(inputs),
             .outputs = {{.name = "Out", .doc = "copies of X"}},
             .attrs = row.attrs,
             .infer = infer<Op>,
             .grad = grad_op(std::move(uses), {.kernels = kernels_for<float, double>(backward)}),
             .kernels = every_dtype([](PrepareContext& c) { return repeat(c, Op::of(c)); }),
             .dtype_slot = "X"});
}

std::vector<Slot> number_slots(const IntSource& source) {
  return {{.name = std::string(source.tensor),
           .doc = "instead of the attribute",
           .optional = true,
           .no_grad = true},
          {.name = std::string(source.list),
           .doc = "one tensor for each number, instead of the attribute",
           .optional = true,
           .list = true,
           .no_grad = true}};
}

const bool kDefined = [] {
  const std::vector<int32_t> none;
  define<ExpandV2>({"expand_v2",
                    "Repeats X along axes of extent 1 until it has the shape `shape`.",
                    number_slots(kExpandShape),
                    {{"shape", none, "extents; -1 keeps one of X"}}});
  define<ExpandAsV2>({"expand_as_v2",
                      "Repeats X along axes of extent 1 until it has Y's shape.",
                      {{.name = "Y",
                        .doc = "gives the shape",
                        .optional = true,
                        .no_grad = true,
                        .shape_only = true}},
                      {{"target_shape", none, "extents, instead of Y"}}});
  define<Tile>({"tile",
                "Lays copies of X side by side.",
                number_slots(kTileTimes),
                {{"repeat_times", none, "how many along each axis"}}});
  define<Expand>({"expand",
                  "Lays copies of X side by side.",
                  number_slots(kExpandTimes),
                  {{"expand_times", none, "how many along each axis"}}});
  define<ExpandAs>(
      {"expand_as",
       "Lays copies of X side by side until they have the shape of target_tensor.",
       {{.name = "target_tensor", .doc = "gives the shape", .no_grad = true, .shape_only = true}},
       {}});
  return true;
}();

// ---- meshgrid -----------------------------------------------------------------------------------

// Vector i of a grid moves along axis i and is repeated along the others.
Repeats grid(const Ints& lengths, size_t i) {
  Repeats r{.extents = Ints(lengths.size(), 1), .times = lengths};
  r.extents[i] = lengths[i];
  r.times[i] = 1;
  return r;
}

template <typename Context>
Ints lengths_of(const Context& c, size_t count, const auto& shape) {
  Ints lengths;
  for (size_t i = 0; i < count; ++i) {
    const Shape& x = shape(i);
    require(x.rank() <= 1, "{} takes vectors, but X[{}] has shape {}", c.op().type(), i, x);
    lengths.push_back(x.rank() == 0 ? 1 : x[0]);
  }
  return lengths;
}

void infer_grid(InferContext& c) {
  const Ints lengths =
      lengths_of(c, c.in_count("X"), [&](size_t i) -> const Shape& { return c.in("X", i).shape; });
  for (size_t i = 0; i < lengths.size(); ++i) {
    c.out("Out", i) = VarMeta::tensor(c.dtype("X", i), Shape(lengths));
  }
}

Step run_all(std::vector<Step> steps) {
  return [steps = std::move(steps)] {
    for (const Step& step : steps) step();
  };
}

Step repeat_all(PrepareContext& c, const std::vector<Repeats>& repeats) {
  std::vector<Step> steps;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (c.has("Out", i)) steps.push_back(repeat(c, repeats[i], i));
  }
  return run_all(std::move(steps));
}

template <typename T>
Step add_up_all(PrepareContext& c, const std::vector<Repeats>& repeats, std::string_view dout) {
  std::vector<Step> steps;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (!c.has("X@GRAD", i)) continue;
    if (c.has(dout, i)) {
      steps.push_back(add_up<T>(c, repeats[i], dout, i));
    } else {
      steps.push_back([n = c.shape("X", i).numel(), to = c.out<T>("X@GRAD", i)] {
        std::fill_n(to.data(), n, T{0});
      });
    }
  }
  return run_all(std::move(steps));
}

std::vector<Repeats> grids(const PrepareContext& c) {
  const Ints lengths =
      lengths_of(c, c.count("X"), [&](size_t i) -> const Shape& { return c.shape("X", i); });
  std::vector<Repeats> repeats;
  for (size_t i = 0; i < lengths.size(); ++i) repeats.push_back(grid(lengths, i));
  return repeats;
}

Step grid_forward(PrepareContext& c) { return repeat_all(c, grids(c)); }

// Programs of 2.6 call the slot of the gradients outputs@GRAD.
constexpr auto grid_backward = []<typename T>(PrepareContext& c) -> Step {
  return add_up_all<T>(c, grids(c), c.count("outputs@GRAD") > 0 ? "outputs@GRAD" : "Out@GRAD");
};

void infer_grid_grad(InferContext& c) {
  for (size_t i = 0; i < c.in_count("X"); ++i) c.out("X@GRAD", i) = like(c.in("X", i));
  const Shape grid(
      lengths_of(c, c.in_count("X"), [&](size_t i) -> const Shape& { return c.in("X", i).shape; }));
  for (size_t i = 0; i < c.in_count("outputs@GRAD"); ++i) {
    const Shape& given = c.in("outputs@GRAD", i).shape;
    require(given == grid || !given.known() || !grid.known(),
            "outputs@GRAD[{}] must have shape {}, but has {}", i, grid, given);
  }
}

// 2.6 calls the slot differently from 1.8.
void name_gradients_as_2x(Block& block, size_t position) {
  Op& op = block.op(position);
  const auto grads = op.input_list("Out@GRAD");
  if (!op.has_input("outputs@GRAD")) op.set_input("outputs@GRAD", {grads.begin(), grads.end()});
}

const OpDef& meshgrid = define_op({
    .type = "meshgrid",
    .doc = "Repeats each vector of X over the grid that all of them span.",
    .inputs = {{.name = "X", .doc = "vectors", .list = true}},
    .outputs = {{.name = "Out", .doc = "one tensor for each vector", .list = true}},
    .infer = infer_grid,
    .grad = grad_op(
        {shape_of("X")},
        {.kernels = kernels_for<float, double>(grid_backward),
         .infer = infer_grid_grad,
         .inputs = {{.name = "Out@GRAD", .doc = "gradients", .optional = true, .list = true},
                    {.name = "outputs@GRAD", .doc = "the same", .optional = true, .list = true}},
         .spell_out = name_gradients_as_2x}),
    .kernels = every_dtype(grid_forward),
});

// ---- broadcast_tensors --------------------------------------------------------------------------

Shape shape_of_all(size_t count, const auto& shape) {
  Shape all = shape(0);
  for (size_t i = 1; i < count; ++i) all = broadcast(all, shape(i), -1);
  return all;
}

void infer_broadcast(InferContext& c) {
  const Shape all =
      shape_of_all(c.in_count("X"), [&](size_t i) -> const Shape& { return c.in("X", i).shape; });
  for (size_t i = 0; i < c.in_count("X"); ++i) {
    c.out("Out", i) = VarMeta::tensor(c.dtype("X", i), all);
  }
}

std::vector<Repeats> widenings(const PrepareContext& c) {
  const auto shape = [&](size_t i) -> const Shape& { return c.shape("X", i); };
  const Ints all = shape_of_all(c.count("X"), shape).dims();
  std::vector<Repeats> repeats;
  for (size_t i = 0; i < c.count("X"); ++i) repeats.push_back(widening(shape(i), all));
  return repeats;
}

Step broadcast_forward(PrepareContext& c) { return repeat_all(c, widenings(c)); }

const OpDef& broadcast_tensors = define_op({
    .type = "broadcast_tensors",
    .doc = "Repeats each tensor of X until it has the shape of all.",
    .inputs = {{.name = "X", .doc = "tensors", .list = true}},
    .outputs = {{.name = "Out", .doc = "one for each", .list = true}},
    .infer = infer_broadcast,
    .grad = grad_op({shape_of("X")},
                    {.kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
                       return add_up_all<T>(c, widenings(c), "Out@GRAD");
                     })}),
    .kernels = every_dtype(broadcast_forward),
});

}  // namespace
}  // namespace flotilla::ops
