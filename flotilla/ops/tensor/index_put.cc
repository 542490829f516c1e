// index_put: a tensor with the elements replaced, or added to, that whole numbers or masks name:
// x[i, j] = v of numpy. The numbers are for the first axes, a mask for as many as it has, and all
// are repeated to a common shape; the value is repeated to that shape and the extents of the other
// axes.

#include <algorithm>

#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

// A tensor of numbers for one axis, or a mask for several.
struct Index {
  Shape shape = {};
  DType dtype = i64;
  In<bool> mask = {};
  In<int64_t> longs = {};
  In<int32_t> ints = {};

  int64_t number(int64_t i) const { return longs ? longs.data()[i] : ints.data()[i]; }
};

// Strides of a tensor that is repeated to a shape; 0 along axes where it is.
Ints repeated_strides(const Shape& tensor, const Ints& extents, std::string_view what) {
  const Ints dense = dense_strides(tensor);
  Ints strides(extents.size());
  const int64_t shift = std::ssize(extents) - tensor.rank();
  for (int64_t a = 0; a < tensor.rank(); ++a) {
    const int64_t to = a + shift;
    require(tensor[a] == 1 || (to >= 0 && tensor[a] == extents[static_cast<size_t>(to)]),
            "{} of shape {} cannot be repeated to {}", what, tensor, Shape(extents));
    if (tensor[a] != 1) strides[static_cast<size_t>(to)] = dense[static_cast<size_t>(a)];
  }
  return strides;
}

// The rows that the indices name, in the extents they are repeated to.
struct Named {
  Ints extents = {};
  Ints rows = {};
};

class Indices {
 public:
  Indices(PrepareContext& c, const Shape& whole) : whole_(whole) {
    for (size_t i = 0; i < c.count("indices"); ++i) {
      Index one = {.shape = c.shape("indices", i), .dtype = c.dtype("indices", i)};
      if (one.dtype == boolean) one.mask = c.in<bool>("indices", i);
      if (one.dtype == i64) one.longs = c.in<int64_t>("indices", i);
      if (one.dtype == i32) one.ints = c.in<int32_t>("indices", i);
      axes_ += one.dtype == boolean ? one.shape.rank() : 1;
      indices_.push_back(one);
    }
    rest_.assign(whole.begin() + axes_, whole.end());
  }

  // The extents of the axes that no index names, and their elements.
  const Ints& rest() const { return rest_; }
  int64_t width() const { return Shape(rest_).numel(); }

  Named named() const {
    std::vector<std::pair<Shape, Ints>> numbers;  // for an axis each
    for (const Index& index : indices_) {
      if (index.mask) {
        add_places_of(index, numbers);
        continue;
      }
      Ints list;
      for (int64_t i = 0; i < index.shape.numel(); ++i) list.push_back(index.number(i));
      numbers.emplace_back(index.shape, std::move(list));
    }
    Named made = {.extents = common(numbers)};
    made.rows.resize(static_cast<size_t>(Shape(made.extents).numel()));
    for (size_t a = 0; a < numbers.size(); ++a) {
      const auto& [shape, list] = numbers[a];
      const Ints strides = repeated_strides(shape, made.extents, "an index");
      const int64_t extent = whole_[static_cast<int64_t>(a)];
      for (size_t i = 0; i < made.rows.size(); ++i) {
        const int64_t at = place_in(made.extents, strides, static_cast<int64_t>(i));
        const int64_t number = list[static_cast<size_t>(at)];
        require(-extent <= number && number < extent,
                "an index must lie in [{}, {}) along axis {}, but is {}", -extent, extent, a,
                number);
        made.rows[i] = made.rows[i] * extent + (number < 0 ? number + extent : number);
      }
    }
    return made;
  }

 private:
  // The places where a mask is true, axis by axis.
  static void add_places_of(const Index& mask, std::vector<std::pair<Shape, Ints>>& numbers) {
    std::vector<Ints> places(static_cast<size_t>(mask.shape.rank()));
    for (int64_t i = 0; i < mask.shape.numel(); ++i) {
      if (!mask.mask.data()[i]) continue;
      int64_t rest = i;
      for (size_t a = places.size(); a-- > 0;) {
        places[a].push_back(rest % mask.shape[static_cast<int64_t>(a)]);
        rest /= mask.shape[static_cast<int64_t>(a)];
      }
    }
    for (Ints& of_axis : places) {
      const Shape shape = {std::ssize(of_axis)};
      numbers.emplace_back(shape, std::move(of_axis));
    }
  }

  static Ints common(const std::vector<std::pair<Shape, Ints>>& numbers) {
    Ints extents;
    for (const auto& [shape, list] : numbers) {
      const size_t rank = static_cast<size_t>(shape.rank());
      if (rank > extents.size()) extents.insert(extents.begin(), rank - extents.size(), 1);
      for (size_t a = 0; a < rank; ++a) {
        int64_t& extent = extents[extents.size() - rank + a];
        if (extent == 1) extent = shape[static_cast<int64_t>(a)];
      }
    }
    return extents;
  }

  const Shape whole_;
  std::vector<Index> indices_;
  int64_t axes_ = 0;
  Ints rest_ = {};
};

// Calls f(element of the tensor, element of the value) in order.
template <typename F>
void for_elements(const Indices& indices, const Shape& value, F f) {
  const Named named = indices.named();
  Ints extents = named.extents;
  extents.insert(extents.end(), indices.rest().begin(), indices.rest().end());
  const Ints strides = repeated_strides(value, extents, "a value");
  int64_t i = 0;
  for (const int64_t row : named.rows) {
    for (int64_t j = 0, width = indices.width(); j < width; ++j, ++i) {
      f(row * width + j, place_in(extents, strides, i));
    }
  }
}

int64_t axes_named(const InferContext& c) {
  int64_t axes = 0;
  for (size_t i = 0; i < c.in_count("indices"); ++i) {
    const VarMeta& index = c.in("indices", i);
    require(index.dtype == i32 || index.dtype == i64 || index.dtype == boolean,
            "indices must be int32, int64 or bool, but one is {}", index.dtype);
    axes += index.dtype == boolean ? index.shape.rank() : 1;
  }
  return axes;
}

// A mask has the extents of the axes that it is for.
void infer(InferContext& c) {
  const VarMeta& x = c.in("x");
  const int64_t axes = axes_named(c);
  require(axes <= x.shape.rank(), "indices name {} axes, but x has shape {}", axes, x.shape);
  int64_t axis = 0;
  for (size_t i = 0; i < c.in_count("indices"); ++i) {
    const VarMeta& index = c.in("indices", i);
    const bool mask = index.dtype == boolean;
    for (int64_t a = 0; mask && a < index.shape.rank(); ++a) {
      const int64_t have = index.shape[a], need = x.shape[axis + a];
      require(have == need || have < 0 || need < 0,
              "a mask of shape {} does not fit axis {} of x, whose shape is {}", index.shape,
              axis + a, x.shape);
    }
    axis += mask ? index.shape.rank() : 1;
  }
  require(c.in("value").dtype == x.dtype, "value must be {} like x, but is {}", x.dtype,
          c.in("value").dtype);
  c.out("out") = like(x);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& whole = c.shape("x");
  c.in_place("x", "out");
  return
      [indices = Indices(c, whole), shape = c.shape("value"),
       bytes = whole.numel() * static_cast<int64_t>(sizeof(T)), adds = c.attr<bool>("accumulate"),
       x = c.in<T>("x"), value = c.in<T>("value"), out = c.out<T>("out")] {
        copy_bytes(out.data(), x.data(), bytes);
        for_elements(indices, shape, [&](int64_t to, int64_t from) {
          const T given = value.data()[from];
          out.data()[to] = adds ? static_cast<T>(out.data()[to] + given) : given;
        });
      };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& whole = c.shape("out@GRAD");
  return
      [indices = Indices(c, whole), shape = c.shape("value"),
       bytes = whole.numel() * static_cast<int64_t>(sizeof(T)), adds = c.attr<bool>("accumulate"),
       dout = c.in<T>("out@GRAD"), dx = wanted<T>(c, "x@GRAD"), dv = wanted<T>(c, "value@GRAD")] {
        if (dv) {
          std::fill_n(dv.data(), shape.numel(), T{0});
          for_elements(indices, shape,
                       [&](int64_t of, int64_t to) { dv.data()[to] += dout.data()[of]; });
        }
        if (!dx) return;
        copy_bytes(dx.data(), dout.data(), bytes);
        if (adds) return;
        for_elements(indices, shape, [&](int64_t to, int64_t) { dx.data()[to] = T{0}; });
      };
};

const OpDef& index_put = define_op({
    .type = "index_put",
    .doc = "x with the elements that numbers or masks name replaced, or added to.",
    .inputs = {{.name = "x", .doc = "tensor"},
               several(constant("indices", "whole numbers for an axis, or a mask for several")),
               {.name = "value", .doc = "repeated to what the indices name"}},
    .outputs = {{.name = "out", .doc = "same shape as x", .like = "x"}},
    .attrs = {{"accumulate", false, "whether the value is added"}},
    .infer = infer,
    .grad = float_grad({shape_of("x"), "indices", shape_of("value")}, backward),
    .kernels = kernels_for_all(forward),
    .dtype_slot = "x",
});

}  // namespace
}  // namespace flotilla::ops
