#include "flotilla/testing/rank_ops.h"

#include "flotilla/device/cpu/parallel.h"

namespace flotilla::testing {

std::vector<OpResult> on_ranks(int size, const std::function<Inputs(int rank)>& inputs,
                               const std::string& type, const Attrs& attrs,
                               const OpOptions& options) {
  std::vector<OpResult> results(static_cast<size_t>(size));
  run_ranks(size, [&](comm::World& world) {
    const ThreadShare one(1);
    const BuiltOp built = build_op(type, inputs(world.rank()), attrs, options);
    Executor executor({.world = &world});
    Scope scope;
    std::vector<FetchedValue> values =
        executor.run(*built.program, built.feeds, built.output_names(), scope);
    size_t next = 0;
    for (const auto& [slot, vars] : built.op().outputs()) {
      for (size_t i = 0; i < vars.size(); ++i) {
        results[static_cast<size_t>(world.rank())].slots[slot].push_back(dense(values[next++]));
      }
    }
  });
  return results;
}

}  // namespace flotilla::testing
