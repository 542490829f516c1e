// flotilla/base/log.h
//
// What the core says to the user goes to stderr through these, at the level that FLT_LOG_LEVEL
// sets.

#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace flotilla::log {

void write_info(std::string_view text);
void write_warning(std::string_view text);

template <typename... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  write_info(fmt::format(text, std::forward<Args>(args)...));
}

template <typename... Args>
void warning(fmt::format_string<Args...> text, Args&&... args) {
  write_warning(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace flotilla::log
