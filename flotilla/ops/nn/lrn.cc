// flotilla/ops/nn/lrn.cc
//
// lrn: local response normalization (Krizhevsky et al., 2012): each element divided by what the
// channels around it hold.
//
//   MidOut = k + alpha * sum of X^2 over n channels, (n - 1) / 2 of them before; Out = X
//   MidOut^-beta

#include <algorithm>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t n = c.attr<int64_t>("n");
  require(x.rank() == 4, "X must have four axes, but has shape {}", x);
  require(n > 0 && n % 2 == 1, "n must be odd and positive, but is {}", n);
  c.out("Out") = c.in("X");
  c.out("MidOut") = c.in("X");
}

template <typename T>
struct Channels {
  int64_t images = 0;
  int64_t channels = 0;
  int64_t places = 0;  // of a channel
  int64_t step = 0;    // from a channel to the next
  int64_t next = 0;    // from a place to the next
  int64_t reach = 0;   // channels on either side
  T k = 0, alpha = 0, beta = 0;

  explicit Channels(PrepareContext& c)
      : reach((c.attr<int64_t>("n") - 1) / 2),
        k(static_cast<T>(c.attr<float>("k"))),
        alpha(static_cast<T>(c.attr<float>("alpha"))),
        beta(static_cast<T>(c.attr<float>("beta"))) {
    const Shape& x = c.shape("X");
    const bool last = DataFormat(c.attr<std::string>("data_format")).channels_last();
    images = x[0];
    channels = x[last ? 3 : 1];
    places = x.numel() / std::max<int64_t>(images * channels, 1);
    step = last ? 1 : places;
    next = last ? channels : 1;
  }

  // Calls f(first element of the channels at one place) for all places.
  template <typename F>
  void for_each(F f) const {
    parallel_for(images * places, channels * (2 * reach + 20),
                 [&](int64_t i) { f(i / places * channels * places + i % places * next); });
  }
  // The sum of value(channel) over the channels around `at`.
  template <typename F>
  T around(int64_t at, F value) const {
    T sum = 0;
    const int64_t end = std::min(channels, at + reach + 1);
    for (int64_t other = std::max<int64_t>(0, at - reach); other < end; ++other) {
      sum += value(other);
    }
    return sum;
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [s = Channels<T>(c), in = c.in<T>("X"), out = c.out<T>("Out"), mid = c.out<T>("MidOut")] {
    s.for_each([&](int64_t first) {
      const T* x = in.data() + first;
      for (int64_t at = 0; at < s.channels; ++at) {
        const int64_t i = first + at * s.step;
        const T sum =
            s.around(at, [&](int64_t other) { return x[other * s.step] * x[other * s.step]; });
        mid.data()[i] = s.k + s.alpha * sum;
        out.data()[i] = in.data()[i] * std::pow(mid.data()[i], -s.beta);
      }
    });
  };
};

// dX = dOut MidOut^-beta - 2 alpha beta X * sum over the channels around of Out dOut / MidOut
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [s = Channels<T>(c), x = c.in<T>("X"), out = c.in<T>("Out"), mid = c.in<T>("MidOut"),
          dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    s.for_each([&](int64_t first) {
      for (int64_t at = 0; at < s.channels; ++at) {
        const int64_t i = first + at * s.step;
        const T sum = s.around(at, [&](int64_t other) {
          const int64_t j = first + other * s.step;
          return out.data()[j] * dout.data()[j] / mid.data()[j];
        });
        dx.data()[i] = dout.data()[i] * std::pow(mid.data()[i], -s.beta) -
                       2 * s.alpha * s.beta * x.data()[i] * sum;
      }
    });
  };
};

const std::vector<AttrSpec> kAttrs = {
    {"n", 5, "channels that are summed"}, {"k", 2.0f, "what is added to their sum"},
    {"alpha", 1e-4f, "its factor"},       {"beta", 0.75f, "the exponent"},
    {"use_mkldnn", false, "not used"},    {"data_format", "AnyLayout", "NCHW or NHWC"},
    {"is_test", false, "not used"}};

const OpDef& lrn = define_op({
    .type = "lrn",
    .doc = "Elements divided by what the channels around them hold.",
    .inputs = {{.name = "X", .doc = "images"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"},
                {.name = "MidOut", .doc = "for the gradient", .no_grad = true}},
    .attrs = kAttrs,
    .infer = infer,
    .grad = grad_op({"X", "Out", "MidOut"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops
