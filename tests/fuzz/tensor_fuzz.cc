// Bytes that claim to be tensors: each is read or refused, within the memory that the bytes take.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flotilla/base/error.h"
#include "flotilla/tensor/stream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  flotilla::TensorReader reader(bytes, "input");
  try {
    while (!reader.at_end()) reader.next();
  } catch (const flotilla::Error&) {
  }
  return 0;
}
