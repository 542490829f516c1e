// flotilla/device/cpu/parallel.h
//
// Loops shared out to the threads of this process. The threads are OpenMP's, which oneDNN uses too,
// so that the two never run side by side; std::thread under tsan, which cannot see into libgomp.
//
// A loop is cut into at most threads() contiguous ranges, decided by its length alone: the same
// number of threads gives the same cut, hence the same bits. A short loop, and a loop inside
// another, runs inline in the calling thread as one range; so does every loop of a process that was
// forked after one. An exception thrown by the body reaches the caller (the one of the first range,
// where several throw) once all ranges have ended.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace flotilla {

// Threads that a loop may use: FLT_THREADS, else OMP_NUM_THREADS, else the number of cores.
int threads();

// Changes threads() for the whole process. What was prepared before (device/cpu/onednn.h) keeps its
// number. REQUIRES: count > 0, no loop is running
void set_threads(int count);

// While it lives, threads() is another number in the calling thread: several threads that all run
// loops share the cores.
class ThreadShare {
 public:
  // REQUIRES: count > 0
  explicit ThreadShare(int count);
  ~ThreadShare();
  ThreadShare(const ThreadShare&) = delete;
  ThreadShare& operator=(const ThreadShare&) = delete;

 private:
  const int before_;
};

// What a thread should get at least, in simple operations; waking the others costs microseconds.
inline constexpr int64_t kGrainOperations = 16384;

namespace parallel_detail {

using Body = void (*)(void* function, int64_t begin, int64_t end);

// How many ranges a loop over n items is cut into: one where it is short or we are inside a loop.
int ranges_of(int64_t n, int64_t grain);
void run(int64_t n, int ranges, Body body, void* function);

// How many threads a library that brings its own OpenMP loops uses when the calling thread calls
// it.
void use_in_libraries(int count);

}  // namespace parallel_detail

// Calls f(begin, end) for contiguous ranges that cover [0, n). A range holds at least `grain` items
// unless it is the only one. f is not called where n is 0.
template <typename F>
void parallel_ranges(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  const int ranges = parallel_detail::ranges_of(n, grain);
  if (ranges == 1) {
    f(int64_t{0}, n);
    return;
  }
  using Function = std::remove_reference_t<F>;
  parallel_detail::run(
      n, ranges,
      [](void* function, int64_t begin, int64_t end) {
        (*static_cast<Function*>(function))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

// Calls f(i) for each i in [0, n). `cost`: simple operations of one call, roughly.
template <typename F>
void parallel_for(int64_t n, int64_t cost, F&& f) {
  const int64_t one = std::clamp<int64_t>(cost, 1, kGrainOperations);
  const int64_t grain = (kGrainOperations + one - 1) / one;
  parallel_ranges(n, grain, [&f](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

// For calls that cost about a thousand operations each: a row, a slice, a channel.
template <typename F>
void parallel_for(int64_t n, F&& f) {
  parallel_for(n, 1024, f);
}

}  // namespace flotilla
