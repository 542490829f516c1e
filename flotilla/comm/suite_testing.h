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
};

inline void PrintTo(const Maker& maker, std::ostream* out) { *out << maker.name; }

class CommSuite : public ::testing::TestWithParam<Maker> {
 protected:
  // Runs `body` on 2, 3 and 5 ranks.
  void on_ranks(const std::function<void(comm::World&)>& body) const;
};

}  // namespace flotilla::testing
