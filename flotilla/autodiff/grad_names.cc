#include "flotilla/autodiff/grad_names.h"

#include <fmt/format.h>

namespace flotilla::autodiff {
namespace {

// Marks are \x01<number>\x01, which no name of a variable holds. A rule may build the name of a
// temporary from one.
constexpr char kMark = '\x01';

}  // namespace

std::string GradNames::add_part(const std::string& var) {
  std::string mark = fmt::format("{}{}{}", kMark, names_.size(), kMark);
  names_.emplace_back();
  parts_[var].push_back(mark);
  return mark;
}

void GradNames::add_part(const std::string& var, const std::string& name) {
  parts_[var].push_back(name);
}

std::optional<std::string> GradNames::any_with_parts() const {
  if (parts_.empty()) return std::nullopt;
  return parts_.begin()->first;
}

std::vector<std::string> GradNames::take(const std::string& var) {
  auto node = parts_.extract(var);
  if (node.empty()) return {};
  std::vector<std::string> parts = std::move(node.mapped());
  const bool several = parts.size() > 1;
  for (const std::string& part : parts) {
    // One that had its name before counts, too.
    std::string name = several ? fmt::format("{}@RENAME@block{}@{}", base_name(var), block_.index(),
                                             counts_[var]++)
                               : base_name(var);
    if (part.front() == kMark) names_[std::stoul(part.substr(1))] = std::move(name);
  }
  return parts;
}

const std::string& GradNames::base_name(const std::string& var) {
  std::string& name = bases_[var];
  if (name.empty()) {
    name = grad_name(var);
    for (int n = 0; block_.find_var_recursive(name) != nullptr; ++n) {
      name = fmt::format("{}_{}", grad_name(var), n);
    }
  }
  return name;
}

std::string GradNames::name_of(const std::string& gradient) const {
  const size_t begin = gradient.find(kMark);
  if (begin == std::string::npos) return gradient;
  const size_t end = gradient.find(kMark, begin + 1);
  const std::string& name = names_[std::stoul(gradient.substr(begin + 1, end - begin - 1))];
  return gradient.substr(0, begin) + name + gradient.substr(end + 1);
}

Slots GradNames::named(const Slots& slots) const {
  Slots out = slots;
  for (auto& [slot, vars] : out) {
    for (std::string& name : vars) name = name_of(name);
  }
  return out;
}

}  // namespace flotilla::autodiff
