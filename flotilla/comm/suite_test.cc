#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>

#include "flotilla/base/error.h"
#include "flotilla/comm/suite_testing.h"
#include "flotilla/testing/patience.h"
#include "flotilla/testing/ranks.h"

namespace flotilla::testing {
namespace {

using comm::Group;
using comm::Reduce;
using comm::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Lengths around every limit of the algorithms: one, a cache line, one turn, a slot, several slots.
const std::vector<int64_t> kCounts = {1, 15, 16, 17, 1000, 8192, 8193, 65536, 70001, 300000};

float element(int rank, int64_t i) {
  return static_cast<float>((i * 7 + rank * 13) % 101) * 0.37f - 11.0f + static_cast<float>(rank);
}

std::vector<float> values_of(int rank, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = element(rank, i);
  return values;
}

}  // namespace

float CommSuite::sum_at(int size, int64_t i) const {
  std::vector<int> hosts;  // in the order of their first ranks
  std::vector<float> sums;
  for (int r = 0; r < size; ++r) {
    const auto found = std::find(hosts.begin(), hosts.end(), GetParam().host(r));
    if (found == hosts.end()) {
      hosts.push_back(GetParam().host(r));
      sums.push_back(element(r, i));
    } else {
      sums[static_cast<size_t>(found - hosts.begin())] += element(r, i);
    }
  }
  return std::accumulate(sums.begin() + 1, sums.end(), sums[0]);
}

void CommSuite::on_ranks(const std::function<void(World&)>& body) const {
  for (const int size : GetParam().sizes) {
    SCOPED_TRACE(fmt::format("{} ranks", size));
    run_worlds(GetParam().make(size), body);
  }
}

TEST_P(CommSuite, AllReduceSumsInTheOrderOfRanks) {
  on_ranks([this](World& world) {
    for (const int64_t count : kCounts) {
      const std::vector<float> in = values_of(world.rank(), count);
      std::vector<float> out(in.size());
      world.ring(0).all_reduce(in.data(), out.data(), count, f32, Reduce::kSum);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(out[static_cast<size_t>(i)], sum_at(world.size(), i)) << i << " of " << count;
      }
    }
  });
}

TEST_P(CommSuite, AllReduceWorksInPlaceInMemoryThatPeersSee) {
  on_ranks([this](World& world) {
    for (const int64_t count : kCounts) {
      const auto buffer = world.allocate(count * 4 + 256);
      float* data = static_cast<float*>(buffer->data()) + 16;
      for (int64_t i = 0; i < count; ++i) data[i] = element(world.rank(), i);
      world.ring(0).all_reduce(data, data, count, f32, Reduce::kSum);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(data[i], sum_at(world.size(), i)) << i << " of " << count;
      }
      world.ring(0).barrier();  // the buffer goes
    }
  });
}

TEST_P(CommSuite, AllReduceTakesMemoryThatOnlySomeCanSee) {
  on_ranks([this](World& world) {
    const int64_t count = 50000;
    const auto shared = world.allocate(count * 4);
    std::vector<float> own(static_cast<size_t>(count));
    float* data = world.rank() == 0 ? static_cast<float*>(shared->data()) : own.data();
    for (int64_t i = 0; i < count; ++i) data[i] = element(world.rank(), i);
    world.ring(0).all_reduce(data, data, count, f32, Reduce::kSum);
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(data[i], sum_at(world.size(), i));
    world.ring(0).barrier();
  });
}

TEST_P(CommSuite, ReducesInEveryWayAndType) {
  on_ranks([](World& world) {
    Group& group = world.ring(0);
    const auto reduced = [&]<typename T>(T mine, DType dtype, Reduce how) {
      T result = {};
      group.all_reduce(&mine, &result, 1, dtype, how);
      return result;
    };
    const int n = world.size();
    const int me = world.rank() + 1;
    EXPECT_EQ(reduced(double(me), f64, Reduce::kSum), n * (n + 1) / 2);
    EXPECT_EQ(reduced(float(me), f32, Reduce::kMax), n);
    EXPECT_EQ(reduced(float(me), f32, Reduce::kMin), 1);
    EXPECT_EQ(reduced(int64_t{me}, i64, Reduce::kProd), std::tgamma(n + 1));
    EXPECT_EQ(reduced(int32_t{me}, i32, Reduce::kSum), n * (n + 1) / 2);
    EXPECT_FLOAT_EQ(reduced(float(me), f32, Reduce::kAverage), float(n + 1) / 2);
    // 1 + 1/256 is between two numbers of bf16; twice it is one. A sum that was rounded at every
    // rank would lose it.
    const BFloat16 small = {.bits = 0x3b80};  // 1/256
    const BFloat16 one = {.bits = 0x3f80};
    const BFloat16 sum = reduced(world.rank() < 2 ? small : one, bf16, Reduce::kSum);
    const float expected = static_cast<float>(n - 2) + 2.0f / 256;
    EXPECT_EQ(sum.bits, std::bit_cast<uint32_t>(expected) >> 16);
  });
}

TEST_P(CommSuite, MovesPartsBetweenRanks) {
  on_ranks([this](World& world) {
    Group& group = world.ring(0);
    const int n = world.size();
    for (const int64_t count : kCounts) {
      const size_t all = static_cast<size_t>(count * n);
      const std::vector<float> mine = values_of(world.rank(), count);
      std::vector<float> out(all);
      group.all_gather(mine.data(), out.data(), count, f32);
      for (int r = 0; r < n; ++r) {
        ASSERT_EQ(out[static_cast<size_t>(count * r)], element(r, 0));
        ASSERT_EQ(out[static_cast<size_t>(count * (r + 1) - 1)], element(r, count - 1));
      }
      // Part p of rank r is element (r, p * count + i).
      const std::vector<float> parts = values_of(world.rank(), count * n);
      group.all_to_all(parts.data(), out.data(), count, f32);
      for (int r = 0; r < n; ++r) {
        ASSERT_EQ(out[static_cast<size_t>(count * (r + 1) - 1)],
                  element(r, count * (world.rank() + 1) - 1));
      }
      std::vector<float> part(static_cast<size_t>(count));
      group.reduce_scatter(parts.data(), part.data(), count, f32, Reduce::kSum);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(part[static_cast<size_t>(i)], sum_at(n, count * world.rank() + i));
      }
    }
  });
}

TEST_P(CommSuite, RootsGiveAndGet) {
  on_ranks([this](World& world) {
    Group& group = world.ring(0);
    const int n = world.size();
    const int root = n - 1;
    for (const int64_t count : {int64_t{3}, int64_t{20000}, int64_t{100001}}) {
      std::vector<float> data = values_of(world.rank(), count);
      group.broadcast(data.data(), count, f32, root);
      ASSERT_EQ(data, values_of(root, count));
      const std::vector<float> mine = values_of(world.rank(), count);
      std::vector<float> all(static_cast<size_t>(count * n), -1);
      group.gather(mine.data(), all.data(), count, f32, root);
      if (world.rank() == root) {
        ASSERT_EQ(all[static_cast<size_t>(count)], element(1, 0));
        ASSERT_EQ(all.back(), element(root, count - 1));
      } else {
        ASSERT_EQ(all.front(), -1);
      }
      const std::vector<float> parts = values_of(root, count * n);
      std::vector<float> part(static_cast<size_t>(count));
      group.scatter(parts.data(), part.data(), count, f32, root);
      ASSERT_EQ(part[0], element(root, count * world.rank()));
      std::vector<float> sum(static_cast<size_t>(count), -1);
      group.reduce(mine.data(), sum.data(), count, f32, Reduce::kSum, root);
      ASSERT_EQ(sum.back(), world.rank() == root ? sum_at(n, count - 1) : -1);
    }
  });
}

TEST_P(CommSuite, SendsFromOneToAnother) {
  on_ranks([](World& world) {
    Group& group = world.ring(0);
    const std::vector<float> message = values_of(7, 40000);
    std::vector<float> got(message.size());
    if (world.rank() == 0) {
      for (int turn = 0; turn < 3; ++turn) group.send(message.data(), 40000, f32, 1);
    } else if (world.rank() == 1) {
      for (int turn = 0; turn < 3; ++turn) {
        group.recv(got.data(), 40000, f32, 0);
        ASSERT_EQ(got, message);
      }
    }
    group.barrier();
  });
}

TEST_P(CommSuite, SmallerGroupsStandBesideTheLargeOne) {
  on_ranks([](World& world) {
    // Two groups at a time, the second in the order of ranks turned around.
    if (world.size() < 3) return;
    const bool low = world.rank() < 2;
    std::vector<int> members = {1, 0};
    if (!low) {
      members.resize(static_cast<size_t>(world.size() - 2));
      std::iota(members.begin(), members.end(), 2);
    }
    world.make_ring(5, members);
    int64_t sum = 0;
    const int64_t mine = world.rank();
    world.ring(5).all_reduce(&mine, &sum, 1, i64, Reduce::kSum);
    EXPECT_EQ(sum, low ? 1 : std::accumulate(members.begin(), members.end(), 0));
    if (low) {
      EXPECT_EQ(world.ring(5).rank(), 1 - world.rank());
    }
    EXPECT_THROW(world.ring(6), Error);
  });
}

TEST_P(CommSuite, ManyTurnsKeepTheirOrder) {
  // Between hosts a turn takes several threads, each of which a busy machine may keep waiting.
  const int64_t turns = GetParam().host(0) == GetParam().host(2) ? 2000 : 100;
  on_ranks([turns](World& world) {
    int64_t sum = 0;
    for (int64_t turn = 0; turn < turns; ++turn) {
      const int64_t mine = turn * (world.rank() + 1);
      world.ring(0).all_reduce(&mine, &sum, 1, i64, Reduce::kSum);
      ASSERT_EQ(sum, turn * world.size() * (world.size() + 1) / 2);
    }
  });
}

TEST_P(CommSuite, TheQueueRunsBesideTheProgram) {
  on_ranks([](World& world) {
    std::vector<int64_t> values(10, world.rank());
    for (int64_t& value : values) {
      world.queue().start(
          [&world, &value] { world.ring(0).all_reduce(&value, &value, 1, i64, Reduce::kSum); });
    }
    world.queue().finish();
    for (const int64_t value : values) EXPECT_EQ(value, world.size() * (world.size() - 1) / 2);
  });
}

TEST_P(CommSuite, ExchangesStringsOfAnyLength) {
  on_ranks([](World& world) {
    const auto word = [](int64_t from, int64_t to) {
      return std::string(static_cast<size_t>(from * 3 + to), static_cast<char>('a' + from));
    };
    const std::vector<std::string> all = world.exchange().all_gather(word(world.rank(), 0));
    std::vector<std::string> parcels;
    for (int r = 0; r < world.size(); ++r) parcels.push_back(word(world.rank(), r));
    const std::vector<std::string> got = world.exchange().all_to_all(parcels);
    for (int r = 0; r < world.size(); ++r) {
      EXPECT_EQ(all[static_cast<size_t>(r)], word(r, 0));
      EXPECT_EQ(got[static_cast<size_t>(r)], word(r, world.rank()));
    }
  });
}

TEST_P(CommSuite, ListsThatDifferAreNamed) {
  on_ranks([](World& world) {
    comm::agree_on(world.exchange(), "the words", {"a", "b"});
    const std::string second = world.rank() == 1 ? "c_broadcast" : "c_allreduce_sum";
    try {
      comm::agree_on(world.exchange(), "the collective ops", {"first", second});
      FAIL() << "nobody noticed";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("number 2 is \"c_allreduce_sum\" on rank 0, but "
                                          "\"c_broadcast\" on rank 1"));
    }
  });
}

// What every rank hears of body(world, whether this is the one that differs); the last one, or rank
// 1, is. Nobody gives up because of it: also those that do not see it must not wait.
struct Heard {
  int odd = 0;
  std::vector<std::string> sentences = {};
  int went_on = 0;  // ranks for which the next call did what it should
};
using Odd = std::function<void(World&, bool odd)>;

Heard hear(const Maker& maker, int odd, const Odd& body) {
  const int size = maker.sizes.front() + 1;
  Heard heard = {.odd = odd < 0 ? size - 1 : odd,
                 .sentences = std::vector<std::string>(static_cast<size_t>(size))};
  std::atomic<int> went_on = 0;
  run_worlds(maker.make(size), [&](World& world) {
    try {
      body(world, world.rank() == heard.odd);
    } catch (const Error& error) {
      heard.sentences[static_cast<size_t>(world.rank())] = error.sentence();
    }
    int64_t one = 1;
    try {
      world.ring(0).all_reduce(&one, &one, 1, i64, Reduce::kSum);
      went_on += one == size;
    } catch (const Error&) {
    }
  });
  heard.went_on = went_on;
  return heard;
}

void expect_all_name(const Heard& heard, const std::string& call, const std::string& odd) {
  const int size = static_cast<int>(heard.sentences.size());
  for (const std::string& sentence : heard.sentences) {
    EXPECT_THAT(sentence, HasSubstr(fmt::format("rank {} ", heard.odd)));
    EXPECT_THAT(sentence, HasSubstr(call));
    EXPECT_THAT(sentence, HasSubstr(odd));
    EXPECT_THAT(sentence, HasSubstr("all members of a group must make the same calls"));
  }
  // They can go on together, or not at all.
  EXPECT_TRUE(heard.went_on == 0 || heard.went_on == size) << heard.went_on << " of " << size;
}

// Each case makes a world of its own; a sample of them is tried where all would take too long.
TEST_P(CommSuite, ACallOfAnotherLengthIsNamedByAll) {
  const std::vector<std::pair<std::string, std::function<void(Group&, float*, float*, int64_t)>>>
      calls = {
          {"all_reduce", [](Group& g, float* in, float* out,
                            int64_t n) { g.all_reduce(in, out, n, f32, Reduce::kSum); }},
          {"reduce", [](Group& g, float* in, float* out,
                        int64_t n) { g.reduce(in, out, n, f32, Reduce::kMax, 1); }},
          {"reduce_scatter",
           [](Group& g, float* in, float* out, int64_t n) {
             g.reduce_scatter(in, out, n, f32, Reduce::kAverage);
           }},
          {"broadcast",
           [](Group& g, float* in, float*, int64_t n) { g.broadcast(in, n, f32, g.size() - 1); }},
          {"all_gather",
           [](Group& g, float* in, float* out, int64_t n) { g.all_gather(in, out, n, f32); }},
          {"all_to_all",
           [](Group& g, float* in, float* out, int64_t n) { g.all_to_all(in, out, n, f32); }},
          {"scatter",
           [](Group& g, float* in, float* out, int64_t n) { g.scatter(in, out, n, f32, 0); }},
      };
  // Around what is sent at once, in pieces or in slices. The odd one has less, or more.
  const std::vector<std::pair<int64_t, int64_t>> lengths = {
      {2, 1}, {0, 5000}, {200'000, 100'000}, {4000, 1'300'000}};
  size_t tried = 0;
  for (const auto& [name, call] : calls) {
    for (const auto& [count, odd_count] : lengths) {
      if (!in_full() && tried++ % 3 != 0) continue;  // each call, and each length
      SCOPED_TRACE(fmt::format("{} of {} and of {}", name, count, odd_count));
      const auto body = [&](World& world, bool odd) {
        const int64_t n = odd ? odd_count : count;
        std::vector<float> in(static_cast<size_t>(n * world.size()));
        std::vector<float> out(in.size());
        call(world.ring(0), in.data(), out.data(), n);
      };
      expect_all_name(hear(GetParam(), count > odd_count ? 1 : -1, body),
                      fmt::format("{} of {} bytes", name, count * 4),
                      fmt::format("{} of {} bytes", name, odd_count * 4));
    }
  }
}

// As many bytes of another type are as wrong: nobody would notice.
TEST_P(CommSuite, ACallOfAnotherTypeIsNamedByAll) {
  struct Case {
    std::string name = {};
    std::function<void(Group&, void* in, void* out, int64_t count, comm::Element)> call = {};
  };
  const std::vector<Case> cases = {
      {"broadcast",
       [](Group& g, void* in, void*, int64_t n, comm::Element e) { g.broadcast(in, n, e, 1); }},
      {"all_gather", [](Group& g, void* in, void* out, int64_t n,
                        comm::Element e) { g.all_gather(in, out, n, e); }},
      {"gather", [](Group& g, void* in, void* out, int64_t n,
                    comm::Element e) { g.gather(in, out, n, e, 0); }},
      {"scatter", [](Group& g, void* in, void* out, int64_t n,
                     comm::Element e) { g.scatter(in, out, n, e, 0); }},
      {"all_to_all", [](Group& g, void* in, void* out, int64_t n,
                        comm::Element e) { g.all_to_all(in, out, n, e); }},
  };
  size_t tried = 0;
  for (const int64_t bytes : {0, 8, 80'000}) {
    for (const Case& one : cases) {
      if (!in_full() && tried++ % 4 != 0) continue;
      SCOPED_TRACE(fmt::format("{} of {} bytes", one.name, bytes));
      const auto body = [&](World& world, bool odd) {
        std::vector<char> in(static_cast<size_t>(bytes * world.size()));
        std::vector<char> out(in.size());
        const comm::Element element = odd ? i64 : f32;
        one.call(world.ring(0), in.data(), out.data(), bytes / element.bytes, element);
      };
      expect_all_name(hear(GetParam(), -1, body),
                      fmt::format("{} of {} bytes f32", one.name, bytes),
                      fmt::format("{} of {} bytes i64", one.name, bytes));
    }
  }
}

TEST_P(CommSuite, AnotherCallIsNamedByAll) {
  const std::vector<std::pair<std::string, std::function<void(Group&)>>> calls = {
      {"barrier", [](Group& g) { g.barrier(); }},
      {"all_reduce of 1200000 bytes f32 (sum)",
       [](Group& g) {
         std::vector<float> data(300'000);
         g.all_reduce(data.data(), data.data(), 300'000, f32, Reduce::kSum);
       }},
      {"all_reduce of 4 bytes f32 (max)",
       [](Group& g) {
         float one = 1;
         g.all_reduce(&one, &one, 1, f32, Reduce::kMax);
       }},
      {"broadcast of 8 bytes i64 from 1",
       [](Group& g) {
         int64_t value = 1;
         g.broadcast(&value, 1, i64, 1);
       }},
      {"all_to_all of 40000 bytes",
       [](Group& g) {
         std::vector<char> in(static_cast<size_t>(40'000 * g.size()));
         std::vector<char> out(in.size());
         g.all_to_all(in.data(), out.data(), 40'000, comm::kBytes);
       }},
  };
  size_t tried = 0;
  for (const auto& [name, call] : calls) {
    for (const auto& [odd_name, odd_call] : calls) {
      if (name == odd_name) continue;
      SCOPED_TRACE(name + ", but " + odd_name);
      for (const int odd : {1, -1}) {
        if (!in_full() && tried++ % 7 != 0) continue;
        const auto body = [&](World& world, bool is_odd) {
          (is_odd ? odd_call : call)(world.ring(0));
        };
        expect_all_name(hear(GetParam(), odd, body), name, odd_name);
      }
    }
  }
}

// Those that have nothing to do with the two hear of it when they wait for one of them.
TEST_P(CommSuite, WhatTwoRefuseEndsTheOthers) {
  for (const int64_t bytes : {0, 8, 300'000}) {
    SCOPED_TRACE(bytes);
    const Heard heard = hear(GetParam(), 1, [&](World& world, bool odd) {
      std::vector<char> mine(300'008);
      if (odd) return world.ring(0).recv(mine.data(), bytes + 8, comm::kBytes, 0);
      if (world.rank() == 0) world.ring(0).send(mine.data(), bytes, comm::kBytes, 1);
      world.ring(0).barrier();
    });
    const std::string why = fmt::format(
        "rank 0 calls send of {} bytes u8, but rank 1 recv of {} bytes", bytes, bytes + 8);
    for (const std::string& sentence : heard.sentences) EXPECT_THAT(sentence, HasSubstr(why));
    EXPECT_EQ(heard.went_on, 0);
  }
}

TEST_P(CommSuite, NothingIsSentAsSomethingIs) {
  on_ranks([](World& world) {
    if (world.rank() == 0) world.ring(0).send(nullptr, 0, f32, 1);
    if (world.rank() == 1) world.ring(0).recv(nullptr, 0, f32, 0);
    world.ring(0).all_gather(nullptr, nullptr, 0, f32);
    world.ring(0).barrier();
  });
}

TEST_P(CommSuite, ARankThatGivesUpEndsTheWaitsOfTheOthers) {
  std::vector<std::string> heard(3);
  const auto body = [&](World& world) {
    if (world.rank() == 1) throw Error(ErrorKind::kInternal, "rank 1 has had enough");
    try {
      world.ring(0).barrier();
    } catch (const Error& error) {
      heard[static_cast<size_t>(world.rank())] = error.sentence();
      EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    }
    EXPECT_THROW(world.ring(0).barrier(), Error);
  };
  EXPECT_THROW(run_worlds(GetParam().make(3), body), Error);
  EXPECT_THAT(heard[0], HasSubstr("barrier of rank 0 was ended: "));
  EXPECT_THAT(heard[2], HasSubstr("barrier of rank 2 was ended: "));
}

TEST_P(CommSuite, AnAbortEndsAWaitAtOnce) {
  const auto body = [](World& world) {
    if (world.rank() == 0) {
      world.queue().start([&world] { world.ring(0).barrier(); });
      world.abort("rank 7 on host far was killed by signal 9");
      try {
        world.queue().finish();
        FAIL() << "the barrier ended by itself";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 7 on host far was killed by signal 9"));
      }
    }
  };
  run_worlds(GetParam().make(2), body);
}

TEST_P(CommSuite, RefusesWhatCannotBe) {
  run_worlds(GetParam().make(2), [](World& world) {
    Group& group = world.ring(0);
    int16_t small = 0;
    EXPECT_THROW(group.all_reduce(&small, &small, 1, i16, Reduce::kSum), Error);
    EXPECT_THROW(group.broadcast(&small, 1, i16, 2), Error);
    EXPECT_THROW(group.send(&small, 1, i16, world.rank()), Error);
    EXPECT_THROW(group.all_gather(&small, &small, -1, i16), Error);
    EXPECT_THROW(world.make_ring(0, {0, 1}), Error);
    EXPECT_THROW(world.make_ring(1, {0, 0}), Error);
    EXPECT_THROW(world.make_ring(1, {1 - world.rank()}), Error);
  });
}

}  // namespace flotilla::testing
