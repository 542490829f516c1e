#include "flotilla/ir/unique_name.h"

#include <fmt/format.h>

#include <utility>

namespace flotilla {

std::string UniqueNames::generate(std::string_view key) {
  auto counter = next_.find(key);
  if (counter == next_.end()) counter = next_.emplace(std::string(key), 0).first;
  return fmt::format("{}{}_{}", prefix_, key, counter->second++);
}

UniqueNames UniqueNames::switch_to(UniqueNames next) {
  return std::exchange(*this, std::move(next));
}

}  // namespace flotilla
