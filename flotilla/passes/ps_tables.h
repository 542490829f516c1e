// flotilla/passes/ps_tables.h
//
// Which tables a program needs on parameter servers: plain values, read from its updates.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::passes {

// How an element starts: "constant" (a), "uniform" (from a to b), "normal" or "truncated_normal"
// (mean a, standard deviation b).
struct FirstValue {
  std::string kind = "constant";
  float a = 0;
  float b = 0;
  int64_t seed = 0;

  bool operator==(const FirstValue&) const = default;
};

struct ServerTable {
  int64_t id = 0;
  // Sparse: the parameter's name. Dense: that of the first parameter.
  std::string name = {};
  bool sparse = false;
  // Sparse: one. Dense: those that are updated alike, flattened one behind the other; one where the
  // rule is layerwise.
  std::vector<std::string> params = {};
  // What the updates read, one for each; of a sparse table nothing.
  std::vector<std::string> gradients = {};
  // Sparse: floats of a row, and rows as the program declares them. Dense: floats of all.
  int64_t width = 0;
  int64_t rows = 0;

  // The type of the update, and the numbers that it takes.
  std::string rule = {};
  std::map<std::string, float> numbers = {};
  float l1 = 0;
  float l2 = 0;
  // The variable of the worker that holds it, step by step.
  std::string learning_rate = {};

  // Sparse only: workers draw dense parameters themselves.
  FirstValue first = {};
  std::string entry = {};  // which ids get a row, as sparse_embedding names it; "" or "none": all

  bool operator==(const ServerTable&) const = default;
};

enum class Updater {
  kServers,
  kWorkers,  // servers only add up: rules, decay and first values say nothing
};

// Dense tables first. Where servers update, refuses an update that they have no rule for, and a
// sparse table that anything but lookups uses. A table that is looked up but never updated stays
// with the worker.
std::vector<ServerTable> find_tables(const Program& main, const Program& startup, Updater updater);

// The updates of parameters.
bool is_update(const Op& op);

// How a sparse table's gradient comes to its update.
struct RowGradient {
  // The positions of the ops that only serve the update: gradients of lookups, their sum, decay,
  // the update itself. Ascending.
  std::vector<size_t> ops = {};
  // Those of them that are gradients of lookups.
  std::vector<size_t> lookups = {};
  // Sparse rows that other ops make (clipped ones), and leave to the update.
  std::vector<std::string> rows = {};
};
RowGradient find_row_gradient(const Block& block, const ServerTable& table);

// lookup_table and lookup_table_v2.
bool is_lookup(const Op& op);
bool is_lookup_grad(const Op& op);

}  // namespace flotilla::passes
