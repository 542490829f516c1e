#include "flotilla/comm/gloo/first_messages.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

namespace flotilla::comm {
namespace {

using Part = Transfers::Part;

TEST(FirstMessagesTest, WhatOneWritesAnotherTakes) {
  FirstMessages ours(3), theirs(3);
  const std::array<char, 4> given = {'a', 'b', 'c', 'd'};
  const Call call = {.verb = Verb::kAllGather, .bytes = 4};
  const Part sent =
      ours.write(2, {.call = call, .follows = 1}, {.from = given.data(), .send_bytes = 4});
  const Part room = theirs.write(0, {}, {});
  ASSERT_LE(sent.send_bytes, room.recv_bytes);
  std::memcpy(room.to, sent.from, static_cast<size_t>(sent.send_bytes));
  EXPECT_EQ(theirs.head_from(0).call, call);
  EXPECT_EQ(theirs.head_from(0).follows, 1);
  std::array<char, 4> taken = {};
  theirs.take_part(0, {.to = taken.data(), .recv_bytes = 4});
  EXPECT_EQ(taken, given);
}

TEST(FirstMessagesTest, ThereIsRoomForTheLongestAndEachHasItsOwn) {
  FirstMessages messages(2);
  const std::string given(FirstMessages::kShortBytes, 'x');
  const Part long_one =
      messages.write(0, {}, {.from = given.data(), .send_bytes = FirstMessages::kShortBytes});
  EXPECT_EQ(long_one.send_bytes, long_one.recv_bytes);
  const Part other = messages.write(1, {.call = {.verb = Verb::kBarrier}}, {});
  EXPECT_EQ(std::string(long_one.from + long_one.send_bytes - 4, 4), "xxxx");
  EXPECT_GE(long_one.to, long_one.from + long_one.send_bytes);
  EXPECT_GE(other.from, long_one.to + long_one.recv_bytes);
}

}  // namespace
}  // namespace flotilla::comm
