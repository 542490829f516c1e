// flotilla/base/env.h
//
// The only file that reads the environment. Every variable that Flotilla knows is a row of
// known_variables(), which `flotilla env` prints.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla::env {

struct Known {
  std::string_view name = {};
  std::string_view doc = {};
};

const std::vector<Known>& known_variables();

// Whether `name` is set, maybe to nothing.
bool is_set(std::string_view name);
// The value of `name`, or nothing where it is unset or empty.
std::optional<std::string> text(std::string_view name);
std::string text_or(std::string_view name, std::string_view otherwise);
// Refuses a value that is not a whole number from `least` to `most`.
int64_t number_or(std::string_view name, int64_t otherwise, int64_t least, int64_t most);
// 1/0, true/false, on/off, yes/no.
bool flag_or(std::string_view name, bool otherwise);
// Comma-separated; blanks around entries are dropped.
std::vector<std::string> list(std::string_view name);

}  // namespace flotilla::env
