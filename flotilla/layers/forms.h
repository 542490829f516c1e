// flotilla/layers/forms.h
//
// Functions that move, join, cut and repeat the elements of variables. Negative axes count from the
// end.

#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "flotilla/layers/creation.h"

namespace flotilla::layers {

// ---- other shapes

// 0 copies an extent of x, one -1 is worked out; a variable `actual` takes the place of all.
Variable reshape_to(Variable x, const Numbers& shape, std::optional<Variable> actual = {},
                    const std::string& act = {}, const std::string& name = {});
// One axis cut into several.
Variable unflatten(Variable x, int64_t axis, const Numbers& shape);
Variable view_as(Variable x, Variable other);
// One axis of those from `begin` to `end`.
Variable flatten(Variable x, int64_t begin = 0, int64_t end = -1);
// `rank` axes or more: [n] becomes [1, n], and [1, n, 1] where 3 are wanted.
Variables at_least(int64_t rank, Variables inputs);
// The order of axes: `layer` is what variables are named after.
Variable transpose(Variable x, const std::vector<int64_t>& order,
                   const std::string& layer = "transpose", const std::string& name = {});
// Axes go to other places; the rest keeps its order.
Variable moveaxis(Variable x, const std::vector<int64_t>& from, const std::vector<int64_t>& to,
                  const std::string& name = {});
// The transpose of a matrix; vectors stay as they are.
Variable transposed(Variable x, const std::string& name = {});
// Turned by 90 degrees `times` times in the plane of two axes.
Variable rot90(Variable x, int64_t times = 1, const std::vector<int64_t>& axes = {0, 1});
// A matrix with the elements of x on its diagonal.
Variable diagflat(Variable x, int64_t offset = 0);

// ---- parts

// The slices along an axis, which disappears. `unstack` may be told how many there are.
Variables unstack(Variable x, int64_t axis = 0, std::optional<int64_t> count = {});
Variables unbind(Variable x, int64_t axis = 0);
// So many equal parts, or parts of these extents, of which one may be -1.
using Parts = std::variant<int64_t, std::vector<int64_t>>;
Variables split(Variable x, const Parts& parts, int64_t axis = 0, const std::string& name = {});
// Ranges of some axes. Negative steps go backwards.
Variable slice(Variable x, const std::vector<int64_t>& axes, const Numbers& starts,
               const Numbers& ends);
Variable strided_slice(Variable x, const std::vector<int64_t>& axes, const Numbers& starts,
                       const Numbers& ends, const Numbers& steps, const std::string& name = {});
// The range [begin, end) of one axis.
inline Variable cut(Variable x, int64_t axis, int64_t begin, int64_t end) {
  return slice(x, {axis}, {begin}, {end});
}
// A box of `shape` from `offsets` on; -1 takes what is left along an axis, and so does no shape.
Variable crop(Variable x, const std::optional<Numbers>& shape = {},
              const std::optional<Numbers>& offsets = {}, const std::string& name = {});
// The same by the op of 1.8, which knows all numbers. A variable has the shape that is meant.
Variable crop_of_old(Variable x, const Numbers& shape = {},
                     const std::optional<Numbers>& offsets = {}, const std::string& name = {});
// Differences of neighbours, `times` times, of x between what is put before and behind it.
Variable diff(Variable x, int64_t times = 1, int64_t axis = -1, std::optional<Variable> before = {},
              std::optional<Variable> behind = {});

struct UniqueOptions {
  bool indices = false;            // also where each is in x first (not of neighbours), ...
  bool inverse = false;            // ... where the elements of x stand among them, ...
  bool counts = false;             // ... and how often each is there
  std::vector<int64_t> axis = {};  // none: elements; one: slices along it
  DType dtype = i64;               // of the numbers above
  std::string name = {};
};
// The different elements in ascending order, or the first of those that repeat one behind another,
// and behind them what else was asked for.
Variables unique(Variable x, const UniqueOptions& options = {});
Variables unique_consecutive(Variable x, const UniqueOptions& options = {});

// ---- repeated, and at other places

// [2, 1] and [3] make [2, 3].
Shape broadcast_shape(const Shape& x, const Shape& y);
Variables broadcast_tensors(const Variables& inputs, const std::string& name = {});
Variable expand_as(Variable x, Variable y, const std::string& name = {});
// Each slice along an axis several times, one behind the other; without one, each element.
Variable repeat_interleave(Variable x, const Operand& repeats, std::optional<int64_t> axis = {},
                           const std::string& name = {});
// The elements of x that `indices` name along an axis, at their places. `broadcast`: both are
// repeated along the other axes where they have extent one.
Variable take_along_axis(Variable x, Variable indices, int64_t axis, bool broadcast = true);
// x with `values` at these places; `reduce`: "assign", or "add" to what is there.
Variable put_along_axis(Variable x, Variable indices, const Operand& values, int64_t axis,
                        const std::string& reduce = "assign", bool include_self = true,
                        bool broadcast = true);
// Zeros with `updates` added at the places that the rows of `index` hold.
Variable scatter_nd(Variable index, Variable updates, const Numbers& shape,
                    const std::string& name = {});

}  // namespace flotilla::layers
