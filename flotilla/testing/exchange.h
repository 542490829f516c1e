// flotilla/testing/exchange.h
//
// Members of a group as threads of one process, for tests of what works over an Exchange.
//
//   ThreadGroup group(3);
//   group.run([](Exchange& exchange) { EXPECT_EQ(sum_of(exchange, 2), 6); });

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/exchange.h"

namespace flotilla {

class ThreadGroup {
 public:
  explicit ThreadGroup(int64_t size);
  ~ThreadGroup();

  // Calls f in a thread for each member and waits for all. A member that throws aborts the group;
  // the error of the lowest rank that did not merely hear of it is thrown.
  void run(const std::function<void(Exchange&)>& f);

 private:
  struct Table;
  class Member;
  std::shared_ptr<Table> table_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace flotilla
