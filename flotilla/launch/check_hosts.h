// flotilla/launch/check_hosts.h
//
// Whether the hosts of a job reach each other, before a job is started. The same command runs on
// every host; each dials every other one, and they tell each other what they found:
//
//   who dials                                who answers
//   "flotilla check", its name, its list ─►
//                                        ◄─  its name, its list
//   "ping"                               ─►                          five times; the fastest counts
//                                        ◄─  "ping"
//   "ways n", then n lines               ─►                          once all its own are known
//                                        ◄─  "ways n", then n lines
//
// A way is "from to seconds problem"; the problem is empty where it works. Lines end with \n.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flotilla::launch {

struct CheckHostsOptions {
  std::vector<std::string> hosts = {};
  int64_t self = 0;
  int64_t port = 6069;
  double seconds = 9;  // after which everyone says what is known
};

// From one host to another.
struct Way {
  std::string from = {};
  std::string to = {};
  double seconds = 0;        // of a round trip
  std::string problem = {};  // empty: it works
};

std::string text_of(const Way& way);
std::optional<Way> parse_way(const std::string& line);

struct CheckHostsReport {
  std::vector<Way> ways = {};           // between all hosts, in the order of the list
  std::vector<std::string> lists = {};  // a sentence for each host with another list

  bool ok() const;
};

// Takes at most `seconds` and a little more. Refuses a port that is taken.
CheckHostsReport check_hosts(const CheckHostsOptions& options);

// A line for every way, then what is wrong.
std::string text_of(const CheckHostsReport& report);

}  // namespace flotilla::launch
