// flotilla/data/image/vectors.h
//
// Loops over pixels with the vector instructions of the machine they run on, while the library is
// compiled for any x86-64. The body is compiled twice and must be visible: everything it calls is
// inlined.

#pragma once

#include <cstdint>

#define FLT_IMAGE_INLINE [[gnu::always_inline]] inline

namespace flotilla::data {
namespace vectors_detail {

#if defined(__x86_64__) && !defined(__clang__)

template <typename Body>
[[gnu::target("arch=x86-64-v3"), gnu::flatten, gnu::noinline]] void run_avx2(Body& body) {
  body();
}

inline bool have_avx2() {
  static const bool have = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return have;
}

#endif

}  // namespace vectors_detail

template <typename Body>
void vectorized(Body&& body) {
#if defined(__x86_64__) && !defined(__clang__)
  if (vectors_detail::have_avx2()) return vectors_detail::run_avx2(body);
#endif
  body();
}

}  // namespace flotilla::data
