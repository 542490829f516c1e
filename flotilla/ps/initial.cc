#include "flotilla/ps/initial.h"

#include <algorithm>
#include <array>

#include "flotilla/base/random_stream.h"

namespace flotilla::ps {
namespace {

// The four numbers that come from one block of the stream.
std::array<float, 4> four_of(const Initial& initial, const std::array<uint32_t, 4>& words) {
  std::array<float, 4> four = {};
  if (initial.kind == Initial::kNormal) {
    const auto [a, b] = normal_pair<float>(words[0], words[1]);
    const auto [c, d] = normal_pair<float>(words[2], words[3]);
    four = {a, b, c, d};
    for (float& value : four) value = initial.a + initial.b * value;
    return four;
  }
  for (size_t i = 0; i < 4; ++i) {
    const float u = unit_number<float>(words[i]);
    four[i] = initial.kind == Initial::kUniform ? initial.a + (initial.b - initial.a) * u
                                                : initial.a + initial.b * truncated_normal(u);
  }
  return four;
}

// Elements [first, first + values.size()) of a stream; `first` need not be a multiple of four.
void fill(const Initial& initial, const RandomStream& stream, int64_t first,
          std::span<float> values) {
  if (initial.kind == Initial::kConstant) {
    std::fill(values.begin(), values.end(), initial.a);
    return;
  }
  const int64_t end = first + static_cast<int64_t>(values.size());
  for (int64_t block = first / 4; block * 4 < end; ++block) {
    const std::array<float, 4> four = four_of(initial, stream.at(static_cast<uint64_t>(block)));
    for (int64_t i = std::max(first, block * 4); i < std::min(end, block * 4 + 4); ++i) {
      values[static_cast<size_t>(i - first)] = four[static_cast<size_t>(i % 4)];
    }
  }
}

// Apart from what rows draw, whatever their width.
constexpr uint64_t kAdmissionIndex = uint64_t{1} << 63;

}  // namespace

void fill_initial(const TableSpec& table, int64_t key, std::span<float> row) {
  fill(table.initial, {table.seed, static_cast<uint64_t>(key)}, 0, row);
}

void fill_initial_dense(const TableSpec& table, const Slice& slice, std::span<float> values) {
  fill(table.initial, {table.seed, 0}, slice.begin, values);
}

bool admits(const TableSpec& table, int64_t key, uint32_t appearance) {
  switch (table.admission.kind) {
    case Admission::kAll:
      return true;
    case Admission::kCount:
      return appearance >= table.admission.value;
    case Admission::kProbability: {
      const RandomStream stream = {table.seed, static_cast<uint64_t>(key)};
      return unit_number<double>(stream.at(kAdmissionIndex + appearance)[0]) <
             table.admission.value;
    }
  }
  return true;
}

}  // namespace flotilla::ps
