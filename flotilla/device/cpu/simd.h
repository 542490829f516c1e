// flotilla/device/cpu/simd.h
//
// How a loop of our own gets the vector instructions of the machine it runs on, while the library
// is compiled for any x86-64:
//
//     parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
//       simd([=] {
//         for (int64_t i = begin; i < end; ++i) y[i] = fast_tanh(x[i]);
//       });
//     });
//
// The body is compiled three times, for AVX-512, for AVX2 and for the oldest CPU, and isa() picks
// one (but for clang, which builds only the fuzzers). Everything it calls must be visible and is
// inlined; a call that is not is made as usual and stays slow. The call costs about 2 ns, so a body
// should hold a whole loop. Write plain loops over pointers that do not overlap (FLT_RESTRICT tells
// the compiler so) and leave vectors to -O3.
//
// Bits: the vector width changes the order of a sum, so a loop that adds up should keep a fixed
// number of partial sums. Element-wise results depend only on the element, not on its place, but
// AVX2 and later fuse multiply-adds, so that they differ in the last bit from older CPUs.

#pragma once

#include "flotilla/device/cpu/isa.h"

#define FLT_RESTRICT __restrict__

// Inlined whatever the compiler thinks of it: for small functions that such a loop calls.
#define FLT_INLINE [[gnu::always_inline]] inline

namespace flotilla {
namespace simd_detail {

#if defined(__x86_64__) && !defined(__clang__)

template <typename Body>
[[gnu::target("arch=x86-64-v4,prefer-vector-width=512"), gnu::flatten, gnu::noinline]] void
run_avx512(Body& body) {
  body();
}

template <typename Body>
[[gnu::target("arch=x86-64-v3"), gnu::flatten, gnu::noinline]] void run_avx2(Body& body) {
  body();
}

#endif

}  // namespace simd_detail

template <typename Body>
void simd(Body&& body) {
#if defined(__x86_64__) && !defined(__clang__)
  const Isa have = isa();
  if (have >= Isa::kAvx512) return simd_detail::run_avx512(body);
  if (have >= Isa::kAvx2) return simd_detail::run_avx2(body);
#endif
  body();
}

}  // namespace flotilla
