#include "flotilla/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "flotilla/base/env.h"

namespace flotilla::log {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> made = [] {
    auto l = std::make_shared<spdlog::logger>("flotilla",
                                              std::make_shared<spdlog::sinks::stderr_sink_mt>());
    l->set_pattern("%^%L%$ %Y-%m-%d %H:%M:%S.%e] %v");
    l->set_level(spdlog::level::from_str(env::text_or("FLT_LOG_LEVEL", "info")));
    return l;
  }();
  return *made;
}

}  // namespace

void write_info(std::string_view text) { logger().info("{}", text); }
void write_warning(std::string_view text) { logger().warn("{}", text); }

}  // namespace flotilla::log
