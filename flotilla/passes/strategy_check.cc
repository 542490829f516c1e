#include "flotilla/passes/strategy_check.h"

#include "flotilla/base/error.h"
#include "flotilla/passes/strategy.pb.h"

namespace flotilla::passes {
namespace {

void refuse_if(bool both, std::string_view a, std::string_view b) {
  require(!both, "strategy.{} and strategy.{} cannot both be on", a, b);
}

}  // namespace

void check_at_least_one(std::string_view name, int64_t value) {
  require(value >= 1, "strategy.{} must be 1 or more, but is {}", name, value);
}

void refuse_both(const DistributedStrategy& strategy, std::string_view a, std::string_view b) {
  refuse_if(strategy.get(a) == Setting(true) && strategy.get(b) == Setting(true), a, b);
}

void refuse_with_samples(const DistributedStrategy& strategy, std::string_view name) {
  const bool by_samples = strategy.message().gradient_scale_configs().scale_strategy() == "samples";
  refuse_if(strategy.get(name) == Setting(true) && by_samples, name,
            R"(gradient_scale_configs["scale_strategy"] = "samples")");
}

}  // namespace flotilla::passes
