#include "flotilla/base/thread.h"

#include <sys/resource.h>

#include <latch>
#include <vector>

#include "flotilla/base/error.h"

namespace flotilla {
namespace {

std::string limit_of(__rlimit_resource what, rlim_t unit) {
  rlimit limit = {};
  if (getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return fmt::format("{}", limit.rlim_cur / unit);
}

[[noreturn]] void refuse_threads(const std::string& which, const std::system_error& error) {
  throw Error(ErrorKind::kUnavailable,
              fmt::format("cannot start {}: {}. {}; the container may have a limit of its own. "
                          "Raise the limit, or start fewer processes or threads (FLT_THREADS)",
                          which, error.code().message(), thread_limits()));
}

}  // namespace

std::string thread_limits() {
  return fmt::format(
      "`ulimit -u` (processes and threads of this user) is {} and `ulimit -v` (KiB of address "
      "space) is {}",
      limit_of(RLIMIT_NPROC, 1), limit_of(RLIMIT_AS, 1024));
}

void refuse_thread(std::string_view does, const std::system_error& error) {
  refuse_threads(fmt::format("the thread that {}", does), error);
}

void require_threads(int count, std::string_view does) {
  std::latch all_there(1);
  std::vector<std::jthread> made;  // joined before the latch goes
  try {
    for (int i = 0; i < count; ++i) made.emplace_back([&] { all_there.wait(); });
  } catch (const std::system_error& error) {
    all_there.count_down();
    refuse_threads(fmt::format("more than {} of the {} threads that {}", made.size(), count, does),
                   error);
  }
  all_there.count_down();
}

}  // namespace flotilla
