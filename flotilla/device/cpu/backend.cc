#include "flotilla/device/cpu/backend.h"

#include <cstring>

#include "flotilla/device/cpu/onednn.h"

namespace flotilla {

void CpuBackend::copy(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

void CpuBackend::fill(void* to, uint8_t byte, int64_t bytes) {
  if (bytes > 0) std::memset(to, byte, static_cast<size_t>(bytes));
}

Reorder CpuBackend::reorder(const Shape& shape, DType dtype, const Layout& from, const Layout& to) {
  const auto made = std::make_shared<onednn::Reorder>(shape, dtype, from, to);
  return {made->scratch_bytes(), [made](const void* source, void* target, void* scratch) {
            made->run(source, target, scratch);
          }};
}

}  // namespace flotilla
