// flotilla/base/endpoint.h
//
// Lists and places as command lines and environment variables spell them:
//
//   list     := entry ("," entry)*             blanks around entries do not count
//   endpoint := host ":" port                  10.0.0.1:6170, node-2:6170, [fe80::1]:6170

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flotilla {

struct Endpoint {
  std::string host = {};
  int64_t port = 0;  // 0: not said

  std::string text() const;
};

// The entries, also empty ones; none where `text` is blank.
std::vector<std::string> split_list(std::string_view text);

// Nothing where `text` is not an endpoint with a port from 1 to 65535.
std::optional<Endpoint> find_endpoint(std::string_view text);

// The host of an endpoint; `text` itself where it has no port.
std::string host_of(std::string_view text);

}  // namespace flotilla
