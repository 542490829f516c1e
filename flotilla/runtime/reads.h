// flotilla/runtime/reads.h
//
// Programs that read from loaders: what their `read` ops take before a run.

#pragma once

#include <string>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/ps/worker.h"
#include "flotilla/runtime/scope.h"

namespace flotilla {

struct Feed;

// One `read` op.
struct Read {
  std::string reader = {};                // as create_py_reader names it
  std::vector<std::string> outputs = {};  // the variables that it writes
};

// Of the global block, in order.
std::vector<Read> reads_of(const Program& program);

// Takes a batch for each read and appends it to `feeds`; one whose outputs are all fed is left
// alone. Throws data::EndOfPass at the end of a pass.
void take_batches(const std::vector<Read>& reads, Scope& scope, std::vector<Feed>& feeds);

// What take_batches() would append next, as far as the loaders have it already.
std::vector<Feed> coming_batches(const std::vector<Read>& reads, Scope& scope);

// Tells servers which ids the step after this one brings: they send those rows with their answer to
// this one. `now` is what this step is fed.
void announce_rows(ps::Worker& servers, const std::vector<Feed>& now,
                   const std::vector<Feed>& next);

// A feed of a variable of the program that stands for a batch which is not there: zeros, of one
// sample where the number is not known.
Feed blank_feed(const Program& program, const std::string& name);
// `feeds`, and a blank one for each variable that is read and not fed.
std::vector<Feed> blank_batch(const Program& program, const std::vector<Read>& reads,
                              const std::vector<Feed>& feeds);

}  // namespace flotilla
