// flotilla/ops/tensor/assign_value_fill.cu
//
// assign_value and fill on a GPU; assign_value_fill.cc defines them. The elements travel as
// arguments of launches, which a graph keeps: it could not wait for memory of the host.

#include <algorithm>
#include <cstring>
#include <vector>

#include "flotilla/device/cuda/check.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/tensor/stored_values.h"

namespace flotilla::ops {
namespace {

constexpr int64_t kPieceBytes = 3584;  // arguments of a launch hold 4096
constexpr int kThreads = 256;

struct Piece {
  int size = 0;
  char bytes[kPieceBytes];
};

__global__ void __launch_bounds__(kThreads)
    store_piece(const __grid_constant__ Piece piece, char* to) {
  for (int i = static_cast<int>(threadIdx.x); i < piece.size; i += kThreads) to[i] = piece.bytes[i];
}

template <typename T, typename Stored>
Step store(PrepareContext& c, const std::string& attr) {
  const std::vector<Stored> stored = stored_values<Stored>(c, attr);
  std::vector<char> bytes(stored.size() * sizeof(T));
  for (size_t i = 0; i < stored.size(); ++i) {
    const T element = static_cast<T>(stored[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return [stream = c.around().stream, bytes, out = c.out<T>("Out")] {
    char* const to = reinterpret_cast<char*>(out.data());
    Piece piece;
    for (int64_t at = 0; at < std::ssize(bytes); at += piece.size) {
      piece.size = static_cast<int>(std::min<int64_t>(kPieceBytes, std::ssize(bytes) - at));
      std::memcpy(piece.bytes, bytes.data() + at, static_cast<size_t>(piece.size));
      store_piece<<<1, kThreads, 0, static_cast<cudaStream_t>(stream.handle)>>>(piece, to + at);
      cuda::check(cudaGetLastError(), "launch a kernel that stores {} bytes", piece.size);
    }
  };
}

template <typename T>
Step assign_value(PrepareContext& c) {
  return store<T, StoredAs<T>>(c, values_attr(dtype_of<T>));
}

template <typename T>
Step fill(PrepareContext& c) {
  return store<T, float>(c, "value");
}

template <typename... T>
bool add_fill() {
  return add_kernels("fill", {{kCuda, dtype_of<T>, fill<T>}...});
}

[[maybe_unused]] const bool kAdded =
    add_kernels("assign_value", {{kCuda, f32, assign_value<float>},
                                 {kCuda, f64, assign_value<double>},
                                 {kCuda, i32, assign_value<int32_t>},
                                 {kCuda, i64, assign_value<int64_t>},
                                 {kCuda, boolean, assign_value<bool>}}) &&
    add_fill<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>();

}  // namespace
}  // namespace flotilla::ops
