#include <cuda_runtime.h>

#include <bit>
#include <limits>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/sort.h"

namespace flotilla::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kDigits = 256;  // a thread for each
constexpr int kRounds = 8;
constexpr int kTile = kThreads * kRounds;  // numbers of a block
static_assert(kDigits == kThreads);

__device__ int digit_of(int64_t key, int shift) { return static_cast<int>(key >> shift) & 255; }

// How often each digit is in each tile: counts[digit][block].
__global__ void __launch_bounds__(kThreads)
    count_digits(const int64_t* keys, int64_t n, int shift, uint32_t* counts) {
  __shared__ uint32_t found[kDigits];
  found[threadIdx.x] = 0;
  __syncthreads();
  for (int r = 0; r < kRounds; ++r) {
    const int64_t i = int64_t{blockIdx.x} * kTile + r * kThreads + threadIdx.x;
    if (i < n) atomicAdd(&found[digit_of(keys[i], shift)], 1u);
  }
  __syncthreads();
  counts[int64_t{threadIdx.x} * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// The sum of the numbers of the threads before this one; `all` gets that of all of them.
__device__ uint32_t sum_before(uint32_t number, uint32_t* shared, uint32_t& all) {
  const int t = static_cast<int>(threadIdx.x);
  shared[t] = number;
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    const uint32_t more = t >= step ? shared[t - step] : 0;
    __syncthreads();
    shared[t] += more;
    __syncthreads();
  }
  all = shared[kThreads - 1];
  const uint32_t before = shared[t] - number;
  __syncthreads();
  return before;
}

// A block for each digit: its counts become the sums of those before them, and all its sum.
__global__ void __launch_bounds__(kThreads)
    sum_counts(int64_t blocks, uint32_t* counts, uint32_t* totals) {
  __shared__ uint32_t shared[kThreads];
  uint32_t* const row = counts + int64_t{blockIdx.x} * blocks;
  uint32_t sum = 0;
  for (int64_t begin = 0; begin < blocks; begin += kThreads) {
    const int64_t i = begin + threadIdx.x;
    uint32_t all = 0;
    const uint32_t before = sum_before(i < blocks ? row[i] : 0, shared, all);
    if (i < blocks) row[i] = sum + before;
    sum += all;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = sum;
}

// `places`: null where the numbers still stand as they came.
__global__ void __launch_bounds__(kThreads)
    scatter(const int64_t* keys, const int32_t* places, int64_t n, int shift,
            const uint32_t* counts, const uint32_t* totals, int64_t* keys_to, int32_t* places_to) {
  __shared__ uint32_t shared[kThreads];
  __shared__ uint32_t next[kDigits];           // where the next number of each digit goes
  __shared__ uint32_t first[kWarps][kDigits];  // the same for each warp in this round
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
  uint32_t all = 0;
  next[t] = sum_before(totals[t], shared, all) + counts[int64_t{t} * gridDim.x + blockIdx.x];
  for (int r = 0; r < kRounds; ++r) {
    for (int w = 0; w < kWarps; ++w) first[w][t] = 0;
    __syncthreads();
    const int64_t i = int64_t{blockIdx.x} * kTile + r * kThreads + t;
    const bool there = i < n;
    const int64_t key = there ? keys[i] : 0;
    const int digit = there ? digit_of(key, shift) : kDigits;
    const uint32_t alike = __match_any_sync(0xffffffffu, digit);
    const uint32_t before = __popc(alike & ((1u << lane) - 1));
    if (there && before == 0) first[warp][digit] = __popc(alike);
    __syncthreads();
    uint32_t at = next[t];
    for (int w = 0; w < kWarps; ++w) {
      const uint32_t count = first[w][t];
      first[w][t] = at;
      at += count;
    }
    next[t] = at;
    __syncthreads();
    if (there) {
      const uint32_t to = first[warp][digit] + before;
      keys_to[to] = key;
      places_to[to] = places == nullptr ? static_cast<int32_t>(i) : places[i];
    }
    __syncthreads();
  }
}

int64_t rounded(int64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

KeySort::KeySort(int64_t count, int64_t most) : count_(count) {
  require(count <= std::numeric_limits<int32_t>::max(),
          "at most 2^31 - 1 numbers are sorted on a GPU, but there are {}", count);
  const int bits = std::bit_width(static_cast<uint64_t>(most));
  passes_ = bits == 0 ? 1 : (bits + 7) / 8;
}

int64_t KeySort::blocks() const { return (count_ + kTile - 1) / kTile; }

int64_t KeySort::workspace() const {
  return 2 * rounded(count_ * 8) + 2 * rounded(count_ * 4) + rounded(blocks() * kDigits * 4) +
         rounded(kDigits * 4);
}

int64_t* KeySort::keys(void* workspace) const { return static_cast<int64_t*>(workspace); }

KeySort::Sorted KeySort::run(Stream stream, void* workspace) const {
  char* at = static_cast<char*>(workspace);
  const auto part = [&at](int64_t bytes) { return std::exchange(at, at + rounded(bytes)); };
  auto* from = reinterpret_cast<int64_t*>(part(count_ * 8));
  auto* to = reinterpret_cast<int64_t*>(part(count_ * 8));
  auto* places = reinterpret_cast<int32_t*>(part(count_ * 4));
  auto* places_to = reinterpret_cast<int32_t*>(part(count_ * 4));
  auto* counts = reinterpret_cast<uint32_t*>(part(blocks() * kDigits * 4));
  auto* totals = reinterpret_cast<uint32_t*>(part(kDigits * 4));
  const auto queue = static_cast<cudaStream_t>(stream.handle);
  const auto grid = static_cast<unsigned>(blocks());
  for (int pass = 0; pass < passes_ && count_ > 0; ++pass) {
    const int shift = 8 * pass;
    count_digits<<<grid, kThreads, 0, queue>>>(from, count_, shift, counts);
    sum_counts<<<kDigits, kThreads, 0, queue>>>(blocks(), counts, totals);
    scatter<<<grid, kThreads, 0, queue>>>(from, pass == 0 ? nullptr : places, count_, shift, counts,
                                          totals, to, places_to);
    std::swap(from, to);
    std::swap(places, places_to);
  }
  check(cudaGetLastError(), "sort {} numbers", count_);
  return {from, places};
}

}  // namespace flotilla::cuda
