// flotilla/passes/broadcast_parameters.cc
//
//                                      uniform_random() -> w
//     uniform_random() -> w            fill_constant() -> velocity
//     fill_constant() -> velocity ==>  c_gen_nccl_id() -> comm_id
//                                      c_comm_init(comm_id)
//                                      c_broadcast(w), c_broadcast(velocity)
//                                      c_sync_comm_stream(w, velocity)
//
// The ops that make the ring are there for Paddle, which needs them; here rings are made before any
// program runs.

#include "flotilla/passes/broadcast_parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "flotilla/passes/exchange.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

Names already_sent(const Block& block) {
  Names sent;
  for (const auto& op : block.ops()) {
    if (op->type() == "c_broadcast") sent.insert(op->output("Out"));
  }
  return sent;
}

// In the order in which they are first written.
std::vector<std::string> find_initialised(const Block& block) {
  Names seen = already_sent(block);
  std::vector<std::string> found;
  for (const auto& op : block.ops()) {
    for (const std::string& name : names_in(op->outputs())) {
      const Var* var = block.find_var(name);
      const bool is_state = var != nullptr && var->persistable && var->kind == VarKind::kTensor;
      if (is_state && seen.insert(name).second) found.push_back(name);
    }
  }
  return found;
}

void append_ring(Block& block, const BroadcastOptions& options) {
  const auto rank = static_cast<int32_t>(options.rank);
  const auto nranks = static_cast<int32_t>(options.nranks);
  std::vector<std::string> others = options.endpoints;
  std::string own;
  if (!others.empty()) {
    own = others[static_cast<size_t>(rank)];
    others.erase(others.begin() + rank);
  }
  const std::string id =
      block.add_var({.name = "comm_id_0", .kind = VarKind::kRaw, .persistable = true}).name;
  block.push_back(Op(
      "c_gen_nccl_id", {}, {{"Out", {id}}},
      {{"rank", rank}, {"endpoint", own}, {"other_endpoints", others}, {"ring_id", kWorldRing}}));
  block.push_back(Op("c_comm_init", {{"X", {id}}}, {},
                     {{"nranks", nranks},
                      {"rank", rank},
                      {"ring_id", kWorldRing},
                      {"endpoints", fmt::format("{}", fmt::join(options.endpoints, ","))}}));
}

}  // namespace

void broadcast_parameters(Program& startup, const BroadcastOptions& options) {
  require(0 <= options.rank && options.rank < options.nranks, "rank must lie in [0, {}), but is {}",
          options.nranks, options.rank);
  const auto known = static_cast<int64_t>(options.endpoints.size());
  require(known == 0 || known == options.nranks,
          "{} ranks need as many endpoints, but there are {}", options.nranks, known);
  Block& block = startup.global_block();
  const std::vector<std::string> vars = find_initialised(block);
  if (vars.empty()) return;
  if (block.count("c_comm_init") == 0) append_ring(block, options);
  for (const std::string& var : vars) {
    block.push_back(
        Op("c_broadcast", {{"X", {var}}}, {{"Out", {var}}},
           {{"ring_id", kWorldRing}, {"root", int32_t{0}}, {"use_calc_stream", false}}));
  }
  block.push_back(
      Op(std::string(kWaitForExchange), {{"X", vars}}, {{"Out", vars}}, {{"ring_id", kWorldRing}}));
}

void broadcast_parameters(PassContext& context) {
  const Ranks& ranks = context.ranks;
  broadcast_parameters(*context.startup,
                       {.rank = ranks.rank, .nranks = ranks.count, .endpoints = ranks.endpoints});
}

}  // namespace flotilla::passes
