#include "flotilla/plan/check_numbers.h"

#include <cmath>
#include <cstring>

#include "flotilla/base/error.h"

namespace flotilla::plan {
namespace {

struct Found {
  int64_t nan = 0;
  int64_t infinite = 0;
  int64_t first = -1;
};

template <typename T, typename ToFloat>
Found search(const void* data, int64_t bytes, ToFloat to_float) {
  Found found;
  const T* values = static_cast<const T*>(data);
  const int64_t count = bytes / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    const auto value = to_float(values[i]);
    if (std::isfinite(value)) continue;
    ++(std::isnan(value) ? found.nan : found.infinite);
    if (found.first < 0) found.first = i;
  }
  return found;
}

float from_bf16(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

Found search(const Value& value, const void* data) {
  switch (value.meta.dtype) {
    case f32:
      return search<float>(data, value.bytes(), [](float x) { return x; });
    case f64:
      return search<double>(data, value.bytes(), [](double x) { return x; });
    case bf16:
      return search<uint16_t>(data, value.bytes(), from_bf16);
    default:
      return {};
  }
}

}  // namespace

void check_numbers(const Node& node, const Draft& draft) {
  if (node.wait) return;
  for (const int32_t id : node.writes) {
    const Value& value = draft.values[static_cast<size_t>(id)];
    if (value.cell.data == nullptr) continue;
    std::vector<char> copy;
    if (value.device != kHost) {
      copy.resize(static_cast<size_t>(value.bytes()));
      draft.backend(value.device).read(copy.data(), value.cell.data, value.bytes());
    }
    const Found found = search(value, value.device == kHost ? value.cell.data : copy.data());
    if (found.first < 0) continue;
    // In another layout, elements have other places.
    const std::string place =
        value.layout.plain() ? fmt::format(", the first at position {}", found.first) : "";
    refuse("variable \"{}\" ({}{}) got {} NaN and {} infinite values{} (FLAGS_check_nan_inf=1)",
           value.name, value.meta.dtype, value.meta.shape, found.nan, found.infinite, place);
  }
}

}  // namespace flotilla::plan
