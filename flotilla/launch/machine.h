// flotilla/launch/machine.h
//
// What the launcher knows of the machine it runs on. A value, so that tests can make one up.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flotilla::launch {

struct Machine {
  int64_t cores = 1;
  int64_t gpus = 0;
  // What CUDA_VISIBLE_DEVICES lists; nothing: it is not set.
  std::optional<std::vector<std::string>> visible_gpus = {};
  std::vector<std::string> addresses = {"127.0.0.1"};  // and host names
  std::string python = "python3";

  // Whether `host` is one of its addresses or names.
  bool is(const std::string& host) const;
};

// `program` is the launcher as it was called, argv[0].
Machine this_machine(const std::string& program);

// The address of this machine from which connections to `host` come; refuses a host that cannot be
// resolved or reached from here.
std::string address_towards(const std::string& host);

}  // namespace flotilla::launch
