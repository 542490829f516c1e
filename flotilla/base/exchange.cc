#include "flotilla/base/exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "flotilla/base/error.h"

namespace flotilla {

void Alone::check() {
  MutexLock lock(mutex_);
  if (!reason_.empty()) throw Error(ErrorKind::kUnavailable, reason_);
}

std::vector<std::string> Alone::all_gather(std::string bytes) {
  check();
  std::vector<std::string> gathered;
  gathered.push_back(std::move(bytes));
  return gathered;
}

std::vector<std::string> Alone::all_to_all(std::vector<std::string> parcels) {
  check();
  require(parcels.size() == 1, "a group of one process exchanges one value, but got {}",
          parcels.size());
  return parcels;
}

void Alone::abort(std::string reason) {
  MutexLock lock(mutex_);
  if (reason_.empty()) reason_ = reason.empty() ? "the exchange was aborted" : std::move(reason);
}

std::vector<int64_t> gather_numbers(Exchange& exchange, int64_t number) {
  // Processes of one job run on machines of one byte order.
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  std::vector<int64_t> numbers;
  for (const std::string& from : exchange.all_gather(std::move(bytes))) {
    require(from.size() == sizeof number,
            "member {} sent {} bytes where all others sent a number of {}: the members of a group "
            "must make the same calls in the same order",
            numbers.size(), from.size(), sizeof number);
    std::memcpy(&numbers.emplace_back(), from.data(), sizeof number);
  }
  return numbers;
}

int64_t sum_of(Exchange& exchange, int64_t number) {
  const std::vector<int64_t> numbers = gather_numbers(exchange, number);
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
}

bool all_of(Exchange& exchange, bool holds) {
  const std::vector<int64_t> numbers = gather_numbers(exchange, holds ? 1 : 0);
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t n) { return n != 0; });
}

}  // namespace flotilla
