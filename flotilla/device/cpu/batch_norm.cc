#include "flotilla/device/cpu/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "flotilla/base/error.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"

namespace flotilla {
namespace {

constexpr int64_t kLanes = 16;

// What a channel is multiplied with and so on, one number for each lane; the padding of a blocked
// layout gets zeros, which keeps it zero.
struct Lanes {
  float* mean = nullptr;
  float* factor = nullptr;
  float* first = nullptr;   // forward: shift; backward: mean of dy
  float* second = nullptr;  // backward: share of (x - mean) in dx
  float* shift = nullptr;   // backward, where relu's mask is computed again
};
constexpr int64_t kLaneArrays = 5;

// How relu's mask is found.
enum class Mask { kNone, kFromResult, kFromSource };

template <int64_t kFixed, typename F>
FLT_INLINE void for_each_element(int64_t rows, int64_t lanes_now, F&& f) {
  const int64_t lanes = kFixed > 0 ? kFixed : lanes_now;
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC ivdep
    for (int64_t l = 0; l < lanes; ++l) f(r * lanes + l, l);
  }
}

// Calls f(element, lane) for each element of a run, with loops of fixed length where they pay.
template <typename F>
FLT_INLINE void for_each_element(int64_t rows, int64_t lanes, int64_t tail, F&& f) {
  if (lanes == 16) {
    for_each_element<16>(rows, lanes, f);
  } else if (lanes == 8) {
    for_each_element<8>(rows, lanes, f);
  } else {
    for_each_element<0>(rows, lanes, f);
  }
  for (int64_t i = 0; i < tail; ++i) f(rows * lanes + i, i);
}

// Four rows for each time that the sums are read and written.
template <int64_t kFixed, typename Term>
FLT_INLINE void add_rows(int64_t rows, int64_t lanes_now, double* FLT_RESTRICT first,
                         double* FLT_RESTRICT second, Term&& term) {
  const int64_t lanes = kFixed > 0 ? kFixed : lanes_now;
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
#pragma GCC ivdep
    for (int64_t l = 0; l < lanes; ++l) {
      double a[4], b[4];
      for (int64_t k = 0; k < 4; ++k) term((r + k) * lanes + l, l, a[k], b[k]);
      first[l] += (a[0] + a[1]) + (a[2] + a[3]);
      second[l] += (b[0] + b[1]) + (b[2] + b[3]);
    }
  }
  for (; r < rows; ++r) {
#pragma GCC ivdep
    for (int64_t l = 0; l < lanes; ++l) {
      double a = 0, b = 0;
      term(r * lanes + l, l, a, b);
      first[l] += a;
      second[l] += b;
    }
  }
}

// Adds both results of term(element, lane, first, second) over a run, lane by lane.
template <typename Term>
FLT_INLINE void add_up(int64_t rows, int64_t lanes, int64_t tail, double* first, double* second,
                       Term&& term) {
  if (lanes == 16) {
    add_rows<16>(rows, lanes, first, second, term);
  } else if (lanes == 8) {
    add_rows<8>(rows, lanes, first, second, term);
  } else {
    add_rows<0>(rows, lanes, first, second, term);
  }
  for (int64_t i = 0; i < tail; ++i) {
    double a = 0, b = 0;
    term(rows * lanes + i, i, a, b);
    first[i] += a;
    second[i] += b;
  }
}

}  // namespace

// How the elements of a group of channels lie: `runs` runs, each of `rows` rows of `lanes` elements
// side by side, then `tail` elements. A lane is a channel, or all lanes of a group are the same
// one.
struct BatchNorm::Plan {
  explicit Plan(const BatchNormOptions& options);

  // Calls f(group, part) for everything. Where `finish` is given it is called once for a group,
  // after all its parts, and then `again` as f was.
  template <typename F, typename Finish, typename Again>
  void run(F&& f, Finish&& finish, Again&& again) const;
  // Calls f(offset) for each run of a part.
  template <typename F>
  FLT_INLINE void for_each_run(int64_t group, int64_t part, F&& f) const;

  Lanes lanes_of(int64_t group, void* scratch) const;
  double* sums_of(int64_t group, int64_t part, void* scratch) const;
  // The sums of a group over its parts, for channel `c` of the group.
  void total(int64_t group, int64_t c, void* scratch, double& first, double& second) const;
  // Calls f(channel, lane) for all lanes of a group; channel is -1 for padding.
  template <typename F>
  void for_each_lane(int64_t group, F&& f) const;
  int64_t channels_of(int64_t group) const {
    return lanes_are_channels ? std::min(lanes, channels - group * lanes) : 1;
  }
  int64_t first_channel(int64_t group) const { return lanes_are_channels ? group * lanes : group; }

  void normalise(const float* x, const float* residual, float* y, int64_t group, int64_t part,
                 const Lanes& at) const;
  template <Mask kMask>
  void add_up_gradients(const Backward& b, int64_t group, int64_t part, const Lanes& at,
                        double* sums) const;
  template <Mask kMask>
  void write_gradients(const Backward& b, int64_t group, int64_t part, const Lanes& at) const;
  template <Mask kMask>
  void backward(const Backward& b, void* scratch) const;

  BatchNormOptions options;
  int64_t channels = 0, count = 0;  // elements of one channel
  int64_t groups = 1, runs = 1, rows = 1, lanes = 1, tail = 0;
  int64_t group_stride = 0, run_stride = 0;
  bool lanes_are_channels = true;
  int64_t parts = 1;        // into which the runs of a group are cut, for want of groups
  int64_t group_bytes = 0;  // of scratch: floats for the lanes, then sums for each part
  int64_t lane_count = 0;   // rounded up, so that each array begins at a multiple of 64 bytes
};

namespace {

bool is_channels_last(const Shape& shape, const Layout& layout) {
  if (!layout.inner().empty() || layout.plain()) return shape.rank() == 2 && layout.plain();
  for (int64_t a = 1; a + 1 < shape.rank(); ++a) {
    if (layout.order()[static_cast<size_t>(a)] != a + 1) return false;
  }
  return layout.order().front() == 0 && layout.order().back() == 1;
}

bool is_blocked(const Layout& layout) {
  if (layout.inner().size() != 1 || layout.inner()[0].axis != 1) return false;
  return std::is_sorted(layout.order().begin(), layout.order().end());
}

}  // namespace

BatchNorm::Plan::Plan(const BatchNormOptions& given) : options(given) {
  const Shape& shape = options.shape;
  const Layout& layout = options.layout;
  const int64_t inner = shape.numel(2, shape.rank());
  channels = shape[1];
  count = shape[0] * inner;
  runs = shape[0];
  if (is_channels_last(shape, layout)) {
    lanes = channels;
    rows = inner;
    run_stride = inner * channels;
    if (inner == 1) std::swap(runs, rows);
  } else if (is_blocked(layout)) {
    lanes = layout.inner()[0].size;
    groups = (channels + lanes - 1) / lanes;
    rows = inner;
    group_stride = inner * lanes;
    run_stride = groups * group_stride;
  } else {
    lanes_are_channels = false;
    lanes = kLanes;
    groups = channels;
    rows = inner / lanes;
    tail = inner % lanes;
    group_stride = inner;
    run_stride = channels * inner;
  }
  // Whole groups for each thread where that comes out even enough, for the sake of the caches.
  const int64_t workers = count * channels < 2 * kGrainOperations ? 1 : threads();
  if (groups % workers != 0 && groups < 4 * workers) parts = std::min(runs, workers);
  lane_count = (lanes + kLanes - 1) / kLanes * kLanes;
  group_bytes = lane_count * (kLaneArrays * static_cast<int64_t>(sizeof(float)) +
                              parts * 2 * static_cast<int64_t>(sizeof(double)));
}

template <typename F, typename Finish, typename Again>
void BatchNorm::Plan::run(F&& f, Finish&& finish, Again&& again) const {
  const int64_t cost = std::max<int64_t>(1, runs * (rows * lanes + tail) / parts);
  if (parts == 1) {
    parallel_for(groups, cost, [&](int64_t group) {
      f(group, int64_t{0});
      finish(group);
      again(group, int64_t{0});
    });
    return;
  }
  parallel_for(groups * parts, cost, [&](int64_t i) { f(i / parts, i % parts); });
  for (int64_t group = 0; group < groups; ++group) finish(group);
  parallel_for(groups * parts, cost, [&](int64_t i) { again(i / parts, i % parts); });
}

template <typename F>
FLT_INLINE void BatchNorm::Plan::for_each_run(int64_t group, int64_t part, F&& f) const {
  const int64_t begin = part * runs / parts, end = (part + 1) * runs / parts;
  for (int64_t r = begin; r < end; ++r) f(group * group_stride + r * run_stride);
}

Lanes BatchNorm::Plan::lanes_of(int64_t group, void* scratch) const {
  float* at = reinterpret_cast<float*>(static_cast<char*>(scratch) + group * group_bytes);
  const int64_t n = lane_count;
  return {at, at + n, at + 2 * n, at + 3 * n, at + 4 * n};
}

double* BatchNorm::Plan::sums_of(int64_t group, int64_t part, void* scratch) const {
  double* at = reinterpret_cast<double*>(lanes_of(group, scratch).mean + kLaneArrays * lane_count);
  return at + part * 2 * lane_count;
}

void BatchNorm::Plan::total(int64_t group, int64_t c, void* scratch, double& first,
                            double& second) const {
  first = second = 0;
  const int64_t begin = lanes_are_channels ? c : 0, end = lanes_are_channels ? c + 1 : lanes;
  for (int64_t part = 0; part < parts; ++part) {
    const double* sums = sums_of(group, part, scratch);
    for (int64_t l = begin; l < end; ++l) {
      first += sums[l];
      second += sums[lane_count + l];
    }
  }
}

template <typename F>
void BatchNorm::Plan::for_each_lane(int64_t group, F&& f) const {
  const int64_t first = first_channel(group), known = channels_of(group);
  for (int64_t l = 0; l < lanes; ++l) {
    const int64_t c = lanes_are_channels ? l : 0;
    f(c < known ? first + c : -1, l);
  }
}

void BatchNorm::Plan::normalise(const float* x_all, const float* residual_all, float* y_all,
                                int64_t group, int64_t part, const Lanes& at) const {
  const bool relu = options.relu;
  simd([=, this] {
    const float *mean = at.mean, *factor = at.factor, *shift = at.first;
    for_each_run(group, part, [&](int64_t offset) {
      const float* x = x_all + offset;
      float* y = y_all + offset;
      const auto normal = [=](int64_t i, int64_t l) {
        return (x[i] - mean[l]) * factor[l] + shift[l];
      };
      const auto positive = [](float value) { return value < 0.0f ? 0.0f : value; };
      if (residual_all != nullptr) {
        const float* z = residual_all + offset;
        if (relu) {
          for_each_element(rows, lanes, tail,
                           [=](int64_t i, int64_t l) { y[i] = positive(normal(i, l) + z[i]); });
        } else {
          for_each_element(rows, lanes, tail,
                           [=](int64_t i, int64_t l) { y[i] = normal(i, l) + z[i]; });
        }
      } else if (relu) {
        for_each_element(rows, lanes, tail,
                         [=](int64_t i, int64_t l) { y[i] = positive(normal(i, l)); });
      } else {
        for_each_element(rows, lanes, tail, [=](int64_t i, int64_t l) { y[i] = normal(i, l); });
      }
    });
  });
}

bool BatchNorm::knows(const Shape& shape, const Layout& layout) {
  if (shape.rank() < 2 || shape.numel() <= 0) return false;
  if (!layout.plain() && static_cast<int64_t>(layout.order().size()) != shape.rank()) return false;
  return layout.plain() || is_channels_last(shape, layout) || is_blocked(layout);
}

BatchNorm::BatchNorm(const BatchNormOptions& options) {
  require(
      knows(options.shape, options.layout),
      "batch norm takes [N, C, ...] plain, channels last or in blocks of channels, but has {} {}",
      options.shape, options.layout);
  plan_ = std::make_shared<const Plan>(options);
}

int64_t BatchNorm::scratch_bytes() const { return plan_->groups * plan_->group_bytes; }

void BatchNorm::forward(const Forward& f, void* scratch) const {
  const Plan& p = *plan_;
  const auto add = [&](int64_t group, int64_t part) {
    double* sums = p.sums_of(group, part, scratch);
    std::fill_n(sums, 2 * p.lane_count, 0.0);
    simd([&, sums] {
      p.for_each_run(group, part, [&](int64_t offset) {
        const float* x = f.x + offset;
        add_up(p.rows, p.lanes, p.tail, sums, sums + p.lane_count,
               [x](int64_t i, int64_t, double& sum, double& square) {
                 sum = x[i];
                 square = sum * sum;
               });
      });
    });
  };
  const auto finish = [&](int64_t group) {
    const int64_t first = p.first_channel(group);
    const double count = static_cast<double>(p.count);
    for (int64_t c = 0; c < p.channels_of(group); ++c) {
      double sum = 0, squares = 0;
      p.total(group, c, scratch, sum, squares);
      const double mean = sum / count;
      const double variance = std::max(0.0, squares / count - mean * mean);
      const int64_t channel = first + c;
      f.mean[channel] = static_cast<float>(mean);
      f.inv_std[channel] = static_cast<float>(1 / std::sqrt(variance + p.options.epsilon));
      const float momentum = p.options.momentum;
      const auto update = [=](float* running, double now) {
        if (running == nullptr) return;
        running[channel] = momentum * running[channel] + (1 - momentum) * static_cast<float>(now);
      };
      update(f.running_mean, mean);
      update(f.running_variance, variance);
    }
    const Lanes at = p.lanes_of(group, scratch);
    p.for_each_lane(group, [&](int64_t c, int64_t l) {
      at.mean[l] = c < 0 ? 0 : f.mean[c];
      at.factor[l] = c < 0 ? 0 : f.inv_std[c] * f.scale[c];
      at.first[l] = c < 0 ? 0 : f.shift[c];
    });
  };
  p.run(add, finish, [&](int64_t group, int64_t part) {
    p.normalise(f.x, f.residual, f.y, group, part, p.lanes_of(group, scratch));
  });
}

void BatchNorm::infer(const Inference& i, void* scratch) const {
  const Plan& p = *plan_;
  const auto finish = [&](int64_t group) {
    const Lanes at = p.lanes_of(group, scratch);
    p.for_each_lane(group, [&](int64_t c, int64_t l) {
      at.mean[l] = c < 0 ? 0 : i.mean[c];
      at.factor[l] = c < 0 ? 0 : i.scale[c] / std::sqrt(i.variance[c] + p.options.epsilon);
      at.first[l] = c < 0 ? 0 : i.shift[c];
    });
  };
  p.run([](int64_t, int64_t) {}, finish,
        [&](int64_t group, int64_t part) {
          p.normalise(i.x, i.residual, i.y, group, part, p.lanes_of(group, scratch));
        });
}

template <Mask kMask>
void BatchNorm::Plan::add_up_gradients(const Backward& b, int64_t group, int64_t part,
                                       const Lanes& at, double* sums) const {
  std::fill_n(sums, 2 * lane_count, 0.0);
  simd([&, sums] {
    const float *mean = at.mean, *factor = at.factor, *shift = at.shift;
    for_each_run(group, part, [&](int64_t offset) {
      const float *x = b.x + offset, *dy = b.dy + offset;
      const float* y = kMask == Mask::kFromResult ? b.y + offset : nullptr;
      float* masked = b.dresidual == nullptr ? nullptr : b.dresidual + offset;
      const auto gradient = [=](int64_t i, int64_t l) {
        if constexpr (kMask == Mask::kFromResult) return y[i] > 0.0f ? dy[i] : 0.0f;
        const float centred = x[i] - mean[l];
        if constexpr (kMask == Mask::kFromSource) {
          return centred * factor[l] + shift[l] > 0.0f ? dy[i] : 0.0f;
        }
        return dy[i];
      };
      const auto term = [=](int64_t i, int64_t l, double& first, double& second) {
        first = gradient(i, l);
        second = first * static_cast<double>(x[i] - mean[l]);
      };
      if (masked != nullptr) {
        for_each_element(rows, lanes, tail,
                         [=](int64_t i, int64_t l) { masked[i] = gradient(i, l); });
        const auto from_masked = [=](int64_t i, int64_t l, double& first, double& second) {
          first = masked[i];
          second = first * static_cast<double>(x[i] - mean[l]);
        };
        add_up(rows, lanes, tail, sums, sums + lane_count, from_masked);
      } else {
        add_up(rows, lanes, tail, sums, sums + lane_count, term);
      }
    });
  });
}

// dx = factor * (g - mean(g) - (x - mean) * inv_std^2 * mean(g * (x - mean)))
template <Mask kMask>
void BatchNorm::Plan::write_gradients(const Backward& b, int64_t group, int64_t part,
                                      const Lanes& at) const {
  simd([&] {
    const float *mean = at.mean, *factor = at.factor, *first = at.first, *second = at.second;
    const float* shift = at.shift;
    for_each_run(group, part, [&](int64_t offset) {
      const float *x = b.x + offset, *dy = b.dy + offset;
      const float* y = kMask == Mask::kFromResult ? b.y + offset : nullptr;
      float* dx = b.dx + offset;
      if (b.dresidual != nullptr) {
        const float* masked = b.dresidual + offset;
        for_each_element(rows, lanes, tail, [=](int64_t i, int64_t l) {
          dx[i] = factor[l] * (masked[i] - first[l] - (x[i] - mean[l]) * second[l]);
        });
        return;
      }
      for_each_element(rows, lanes, tail, [=](int64_t i, int64_t l) {
        const float centred = x[i] - mean[l];
        float g = dy[i];
        if constexpr (kMask == Mask::kFromResult) g = y[i] > 0.0f ? g : 0.0f;
        if constexpr (kMask == Mask::kFromSource) {
          g = centred * factor[l] + shift[l] > 0.0f ? g : 0.0f;
        }
        dx[i] = factor[l] * (g - first[l] - centred * second[l]);
      });
    });
  });
}

template <Mask kMask>
void BatchNorm::Plan::backward(const Backward& b, void* scratch) const {
  // What the mask needs is known before the sums are.
  const auto fill = [&](int64_t group) {
    const Lanes at = lanes_of(group, scratch);
    for_each_lane(group, [&](int64_t c, int64_t l) {
      at.mean[l] = c < 0 ? 0 : b.mean[c];
      at.factor[l] = c < 0 ? 0 : b.inv_std[c] * b.scale[c];
      at.shift[l] = c < 0 || b.shift == nullptr ? 0 : b.shift[c];
    });
  };
  if (parts > 1) {
    for (int64_t group = 0; group < groups; ++group) fill(group);
  }
  const auto add = [&](int64_t group, int64_t part) {
    if (parts == 1) fill(group);
    add_up_gradients<kMask>(b, group, part, lanes_of(group, scratch),
                            sums_of(group, part, scratch));
  };
  const auto finish = [&](int64_t group) {
    const int64_t first = first_channel(group);
    for (int64_t c = 0; c < channels_of(group); ++c) {
      double sum = 0, dot = 0;
      total(group, c, scratch, sum, dot);
      b.dshift[first + c] = static_cast<float>(sum);
      b.dscale[first + c] = static_cast<float>(dot * static_cast<double>(b.inv_std[first + c]));
    }
    const Lanes at = lanes_of(group, scratch);
    const float share = 1.0f / static_cast<float>(count);
    for_each_lane(group, [&](int64_t c, int64_t l) {
      at.first[l] = c < 0 ? 0 : b.dshift[c] * share;
      at.second[l] = c < 0 ? 0 : b.dscale[c] * b.inv_std[c] * share;
    });
  };
  run(add, finish, [&](int64_t group, int64_t part) {
    write_gradients<kMask>(b, group, part, lanes_of(group, scratch));
  });
}

void BatchNorm::backward(const Backward& b, void* scratch) const {
  if (!plan_->options.relu) {
    plan_->backward<Mask::kNone>(b, scratch);
  } else if (b.y != nullptr) {
    plan_->backward<Mask::kFromResult>(b, scratch);
  } else {
    require(b.shift != nullptr && b.dresidual == nullptr,
            "the gradient of batch norm with relu needs y where there was a residual, else shift");
    plan_->backward<Mask::kFromSource>(b, scratch);
  }
}

}  // namespace flotilla
