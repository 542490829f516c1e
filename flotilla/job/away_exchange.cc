#include "flotilla/job/away_exchange.h"

#include <utility>

namespace flotilla::job {

std::vector<std::string> AwayExchange::while_away(const Call& call) {
  std::vector<std::string> result;
  worker_.while_away([&](const WorkerMeeting::AllCame& come_back) {
    Exchange& others = meet_();
    result = call(others);
    come_back();
    others.all_gather({});  // all have come back
  });
  return result;
}

std::vector<std::string> AwayExchange::all_gather(std::string bytes) {
  return while_away([&](Exchange& others) { return others.all_gather(std::move(bytes)); });
}

std::vector<std::string> AwayExchange::all_to_all(std::vector<std::string> parcels) {
  return while_away([&](Exchange& others) { return others.all_to_all(std::move(parcels)); });
}

}  // namespace flotilla::job
