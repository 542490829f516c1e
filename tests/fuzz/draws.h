// tests/fuzz/draws.h
//
// What the fuzzers of programs draw from their input, and the programs that they begin with.

#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "flotilla/base/dtype.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ir/attr.h"
#include "flotilla/testing/cases.h"

namespace flotilla {

// What fuzzers that run programs begin with: the op `print` writes nothing.
inline void run_quietly_on_one_thread() {
  const int null = open("/dev/null", O_WRONLY);
  if (null >= 0) dup2(null, STDOUT_FILENO);
  set_threads(1);
}

// The bytes of the input, then zeros.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  size_t below(size_t n) {
    if (n <= 1) return 0;
    const size_t low = byte();
    return (n > 256 ? low + 256 * size_t{byte()} : low) % n;
  }
  bool coin() { return byte() & 1; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  int64_t whole() {
    static const std::vector<int64_t> kOdd = {0,
                                              1,
                                              -1,
                                              2,
                                              3,
                                              4,
                                              5,
                                              7,
                                              8,
                                              9,
                                              16,
                                              17,
                                              31,
                                              64,
                                              100,
                                              -2,
                                              -3,
                                              -7,
                                              -100,
                                              127,
                                              255,
                                              1000,
                                              65536,
                                              std::numeric_limits<int32_t>::max(),
                                              std::numeric_limits<int32_t>::min(),
                                              int64_t{1} << 32,
                                              int64_t{1} << 40,
                                              int64_t{1} << 62,
                                              std::numeric_limits<int64_t>::max(),
                                              std::numeric_limits<int64_t>::min()};
    const uint8_t b = byte();
    // Mostly small ones: they are what gets past the checks.
    return b < 160 ? kOdd[b % 16] : kOdd[b % kOdd.size()];
  }
  double number() {
    static const std::vector<double> kOdd = {0,     1,     -1,           0.5,      2,
                                             -0.25, 3,     100,          1e-8,     1e8,
                                             -1e30, 1e300, std::nan(""), INFINITY, -INFINITY};
    return kOdd[below(kOdd.size())];
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

inline DType some_dtype(Bytes& in) {
  static const std::vector<DType> kDtypes = {f32, f64, i64, i32, boolean, u8, i8, i16};
  return in.pick(kDtypes);
}

inline void bend_attr(Bytes& in, Attr& attr) {
  const auto bend_list = [&](auto& list, auto draw) {
    switch (in.below(4)) {
      case 0:
        list.push_back(draw());
        break;
      case 1:
        if (!list.empty()) list.pop_back();
        break;
      default:
        if (!list.empty()) list[in.below(list.size())] = draw();
    }
  };
  std::visit(
      [&]<typename T>(T& value) {
        if constexpr (std::is_same_v<T, bool>) {
          value = !value;
        } else if constexpr (std::is_integral_v<T>) {
          value = static_cast<T>(in.whole());
        } else if constexpr (std::is_floating_point_v<T>) {
          value = static_cast<T>(in.number());
        } else if constexpr (std::is_same_v<T, std::vector<int32_t>>) {
          bend_list(value, [&] { return static_cast<int32_t>(in.whole()); });
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          bend_list(value, [&] { return in.whole(); });
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          bend_list(value, [&] { return static_cast<float>(in.number()); });
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          bend_list(value, [&] { return in.number(); });
        } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
          value.push_back(in.coin());
        } else if constexpr (std::is_same_v<T, BlockRef>) {
          value.index = static_cast<int32_t>(in.below(4));
        } else if constexpr (std::is_same_v<T, std::string>) {
          static const std::vector<std::string> kWords = {"",
                                                          "SAME",
                                                          "VALID",
                                                          "NHWC",
                                                          "NCHW",
                                                          "relu",
                                                          "tanh",
                                                          "sigmoid",
                                                          "identity",
                                                          "avg",
                                                          "max",
                                                          "SUM",
                                                          "AVERAGE",
                                                          "MAX",
                                                          "LAST",
                                                          "FIRST",
                                                          "SQRT",
                                                          "mean",
                                                          "sum",
                                                          "none",
                                                          "batchmean",
                                                          "l2_decay",
                                                          "all",
                                                          "channel",
                                                          "element",
                                                          "reflect",
                                                          "edge",
                                                          "constant",
                                                          "upscale_in_train",
                                                          "downgrade_in_infer",
                                                          "IOB",
                                                          "nearest",
                                                          "bilinear",
                                                          "ij,jk->ik"};
          value = in.pick(kWords);
        }
      },
      attr);
}

// What tests run, and what was written for op types that they do not run as a program.
inline std::vector<Case> load_cases() {
  std::vector<Case> cases;
  for (const char* path : {"tests/fuzz/cases.txt", "tests/fuzz/written_cases.txt"}) {
    std::ifstream file(path);
    if (!file) {
      std::fprintf(stderr, "there is no %s here; run this in the root of the repository\n", path);
      std::exit(2);
    }
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    for (Case& c : parse_cases(text)) cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace flotilla
