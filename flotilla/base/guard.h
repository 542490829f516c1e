// flotilla/base/guard.h
//
// Memory that nobody may touch: the address sanitizer, where it is compiled in, then reports
// whoever does. Elsewhere of no effect.

#pragma once

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define FLT_GUARDS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FLT_GUARDS 1
#endif
#endif
#ifdef FLT_GUARDS
#include <sanitizer/asan_interface.h>
#endif

namespace flotilla {

inline void guard([[maybe_unused]] const void* data, [[maybe_unused]] int64_t bytes) {
#ifdef FLT_GUARDS
  if (bytes > 0) __asan_poison_memory_region(data, static_cast<size_t>(bytes));
#endif
}

inline void unguard([[maybe_unused]] const void* data, [[maybe_unused]] int64_t bytes) {
#ifdef FLT_GUARDS
  if (bytes > 0) __asan_unpoison_memory_region(data, static_cast<size_t>(bytes));
#endif
}

}  // namespace flotilla
