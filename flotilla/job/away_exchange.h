// flotilla/job/away_exchange.h
//
// What workers of servers agree on, such as who gets which record: rounds of synchronous training
// go on without those who wait in it.
//
// Thread safety: as Exchange.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flotilla/base/exchange.h"
#include "flotilla/job/table_worker.h"

namespace flotilla::job {

class AwayExchange final : public Exchange {
 public:
  // `meet` waits until all workers are here, the first time. What it gives and `worker` outlive
  // this object.
  AwayExchange(TableWorker& worker, fleet::Role role, std::function<Exchange&()> meet)
      : worker_(worker), role_(std::move(role)), meet_(std::move(meet)) {}

  int64_t rank() const override { return role_.index; }
  int64_t size() const override { return role_.workers; }
  std::vector<std::string> all_gather(std::string bytes) override;
  std::vector<std::string> all_to_all(std::vector<std::string> parcels) override;
  void abort(std::string reason) override { meet_().abort(std::move(reason)); }

 private:
  using Call = std::function<std::vector<std::string>(Exchange&)>;
  std::vector<std::string> while_away(const Call& call);

  TableWorker& worker_;
  const fleet::Role role_;
  const std::function<Exchange&()> meet_;
};

}  // namespace flotilla::job
