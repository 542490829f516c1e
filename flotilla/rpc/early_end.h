// flotilla/rpc/early_end.h
//
// A worker that ends while another one waits for it: the one that waits says so, and the launcher
// finds the sentence in its output, so that it names the one that ended and not the one that
// waited.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flotilla::rpc {

// "ended after 10 steps"; what a worker leaves in the store when it goes.
std::string ended_after(bool failed, int64_t steps);

// "worker 0 ended after 10 steps while worker 1 was in step 11". `how` is what worker `who` left.
std::string early_end(int64_t who, std::string_view how, std::string_view waiting);

// The sentence of early_end() in a line of output, up to what to do about it; "": it is not there.
std::string_view find_early_end(std::string_view line);

// The rank that a call waited for and lost, which left no word: 0 for a line of output with
// "all_reduce of rank 1 was ended: rank 0 of this host has closed its connection".
std::optional<int64_t> find_lost_rank(std::string_view line);

}  // namespace flotilla::rpc
