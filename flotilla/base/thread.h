// flotilla/base/thread.h
//
// How threads are made: one that the system refuses is a sentence with the limits that it met.

#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace flotilla {

// Throws Unavailable: "cannot start the thread that {does}: ...".
[[noreturn]] void refuse_thread(std::string_view does, const std::system_error& error);

// `does` completes "the thread that ...".
template <typename Thread = std::jthread, typename F>
Thread start_thread(std::string_view does, F&& f) {
  try {
    return Thread(std::forward<F>(f));
  } catch (const std::system_error& error) {
    refuse_thread(does, error);
  }
}

// Throws Unavailable unless so many more threads can be started now. For those that are started
// together, or by a library that would go on without them: which of them are missing is hard to
// say later.
void require_threads(int count, std::string_view does);

// "`ulimit -u` (processes and threads of this user) is 100 and `ulimit -v` (KiB of address space)
// is unlimited": what a refusal of the system may come from.
std::string thread_limits();

}  // namespace flotilla
