// flotilla/ops/nn/sync_batch_norm.cc
//
// sync_batch_norm: batch_norm with the statistics of all processes. Each gives those of its part of
// the batch, and they are joined in the order of ranks. The gradients of Scale and Bias stay those
// of the part: they are exchanged like those of all parameters.

#include <algorithm>
#include <memory>
#include <vector>

#include "flotilla/ops/common/channel.h"
#include "flotilla/ops/nn/batch_norm.h"

namespace flotilla::ops {
namespace {

// Two numbers for each channel, of this process and then of all.
class Joined {
 public:
  Joined(const PrepareContext& c, int64_t channels)
      : first(static_cast<size_t>(channels)),
        second(first.size()),
        channel_(c, "waits for statistics of other ranks") {}

  bool alone() const { return channel_.alone(); }

  // Joins means and biased variances of parts of `count` elements; returns the whole count. By the
  // formula of Chan, Golub and LeVeque (1979).
  double statistics(double count) {
    pack(count);
    channel_.run([&](comm::Group& group) {
      all_.resize(mine_.size() * static_cast<size_t>(group.size()));
      group.all_gather(mine_.data(), all_.data(), static_cast<int64_t>(mine_.size()), f64);
    });
    std::fill(first.begin(), first.end(), 0);
    std::fill(second.begin(), second.end(), 0);
    double joined = 0;
    for (size_t part = 0; part < all_.size(); part += mine_.size()) {
      const double n = all_[part], whole = joined + n;
      if (n == 0) continue;
      for (size_t i = 0; i < first.size(); ++i) {
        const double delta = all_[part + 1 + i] - first[i];
        first[i] += delta * n / whole;
        second[i] += (all_[part + 1 + first.size() + i] - second[i]) * n / whole +
                     delta * delta * (joined / whole) * (n / whole);
      }
      joined = whole;
    }
    return joined;
  }

  // Adds up; returns the sum of the counts.
  double sums(double count) {
    pack(count);
    channel_.run([&](comm::Group& group) {
      group.all_reduce(mine_.data(), mine_.data(), static_cast<int64_t>(mine_.size()), f64,
                       comm::Reduce::kSum);
    });
    std::copy_n(mine_.begin() + 1, first.size(), first.begin());
    std::copy_n(mine_.end() - static_cast<int64_t>(second.size()), second.size(), second.begin());
    return mine_[0];
  }

  std::vector<double> first, second;

 private:
  void pack(double count) {
    mine_.assign(1, count);
    mine_.insert(mine_.end(), first.begin(), first.end());
    mine_.insert(mine_.end(), second.begin(), second.end());
  }

  Channel channel_;
  std::vector<double> mine_, all_;
};

void get(const Strip& s, const std::vector<double>& per_channel, double* values) {
  std::copy_n(per_channel.begin() + s.first, s.width, values);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const BatchNorm<T> norm(c);
  const auto joined = std::make_shared<Joined>(c, norm.n.blocks.channels);
  const bool together = norm.n.batch_statistics && !joined->alone();
  return [norm, joined, together] {
    if (together) {
      for_each_strip(norm.n.blocks, [&](const Strip& s) {
        simd([&] {
          double m[kStrip] = {}, v[kStrip] = {};
          strip_statistics(norm.n.blocks, s, norm.x.data(), m, v);
          put(s, m, joined->first.data());
          put(s, v, joined->second.data());
        });
      });
      joined->statistics(norm.n.count);
    }
    for_each_strip(norm.n.blocks, [&](const Strip& s) {
      simd([&] {
        double m[kStrip] = {}, v[kStrip] = {}, inverse[kStrip] = {};
        if (together) {
          get(s, joined->first, m);
          get(s, joined->second, v);
          for (int64_t i = 0; i < kStrip; ++i) inverse[i] = 1 / std::sqrt(v[i] + norm.n.epsilon);
          norm.statistics.note(norm.n, s, m, v, inverse);
        } else {
          norm.statistics.of(norm.n, s, norm.x.data(), m, inverse);
        }
        norm.normalize(s, m, inverse);
      });
    });
  };
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const BatchNormGrad<T> norm(c);
  const auto joined = std::make_shared<Joined>(c, norm.n.blocks.channels);
  const bool together = norm.n.batch_statistics && !joined->alone();
  return [norm, joined, together] {
    for_each_strip(norm.n.blocks, [&](const Strip& s) {
      simd([&] {
        typename BatchNormGrad<T>::Sums sums;
        norm.statistics(s, sums);
        norm.add_up(s, sums);
        put(s, sums.dy, joined->first.data());
        put(s, sums.dy_x, joined->second.data());
      });
    });
    const double count = together ? joined->sums(norm.n.count) : norm.n.count;
    for_each_strip(norm.n.blocks, [&](const Strip& s) {
      simd([&] {
        typename BatchNormGrad<T>::Sums sums;
        norm.statistics(s, sums);
        get(s, joined->first, sums.dy);
        get(s, joined->second, sums.dy_x);
        norm.finish(s, sums, count);
      });
    });
  };
};

const bool sync = define_batch_norm({.type = "sync_batch_norm",
                                     .doc = "batch_norm with the statistics of all processes.",
                                     .kernels = kernels_for<float, double>(forward),
                                     .grad_kernels = kernels_for<float, double>(backward),
                                     .attrs = {kRingId}});

}  // namespace
}  // namespace flotilla::ops
