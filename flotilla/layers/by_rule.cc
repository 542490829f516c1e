#include "flotilla/layers/by_rule.h"

#include <cmath>

#include "flotilla/base/error.h"

namespace flotilla::layers {
namespace {

// FNV-1a, 64 bits.
uint64_t hash_of(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : key) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

// The output function of SplitMix64 (Steele, Lea, Flood 2014): every bit of the state reaches every
// bit of the result.
uint64_t mixed(uint64_t state) {
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

uint64_t bits_of(uint64_t key, int64_t i) {
  return mixed(key + static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15u);
}

bool is_scale(std::string_view name) {
  return name.ends_with("_scale") || name.find(".w_") != std::string_view::npos;
}

}  // namespace

std::vector<float> uniform_by_rule(std::string_view key, int64_t count, double low, double high) {
  const uint64_t hash = hash_of(key);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(bits_of(hash, i) >> 40) * 0x1p-24;
    numbers[static_cast<size_t>(i)] = static_cast<float>(low + (high - low) * unit);
  }
  return numbers;
}

std::vector<int64_t> integers_by_rule(std::string_view key, int64_t count, int64_t low,
                                      int64_t high) {
  require(low < high, "integers from [{}, {}) were asked for", low, high);
  const uint64_t hash = hash_of(key), range = static_cast<uint64_t>(high - low);
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    numbers[static_cast<size_t>(i)] = low + static_cast<int64_t>(bits_of(hash, i) % range);
  }
  return numbers;
}

std::vector<float> parameter_by_rule(std::string_view name, const Shape& shape) {
  const int64_t count = shape.numel();
  if (shape.rank() < 2) {
    return is_scale(name) ? uniform_by_rule(name, count, 0.9, 1.1)
                          : uniform_by_rule(name, count, -0.1, 0.1);
  }
  const int64_t field = shape.numel(2, shape.rank());
  const double fans = static_cast<double>((shape[0] + shape[1]) * field);
  const double limit = std::sqrt(6 / fans);
  return uniform_by_rule(name, count, -limit, limit);
}

}  // namespace flotilla::layers
