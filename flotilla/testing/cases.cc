#include "flotilla/testing/cases.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace flotilla {
namespace {

std::string line_of(std::string_view what, const NamedTensor& named) {
  const Tensor tensor = named.tensor.plain();
  const auto list = [](const std::vector<int64_t>& numbers) {
    return numbers.empty() ? "-" : fmt::format("{}", fmt::join(numbers, ","));
  };
  std::string lod;
  for (const auto& level : tensor.lod()) lod += (lod.empty() ? "" : ";") + list(level);
  std::string line = fmt::format("{} {} {} {} {}", what, named.name, tensor.dtype(),
                                 list(tensor.shape().dims()), lod.empty() ? "-" : lod);
  visit_dtype(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    for (const T value : tensor.span<T>()) {
      line += std::is_floating_point_v<T> ? fmt::format(" {:.9g}", static_cast<double>(value))
                                          : fmt::format(" {}", static_cast<int64_t>(value));
    }
  });
  return line + "\n";
}

std::vector<int64_t> numbers_of(const std::string& text) {
  std::vector<int64_t> numbers;
  if (text == "-") return numbers;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) numbers.push_back(std::stoll(one));
  return numbers;
}

NamedTensor tensor_of(const std::string& line) {
  std::istringstream in(line);
  std::string what, name, dtype, extents, lod;
  in >> what >> name >> dtype >> extents >> lod;
  NamedTensor made{name, Tensor(parse_dtype(dtype), Shape(numbers_of(extents)))};
  visit_dtype(made.tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    for (T& element : made.tensor.span<T>()) {
      std::string value;
      require(static_cast<bool>(in >> value), "too few elements: {}", line);
      element = std::is_floating_point_v<T> ? static_cast<T>(std::strtod(value.c_str(), nullptr))
                                            : static_cast<T>(std::stoll(value));
    }
  });
  LoD levels;
  std::istringstream parts(lod == "-" ? "" : lod);
  for (std::string one; std::getline(parts, one, ';');) levels.push_back(numbers_of(one));
  made.tensor.set_lod(std::move(levels));
  return made;
}

}  // namespace

std::string to_text(const Case& c) {
  std::string text = "case\n" + c.program;
  for (const NamedTensor& feed : c.feeds) text += line_of("feed", feed);
  for (const NamedTensor& state : c.states) text += line_of("state", state);
  text += "fetch";
  for (const std::string& name : c.fetches) text += " " + name;
  return text + "\nend\n";
}

std::vector<Case> parse_cases(std::string_view text) {
  std::vector<Case> cases;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line == "case") {
      cases.emplace_back();
      continue;
    }
    require(!cases.empty(), "a case begins with \"case\", not with \"{}\"", line);
    Case& c = cases.back();
    if (line.starts_with("feed ")) {
      c.feeds.push_back(tensor_of(line));
    } else if (line.starts_with("state ")) {
      c.states.push_back(tensor_of(line));
    } else if (line == "fetch" || line.starts_with("fetch ")) {
      std::istringstream names(line.substr(5));
      for (std::string name; names >> name;) c.fetches.push_back(name);
    } else if (line != "end") {
      c.program += line + "\n";
    }
  }
  return cases;
}

}  // namespace flotilla
