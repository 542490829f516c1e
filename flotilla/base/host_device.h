// flotilla/base/host_device.h
//
// FLT_FN stands before a small function that both a C++ and a CUDA compiler read: inlined
// everywhere, and code for both sides where the compiler knows two. Such a function calls others of
// its kind and functions of <cmath>, nothing else of the library.

#pragma once

#ifdef __CUDACC__
#define FLT_FN __host__ __device__ __forceinline__
#else
#define FLT_FN [[gnu::always_inline]] inline
#endif
