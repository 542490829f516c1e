#include "flotilla/device/cpu/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/thread.h"

#ifdef FLT_TSAN
// From the libgomp that oneDNN brings along.
extern "C" __attribute__((weak)) void omp_set_num_threads(int);
#else
#include <omp.h>
#endif

namespace flotilla {
namespace {

constexpr int64_t kMostThreads = 4096;

// 0 until somebody asks.
std::atomic<int> count_of_threads = 0;
thread_local bool inside_a_loop = false;

// The threads of a loop do not live on in a process that is forked after it, where OpenMP would
// wait for them for ever: there loops run inline.
std::atomic<bool> loops_ran = false;
std::atomic<bool> threads_lost = false;
[[maybe_unused]] const int watching =
    pthread_atfork(nullptr, nullptr, [] { threads_lost = loops_ran.load(); });

thread_local int share_of_this_thread = 0;  // 0: all

int count_by_environment() {
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  // OpenMP allows a list, one number for each level of nesting; the first is ours.
  int64_t wanted = cores;
  if (const auto text = env::text("OMP_NUM_THREADS")) {
    const int64_t first = std::atoll(text->c_str());
    if (first > 0) wanted = std::min(first, kMostThreads);
  }
  return static_cast<int>(env::number_or("FLT_THREADS", wanted, 1, kMostThreads));
}

// One range of a loop; what it throws is kept for the caller.
struct Range {
  int64_t begin = 0, end = 0;
  std::exception_ptr thrown = nullptr;

  void run(parallel_detail::Body body, void* function) noexcept {
    inside_a_loop = true;
    try {
      body(function, begin, end);
    } catch (...) {
      thrown = std::current_exception();
    }
    inside_a_loop = false;
  }
};

}  // namespace

int threads() {
  if (share_of_this_thread > 0) return share_of_this_thread;
  int count = count_of_threads.load(std::memory_order_relaxed);
  if (count == 0) {
    count = count_by_environment();
    count_of_threads.store(count, std::memory_order_relaxed);
  }
  return count;
}

void set_threads(int count) {
  require(count > 0 && count <= kMostThreads, "threads must be a number from 1 to {}, but is {}",
          kMostThreads, count);
  count_of_threads.store(count, std::memory_order_relaxed);
}

ThreadShare::ThreadShare(int count) : before_(share_of_this_thread) {
  require(count > 0, "a thread's share must be a positive number of threads, but is {}", count);
  share_of_this_thread = count;
}

ThreadShare::~ThreadShare() { share_of_this_thread = before_; }

namespace parallel_detail {
namespace {

// OpenMP would end the process.
void check_threads_once(int count) {
  static std::once_flag once;
  std::call_once(once, [&] { require_threads(count - 1, "compute"); });
}

}  // namespace

int ranges_of(int64_t n, int64_t grain) {
  if (inside_a_loop || n < 2 * grain || threads_lost.load(std::memory_order_relaxed)) return 1;
  return static_cast<int>(std::min<int64_t>(threads(), n / std::max<int64_t>(1, grain)));
}

void run(int64_t n, int ranges, Body body, void* function) {
  check_threads_once(std::max(ranges, threads()));  // later loops may be longer
  loops_ran.store(true, std::memory_order_relaxed);
  // The first n % ranges ranges are one longer.
  const int64_t length = n / ranges, longer = n % ranges;
  constexpr int kOnStack = 64;
  Range on_stack[kOnStack];
  std::vector<Range> on_heap(ranges > kOnStack ? static_cast<size_t>(ranges) : 0);
  Range* parts = ranges > kOnStack ? on_heap.data() : on_stack;
  for (int r = 0; r < ranges; ++r) {
    parts[r].begin = r * length + std::min<int64_t>(r, longer);
    parts[r].end = parts[r].begin + length + (r < longer ? 1 : 0);
  }
#ifdef FLT_TSAN
  std::vector<std::jthread> others;
  for (int r = 1; r < ranges; ++r) others.emplace_back([=] { parts[r].run(body, function); });
  parts[0].run(body, function);
  others.clear();
#else
  // schedule(static, 1) and not omp_get_thread_num(): OpenMP may give fewer threads than asked.
#pragma omp parallel for num_threads(ranges) schedule(static, 1)
  for (int r = 0; r < ranges; ++r) parts[r].run(body, function);
#endif
  for (int r = 0; r < ranges; ++r) {
    if (parts[r].thrown) std::rethrow_exception(parts[r].thrown);
  }
}

// OpenMP keeps the number for each calling thread, so setting it once in main would not do.
void use_in_libraries(int count) {
#ifdef FLT_TSAN
  // tsan would report every barrier of libgomp as a race.
  static_cast<void>(count);
  if (omp_set_num_threads != nullptr) omp_set_num_threads(1);
#else
  check_threads_once(count);
  if (omp_get_max_threads() != count) omp_set_num_threads(count);
#endif
}

}  // namespace parallel_detail
}  // namespace flotilla
