#include "flotilla/base/log.h"

#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <mutex>

#include "flotilla/base/env.h"

namespace flotilla::log {
namespace {

// A reader that has stopped, and left a full pipe, holds up the work once and for a moment; what it
// does not read is lost.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    std::string_view rest(text.data(), text.size());
    while (!rest.empty()) {
      pollfd ready = {STDERR_FILENO, POLLOUT, 0};
      const int found = ::poll(&ready, 1, patience_);
      if (found < 0 && errno == EINTR) continue;
      if (found == 0) {
        patience_ = 0;
        return;
      }
      // What a pipe that is ready takes at once.
      const ssize_t written =
          ::write(STDERR_FILENO, rest.data(), std::min<size_t>(rest.size(), PIPE_BUF));
      if (written < 0 && errno != EINTR && errno != EAGAIN) return;
      if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
    }
    patience_ = kPatienceMs;
  }
  void flush_() override {}

  static constexpr int kPatienceMs = 1000;
  int patience_ = kPatienceMs;
};

// Those below info exist for the sake of scripts that set them: there is nothing more to say.
constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warn", "error", "off"};

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> made = [] {
    auto l = std::make_shared<spdlog::logger>("flotilla", std::make_shared<StderrSink>());
    l->set_pattern("%^%L%$ %Y-%m-%d %H:%M:%S.%e] %v");
    const std::string level = env::text_or("FLT_LOG_LEVEL", "info");
    const bool known = std::ranges::find(kLevels, level) != std::end(kLevels);
    l->set_level(known ? spdlog::level::from_str(level) : spdlog::level::info);
    if (!known) l->warn("FLT_LOG_LEVEL must be info, warn, error or off, but is \"{}\"", level);
    return l;
  }();
  return *made;
}

}  // namespace

void write_info(std::string_view text) { logger().info("{}", text); }
void write_warning(std::string_view text) { logger().warn("{}", text); }

}  // namespace flotilla::log
