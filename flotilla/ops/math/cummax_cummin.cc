// flotilla/ops/math/cummax_cummin.cc
//
// cummax, cummin: the largest (smallest) of each element and all that come before it along an axis,
// and where it stands: of equal ones the last. From a NaN on all are NaN.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/slices.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("x");
  if (x.shape.rank() > 0) check_axis("x", x.shape, c.attr<int64_t>("axis"));
  const DType dtype = from_paddle(static_cast<int>(c.attr<int64_t>("dtype")));
  require(dtype == i32 || dtype == i64, "indices are int32 or int64, but dtype names {}", dtype);
  c.out("out") = c.out("indices") = like(x);
  c.out("indices").dtype = dtype;
}

// Calls work<Place>() for the dtype of the indices.
template <typename F>
Step with_places(const PrepareContext& c, F work) {
  return c.dtype("indices") == i32 ? work.template operator()<int32_t>()
                                   : work.template operator()<int64_t>();
}

// Whether `x` takes the place of what was the most so far.
template <bool kLargest, typename T>
bool takes_over(T x, T most) {
  if (x != x) return true;
  return most == most && (kLargest ? x >= most : x <= most);
}

template <bool kLargest, typename T>
Step forward(PrepareContext& c) {
  return with_places(c, [&]<typename Place>() -> Step {
    return [s = slices(c.shape("x"), c.attr<int64_t>("axis")), in = c.in<T>("x"),
            out = c.out<T>("out"), indices = c.out<Place>("indices")] {
      parallel_for(s.count(), s.n, [&](int64_t slice) {
        const int64_t begin = s.begin(slice);
        int64_t found = 0;
        for (int64_t i = 0; i < s.n; ++i) {
          const int64_t at = begin + i * s.stride, most = begin + found * s.stride;
          if (takes_over<kLargest>(in.data()[at], in.data()[most])) found = i;
          out.data()[at] = in.data()[begin + found * s.stride];
          indices.data()[at] = static_cast<Place>(found);
        }
      });
    };
  });
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return with_places(c, [&]<typename Place>() -> Step {
    return [s = slices(c.shape("x"), c.attr<int64_t>("axis")), indices = c.in<Place>("indices"),
            dout = c.in<T>("out@GRAD"), dx = c.out<T>("x@GRAD")] {
      std::fill_n(dx.data(), s.count() * s.n, T{0});
      parallel_for(s.count(), s.n, [&](int64_t slice) {
        const int64_t begin = s.begin(slice);
        for (int64_t i = begin; i < s.end(slice); i += s.stride) {
          const auto place = static_cast<int64_t>(indices.data()[i]);
          require(0 <= place && place < s.n, "indices must lie in [0, {}), but hold {}", s.n,
                  place);
          dx.data()[begin + place * s.stride] += dout.data()[i];
        }
      });
    };
  });
};

template <bool kLargest>
bool define(const std::string& type, const std::string& what) {
  define_op({.type = type,
             .doc = "The " + what + " of each element and all that come before it along the axis.",
             .inputs = {{.name = "x", .doc = "tensor"}},
             .outputs = {{.name = "out", .doc = "same shape as x"},
                         {.name = "indices", .doc = "where they stand", .no_grad = true}},
             .attrs = {{"axis", int32_t{-1}, "direction of the walk"},
                       {"dtype", int32_t{3}, "code of the dtype of the indices"}},
             .infer = infer,
             .grad = float_grad({shape_of("x"), "indices"}, backward),
             .kernels = kernels_for<float, double, int32_t, int64_t>(
                 []<typename T>(PrepareContext& c) { return forward<kLargest, T>(c); })});
  return true;
}

const bool kMax = define<true>("cummax", "largest"), kMin = define<false>("cummin", "smallest");

}  // namespace
}  // namespace flotilla::ops
