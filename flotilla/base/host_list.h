// flotilla/base/host_list.h
//
// Lists of machines in the short form of Slurm:
//
//   list  := entry ("," entry)*
//   entry := (name | "[" range ("," range)* "]")+     node[01-03,7], rack[1-2]n[1-8]
//   range := number ["-" number]                      as wide as the first is written

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flotilla {

// "n[1-3,7],m[08-10]b" gives n1 n2 n3 n7 m08b m09b m10b. `source` is what a refusal blames.
std::vector<std::string> expand_hosts(std::string_view text, const std::string& source);

}  // namespace flotilla
