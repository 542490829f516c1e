// flotilla/ops/tensor/hash.cc
//
// hash: `num_hash` numbers in [0, mod_by) for each row of X: XXH64 of its bytes with the seeds 0,
// 1,
// ... The function is that of the xxHash specification (Collet), version 0.1.1.

#include <bit>
#include <cstring>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                   kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                   kPrime5 = 0x27D4EB2F165667C5;

template <typename T>
uint64_t word_at(const char* data) {
  T word;
  std::memcpy(&word, data, sizeof(T));
  return word;
}

uint64_t mixed(uint64_t sum, uint64_t word) {
  return std::rotl(sum + word * kPrime2, 31) * kPrime1;
}

// The first stripes of 32 bytes; moves `data` behind them.
uint64_t hash_stripes(const char*& data, const char* end, uint64_t seed) {
  uint64_t lanes[] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
  for (; end - data >= 32; data += 32) {
    for (int lane = 0; lane < 4; ++lane) {
      lanes[lane] = mixed(lanes[lane], word_at<uint64_t>(data + 8 * lane));
    }
  }
  uint64_t sum = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                 std::rotl(lanes[3], 18);
  for (const uint64_t lane : lanes) sum = (sum ^ mixed(0, lane)) * kPrime1 + kPrime4;
  return sum;
}

uint64_t xxh64(const char* data, int64_t bytes, uint64_t seed) {
  const char* end = data + bytes;
  uint64_t sum = bytes >= 32 ? hash_stripes(data, end, seed) : seed + kPrime5;
  sum += static_cast<uint64_t>(bytes);
  for (; end - data >= 8; data += 8) {
    sum = std::rotl(sum ^ mixed(0, word_at<uint64_t>(data)), 27) * kPrime1 + kPrime4;
  }
  if (end - data >= 4) {
    sum = std::rotl(sum ^ word_at<uint32_t>(data) * kPrime1, 23) * kPrime2 + kPrime3;
    data += 4;
  }
  for (; data < end; ++data) {
    sum = std::rotl(sum ^ word_at<uint8_t>(data) * kPrime5, 11) * kPrime1;
  }
  sum = (sum ^ sum >> 33) * kPrime2;
  sum = (sum ^ sum >> 29) * kPrime3;
  return sum ^ sum >> 32;
}

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t count = c.attr<int64_t>("num_hash");
  require(x.shape.rank() == 2, "X must be a matrix, but has shape {}", x.shape);
  require(count > 0 && c.attr<int64_t>("mod_by") > 0,
          "num_hash and mod_by must be positive, but are {} and {}", count,
          c.attr<int64_t>("mod_by"));
  c.out("Out") = like(x, Shape{x.shape[0], count, 1});
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t rows = c.shape("X")[0], width = c.shape("X")[1], count = c.shape("Out")[1];
  return [=, mod = static_cast<uint64_t>(c.attr<int64_t>("mod_by")), x = c.in_bytes("X"),
          out = c.out<T>("Out")] {
    const int64_t bytes = width * static_cast<int64_t>(sizeof(T));
    parallel_for(rows, count * (bytes + 40), [&](int64_t i) {
      for (int64_t k = 0; k < count; ++k) {
        const uint64_t found = xxh64(x.data() + i * bytes, bytes, static_cast<uint64_t>(k));
        out.data()[i * count + k] = static_cast<T>(found % mod);
      }
    });
  };
};

const OpDef& hash = define_op({
    .type = "hash",
    .doc = "Numbers that follow from the rows of X.",
    .inputs = {{.name = "X", .doc = "i32 or i64, [rows, width]", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "[rows, num_hash, 1]"}},
    .attrs = {{"num_hash", 1, "numbers for each row"},
              {"mod_by", int64_t{100000}, "they stay below"}},
    .infer = infer,
    .kernels = kernels_for<int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops
