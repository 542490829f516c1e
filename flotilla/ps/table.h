// flotilla/ps/table.h
//
// What a table is: a plain value that workers send, servers create tables by, and snapshots keep.
//
// Its text is one line (what has its default is left out):
//
//   table    := "table" id name kind "width=" n field*
//   kind     := "sparse" | "dense"
//   field    := " rule=" name ["(" parameter "=" number {"," parameter "=" number} ")"]
//             | " l1=" number | " l2=" number
//             | " init=" name "(" number ["," number] ")"
//             | " seed=" n | " stream=" n
//             | " admit=" ("count" | "probability") "(" number ")"
//             | " scores=" ("true" | "false")
//             | " memory=" n
//   name     := letters, digits and any of _ . @ - /, but no blank
//
//   table 3 emb sparse width=10 rule=adam(beta1=0.9) init=uniform(-0.01, 0.01) seed=7

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace flotilla::ps {

// How a gradient changes a parameter: a name that update/ knows and what the rule takes.
struct RuleSpec {
  std::string name = "sgd";
  std::map<std::string, float> parameters = {};

  bool operator==(const RuleSpec&) const = default;
};

// The first value of a row. Initializers that look at a parameter's shape (Xavier, MSRA) end as one
// of these in the startup program.
struct Initial {
  enum Kind { kConstant, kUniform, kNormal, kTruncatedNormal };
  Kind kind = kConstant;
  float a = 0;  // constant: value; uniform: low; normal: mean
  float b = 0;  // uniform: high; normal: standard deviation

  bool operator==(const Initial&) const = default;
};

// When a key that was never seen gets a row. Until then it reads as zeros, and its gradients are
// counted and dropped.
struct Admission {
  enum Kind { kAll, kCount, kProbability };
  Kind kind = kAll;
  double value = 0;  // count: appearances it takes; probability: chance of each appearance

  bool operator==(const Admission&) const = default;
};

struct TableSpec {
  enum Kind { kSparse, kDense };

  uint32_t id = 0;
  std::string name = {};
  Kind kind = kSparse;
  // Sparse: floats of a row as workers see it. Dense: floats of the whole table, on all servers.
  int64_t width = 0;
  RuleSpec rule = {};
  float l1 = 0;  // decay, added to the gradients of the rows that have one
  float l2 = 0;
  Initial initial = {};
  // The random stream that first values are drawn from: a RandomStream's seed and offset.
  uint64_t seed = 0;
  uint64_t stream = 0;
  Admission admission = {};
  // Whether rows count how often they are pushed to, for a shrink by score. Costs 4 bytes a row.
  bool scores = false;
  // How many rows a server keeps in memory; those not used for longest go to its disk. 0: all.
  int64_t memory = 0;

  bool operator==(const TableSpec&) const = default;
};

// print(parse(text)) == text for every text that print() makes.
std::string print(const TableSpec& table);
// Refuses a text that is no table, or a table that cannot be.
TableSpec parse_table(std::string_view text);
// Refuses a width, a rule, a parameter or a chance that cannot be.
void check_table(const TableSpec& table);

// ---- Where a key lives --------------------------------------------------------------------------

// Keys are cut into this many shards whatever the number of servers and threads, so any number of
// either can take over a table.
inline constexpr int kShards = 256;

// SplitMix64's finalizer (Steele, Lea, Flood, 2014): a bijection that spreads near keys.
inline uint64_t hash_of(int64_t key) {
  uint64_t x = static_cast<uint64_t>(key) + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
inline int shard_of_hash(uint64_t hash) { return static_cast<int>(hash >> 56); }
inline int shard_of(int64_t key) { return shard_of_hash(hash_of(key)); }

// One of the servers that share the tables.
struct Share {
  int server = 0;
  int servers = 1;

  bool holds(int shard) const { return shard % servers == server; }
  static int server_of(int shard, int servers) { return shard % servers; }
  bool operator==(const Share&) const = default;
};

// The floats of a dense table that `share` holds.
struct Slice {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const Slice&) const = default;
};
// Equal parts in the order of the servers, in whole cache lines.
Slice slice_of(int64_t width, const Share& share);
// The same, or all of it on one server, where the rule needs the norm of the whole.
Slice slice_of(const TableSpec& table, const Share& share);

}  // namespace flotilla::ps
