// flotilla/ir/unique_name.h
//
// Fresh names for layers, parameters and variables: fc_0, fc_1, ... one counter for each key. Two
// programs built in the same order from fresh counters get the same names, which is how a training
// and a test program come to share parameters.
//
// Thread safety: none.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace flotilla {

class UniqueNames {
 public:
  UniqueNames() = default;
  // Every name begins with `prefix`.
  explicit UniqueNames(std::string prefix) : prefix_(std::move(prefix)) {}

  // <prefix><key>_<n>
  std::string generate(std::string_view key);

  // Goes on with the counters and prefix of `next`; gives back those that were in use.
  UniqueNames switch_to(UniqueNames next);

 private:
  std::string prefix_;
  std::map<std::string, int64_t, std::less<>> next_;
};

}  // namespace flotilla
