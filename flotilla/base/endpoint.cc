#include "flotilla/base/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace flotilla {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

std::string Endpoint::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> entries;
  if (trimmed(text).empty()) return entries;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    entries.emplace_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return entries;
}

std::optional<Endpoint> find_endpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return std::nullopt;  // an IPv6 address without brackets: nobody knows where its port begins
  }
  int64_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || stop != end || port < 1 || port > 65535 || host.empty()) {
    return std::nullopt;
  }
  return Endpoint{std::string(host), port};
}

std::string host_of(std::string_view text) {
  const std::optional<Endpoint> endpoint = find_endpoint(text);
  return endpoint ? endpoint->host : std::string(text);
}

}  // namespace flotilla
