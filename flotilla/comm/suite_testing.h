// flotilla/comm/suite_testing.h
//
// What every backend of comm must do, on ranks that are threads: instantiated by the test of each.
//
//   INSTANTIATE_TEST_SUITE_P(Threads, CommSuite, ::testing::Values(Maker{"threads",
//   make_threads}));

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/comm/world.h"

namespace flotilla::testing {

struct Maker {
  std::string name = {};
  std::function<std::vector<std::unique_ptr<comm::World>>(int size)> make = {};

  // On how many ranks it is tried.
  std::vector<int> sizes = {2, 3, 5};
  // The host of a rank. Where there are several, a sum runs inside of each host first.
  std::function<int(int rank)> host = [](int) { return 0; };
};

inline void PrintTo(const Maker& maker, std::ostream* out) { *out << maker.name; }

class CommSuite : public ::testing::TestWithParam<Maker> {
 protected:
  // Runs `body` on as many ranks as the maker says.
  void on_ranks(const std::function<void(comm::World&)>& body) const;
  // The sum of element(r, i) over all ranks, in the order in which it is made.
  float sum_at(int size, int64_t i) const;
};

}  // namespace flotilla::testing
