// flotilla/update/clones.h
//
// Compiles a loop several times, for processors with AVX-512, with AVX2, and for any; the loader
// picks one. Put it on a function that takes plain pointers and whose body is a vectorizable loop.
//
// Sanitizers and clang do without: the former cannot run in a resolver, the latter builds fuzzers.

#pragma once

#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define FLT_UPDATE_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FLT_UPDATE_CLONES
#endif

// For the body itself: it must become part of each clone.
#define FLT_UPDATE_BODY [[gnu::always_inline]] inline
