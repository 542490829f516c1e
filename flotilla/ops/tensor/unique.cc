// flotilla/ops/tensor/unique.cc
//
// unique: the elements of a list, each once, in the order in which they first appear. Index: where
// the elements of X stand in Out. unique_with_counts: also how often each appears.

#include <unordered_map>
#include <vector>

#include "flotilla/op/op_def.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  require(x.shape.rank() == 1, "X must be a list, but has shape {}", x.shape);
  const int code = static_cast<int>(c.attr<int64_t>("dtype"));
  require(is_paddle_dtype(code) && (from_paddle(code) == i32 || from_paddle(code) == i64),
          "dtype of {} must be the code of int32 or int64, but is {}", c.op().type(), code);
  c.out("Out") = VarMeta::tensor(x.dtype, Shape{-1});
  c.out("Index") = VarMeta::tensor(from_paddle(code), x.shape);
  if (c.has_out("Count")) c.out("Count") = VarMeta::tensor(from_paddle(code), Shape{-1});
}

template <typename T, typename I>
Step prepared(PrepareContext& c) {
  const bool counts = c.has("Count");
  return
      [n = c.shape("X")[0], x = c.in<T>("X"), out = c.late_out<T>("Out"), index = c.out<I>("Index"),
       count = counts ? c.late_out<I>("Count") : LateOut<I>(), counts] {
        std::unordered_map<T, I> places;
        std::vector<T> found;
        std::vector<I> times;
        for (int64_t i = 0; i < n; ++i) {
          const auto [place, is_new] = places.emplace(x.data()[i], static_cast<I>(found.size()));
          if (is_new) {
            found.push_back(x.data()[i]);
            times.push_back(0);
          }
          ++times[static_cast<size_t>(place->second)];
          index.data()[i] = place->second;
        }
        std::copy(found.begin(), found.end(), out.resize(Shape{std::ssize(found)}));
        if (counts) std::copy(times.begin(), times.end(), count.resize(Shape{std::ssize(found)}));
      };
}

template <typename T>
Step forward(PrepareContext& c) {
  return c.dtype("Index") == i64 ? prepared<T, int64_t>(c) : prepared<T, int32_t>(c);
}

OpDef definition(std::string type, std::string doc) {
  return {.type = std::move(type),
          .doc = std::move(doc),
          .inputs = {{.name = "X", .doc = "a list", .no_grad = true}},
          .outputs = {{.name = "Out", .doc = "its different elements"},
                      {.name = "Index", .doc = "where the elements of X stand in Out"}},
          .attrs = {{"dtype", 2, "code of the dtype of Index and Count"}},
          .infer = infer,
          .kernels = kernels_for<float, double, int32_t, int64_t>(
              []<typename T>(PrepareContext& c) { return forward<T>(c); })};
}

const OpDef& unique = define_op(definition("unique", "The different elements of a list."));
const OpDef& unique_with_counts = []() -> const OpDef& {
  OpDef def = definition("unique_with_counts", "The different elements of a list, counted.");
  def.outputs.push_back({.name = "Count", .doc = "how often each appears"});
  return define_op(std::move(def));
}();

}  // namespace
}  // namespace flotilla::ops
