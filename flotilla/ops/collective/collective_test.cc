#include <gmock/gmock.h>

#include <cmath>

#include "flotilla/autodiff/backward.h"
#include "flotilla/op/build.h"
#include "flotilla/testing/programs.h"
#include "flotilla/testing/rank_ops.h"

namespace flotilla {
namespace {

using testing::on_ranks;

// 1, 2, … on rank 0, 10 times that on rank 1, 100 times on rank 2.
Inputs powers(int rank, DType dtype = f32, int64_t n = 3) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i + 1) * std::pow(10, rank));
  return {{"X", from_values(values, {n}, dtype)}};
}

struct Reduction {
  const char* name;
  std::vector<double> expected;  // of powers() on three ranks
};
const Reduction kReductions[] = {{"sum", {111, 222, 333}},
                                 {"max", {100, 200, 300}},
                                 {"min", {1, 2, 3}},
                                 {"prod", {1000, 8000, 27000}}};

TEST(Collective, AllReduceGivesEveryRankTheSame) {
  for (const DType dtype : {f32, f64, i32, i64}) {
    for (const Reduction& how : kReductions) {
      const auto results = on_ranks(
          3, [&](int rank) { return powers(rank, dtype); },
          fmt::format("c_allreduce_{}", how.name));
      for (const OpResult& result : results) EXPECT_THAT(result.at("Out"), equal_to(how.expected));
    }
  }
}

// 1 + 1/256 + 1/256 is 1 + 1/128; rounded to 8 bits after each step it would stay 1.
TEST(Collective, SumsOf16BitFloatsAreRoundedOnce) {
  const auto results = on_ranks(
      3,
      [](int rank) {
        Tensor x(bf16, {2});
        std::fill_n(x.data<BFloat16>(), 2,
                    BFloat16{static_cast<uint16_t>(rank == 0 ? 0x3f80 : 0x3b80)});
        return Inputs{{"X", x}};
      },
      "c_allreduce_sum");
  for (const OpResult& result : results) {
    EXPECT_EQ(result.at("Out").data<BFloat16>()[1].bits, 0x3f81);
  }
}

TEST(Collective, LegacyAllReduceTakesANumber) {
  const std::vector<std::vector<double>> expected = {
      {111, 222, 333}, {1000, 8000, 27000}, {100, 200, 300}, {1, 2, 3}};
  for (int type = 0; type < 4; ++type) {
    const auto results =
        on_ranks(3, [](int rank) { return powers(rank); }, "allreduce", {{"reduce_type", type}});
    EXPECT_THAT(results[1].at("Out"), equal_to(expected[static_cast<size_t>(type)]));
  }
  EXPECT_REFUSED(
      run_op("allreduce", powers(0), {{"reduce_type", 4}}),
      "reduce_type is 0 (sum), 1 (product), 2 (largest) or 3 (smallest), but 4 was given");
}

TEST(Collective, ReduceLeavesTheResultAtTheRoot) {
  for (const Reduction& how : kReductions) {
    const auto results = on_ranks(3, [](int rank) { return powers(rank); },
                                  fmt::format("c_reduce_{}", how.name), {{"root_id", 1}});
    EXPECT_THAT(results[1].at("Out"), equal_to(how.expected));
    EXPECT_THAT(results[0].at("Out"), equal_to({1, 2, 3}));
    EXPECT_THAT(results[2].at("Out"), equal_to({100, 200, 300}));
  }
}

TEST(Collective, BroadcastHandsOutTheRootsTensor) {
  for (const char* type : {"c_broadcast", "broadcast"}) {
    for (const DType dtype : {f32, f64, i32, i64, u8}) {
      const auto results = on_ranks(3,
                                    [&](int rank) {
                                      return Inputs{{"X", full({5}, rank + 1, dtype)}};
                                    },
                                    type, {{"root", 2}});
      for (const OpResult& result : results) EXPECT_THAT(result.at("Out"), all_equal_to(3));
    }
  }
}

TEST(Collective, PartsGoAlongTheFirstAxis) {
  const auto gathered =
      on_ranks(3, [](int rank) { return powers(rank, f64, 2); }, "c_allgather", {{"nranks", 3}});
  for (const OpResult& result : gathered) {
    EXPECT_THAT(result.at("Out"), equal_to({1, 2, 10, 20, 100, 200}));
  }
  const auto scattered = on_ranks(2, [](int rank) { return powers(rank, f32, 4); }, "c_scatter",
                                  {{"nranks", 2}, {"root", 1}});
  EXPECT_THAT(scattered[0].at("Out"), equal_to({10, 20}));
  EXPECT_THAT(scattered[1].at("Out"), equal_to({30, 40}));
  const auto summed = on_ranks(2, [](int rank) { return powers(rank, i64, 4); }, "c_reducescatter",
                               {{"nranks", 2}});
  EXPECT_THAT(summed[0].at("Out"), equal_to({11, 22}));
  EXPECT_THAT(summed[1].at("Out"), equal_to({33, 44}));
}

TEST(Collective, ColumnsAreGatheredAndKept) {
  const auto rows = [](int rank) {
    return Inputs{{"X", tensor({{rank + 1.0, rank + 10.0}, {rank + 5.0, rank + 50.0}})}};
  };
  const auto gathered = on_ranks(2, rows, "c_concat", {{"nranks", 2}});
  for (const OpResult& result : gathered) {
    EXPECT_THAT(result.at("Out"), equal_to(tensor({{1, 10, 2, 11}, {5, 50, 6, 51}})));
  }
  const Inputs all = {{"X", tensor({{1, 2, 3, 4}, {5, 6, 7, 8}})}};
  EXPECT_THAT(run_op("c_split", all, {{"nranks", 2}, {"rank", 1}}).at("Out"),
              equal_to(tensor({{3, 4}, {7, 8}})));
  EXPECT_REFUSED(build_op("c_split", all, {{"nranks", 3}}),
                 "the last axis of X must be a multiple of nranks, 3, but X has shape [2, 4]");
  EXPECT_REFUSED(build_op("c_split", all, {{"nranks", 2}, {"rank", 2}}),
                 "rank must lie in [0, 2), but is 2");
}

TEST(Collective, BetweenLayersSumsGoOneWay) {
  const auto summed = on_ranks(
      3, [](int rank) { return powers(rank); }, "mp_allreduce_sum");
  for (const OpResult& result : summed) EXPECT_THAT(result.at("Out"), equal_to({111, 222, 333}));
  const auto same = on_ranks(
      3, [](int rank) { return powers(rank); }, "c_identity");
  EXPECT_THAT(same[1].at("Out"), equal_to({10, 20, 30}));
}

TEST(Collective, GradientsAreWeighedBySamples) {
  const auto inputs = [](int rank) {
    return Inputs{{"X", full({1}, 6)}, {"Samples", full({rank + 1, 2}, 0)}};
  };
  const auto results = on_ranks(3, inputs, "weigh_by_samples");
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(results[static_cast<size_t>(rank)].at("Out"), equal_to({rank + 1.0}));
  }
  EXPECT_THAT(run_op("weigh_by_samples", inputs(0)).at("Out"), equal_to({6}));
  testing::run_ranks(2, [](comm::World& world) {
    const auto program = build(R"(
      var x f32[1] data
      var samples f32[-1, 3] data
      weigh_by_samples(X=x, Samples=samples) -> y
    )");
    Scope scope;
    Executor executor({.world = &world});
    const std::vector<Feed> feeds = {{"x", full({1}, 6)}, {"samples", full({4, 3}, 0)}};
    const auto run = [&] { return dense(executor.run(*program, feeds, {"y"}, scope)[0]); };
    EXPECT_THAT(run(), equal_to({3}));
    world.set_has_data(world.rank() == 0);
    EXPECT_THAT(run(), equal_to({world.rank() == 0 ? 6.0 : 0.0}));
  });
}

TEST(Collective, PartsOfDifferentLengthsAreNamed) {
  EXPECT_EQ(
      refusal_of([] {
        testing::run_ranks(2, [](comm::World& world) {
          const auto program = build(R"(
                  var x f32[-1] data
                  c_allgather(X=x) -> all {nranks=2}
                )");
          Scope scope;
          const Tensor mine = world.rank() == 0 ? tensor({1, 2, 3}) : tensor({1, 2});
          Executor({.world = &world}).run(*program, {{"x", mine}}, {"all"}, scope);
        });
      }),
      "rank 0 calls all_gather of 12 bytes f32, but rank 1 all_gather of 8 bytes f32: all members "
      "of a group must make the same calls with the same lengths and types, in the same order");
}

TEST(Collective, EveryRankHasAPartForEveryOther) {
  const auto results = on_ranks(
      2, [](int rank) { return powers(rank, i32, 4); }, "alltoall");
  EXPECT_THAT(results[0].at("Out"), equal_to({1, 2, 10, 20}));
  EXPECT_THAT(results[1].at("Out"), equal_to({3, 4, 30, 40}));
  EXPECT_EQ(refusal_of([] {
              on_ranks(
                  2, [](int) { return powers(0); }, "alltoall");
            }),
            "3 rows of X cannot be shared out to 2 ranks evenly");
}

TEST(Collective, WhatOneSendsTheOtherReceives) {
  testing::run_ranks(2, [](comm::World& world) {
    // Everybody runs the same ops of the ring, in the roles of sender and receiver by turns.
    const auto program = build(world.rank() == 0 ? R"(
      fill_constant() -> x {shape=[3], value=2.5}
      send_v2(X=x) {peer=1}
      recv_v2() -> y {peer=1, out_shape=[3], dtype=5}
    )"
                                                 : R"(
      recv_v2() -> x {peer=0, out_shape=[3], dtype=5}
      scale(X=x) -> y {scale=2.0}
      send_v2(X=y) {peer=0}
    )");
    Scope scope;
    Executor executor({.world = &world});
    EXPECT_THAT(dense(executor.run(*program, {}, {"y"}, scope)[0]), equal_to({5, 5, 5}));
  });
  EXPECT_REFUSED(run_op("send_v2", powers(0), {{"peer", 1}}),
                 "send_v2 needs rank 1, but this process is alone");
}

TEST(Collective, PartsTravelAlone) {
  testing::run_ranks(2, [](comm::World& world) {
    const auto program = build(world.rank() == 0 ? R"(
      assign_value() -> x {shape=[4], dtype=5, fp32_values=[1.0, 2.0, 3.0, 4.0]}
      partial_send(X=x) {peer=1, num=2, id=1}
      partial_allgather(X=x) -> y {nranks=2, rank=0}
    )"
                                                 : R"(
      partial_recv() -> x {peer=0, out_shape=[4], dtype=5, num=2, id=1}
      partial_allgather(X=x) -> y {nranks=2, rank=1}
    )");
    Scope scope;
    Executor executor({.world = &world});
    EXPECT_THAT(dense(executor.run(*program, {}, {"y"}, scope)[0]), equal_to({1, 2, 3, 4}));
  });
  EXPECT_THAT(run_op("partial_allgather", powers(0)).at("Out"), equal_to({1, 2, 3}));
  EXPECT_REFUSED(build_op("partial_allgather", powers(0), {{"nranks", 2}}),
                 "the elements of X must be a multiple of nranks, 2, but X has shape [3]");
}

TEST(Collective, ABucketIsSummedInOneExchange) {
  const auto inputs = [](int rank) {
    return Inputs{{"X", {full({2, 3}, rank + 1), full({1}, 10 * rank), full({7}, -rank)}}};
  };
  for (const bool inline_only : {true, false}) {
    const auto results = on_ranks(4, inputs, "fused_all_reduce", {{"use_calc_stream", inline_only}},
                                  {.outputs = {{"Out", 3}}});
    for (const OpResult& result : results) {
      EXPECT_THAT(result.at("Out", 0), all_equal_to(10));
      EXPECT_THAT(result.at("Out", 0), has_shape({2, 3}));
      EXPECT_THAT(result.at("Out", 1), all_equal_to(60));
      EXPECT_THAT(result.at("Out", 2), all_equal_to(-6));
    }
  }
}

TEST(Collective, SizesMayBeKnownOnlyWhenTheProgramRuns) {
  testing::run_ranks(2, [](comm::World& world) {
    const auto program = build(R"(
      var x f32[4] data
      where_index(Condition=x) -> at
      c_allreduce_sum(X=at) -> sum
      c_broadcast(X=at) -> first {root=1}
    )");
    Scope scope;
    Executor executor({.world = &world});
    const auto run = [&](const Tensor& x) {
      const auto values = executor.run(*program, {{"x", x}}, {"sum", "first"}, scope);
      return std::make_pair(dense(values[0]), dense(values[1]));
    };
    const bool zero = world.rank() == 0;
    const auto [sum, first] = run(zero ? tensor({1, 1, 0, 0}) : tensor({0, 0, 1, 1}));
    EXPECT_THAT(sum, equal_to({2, 4}));
    EXPECT_THAT(first, equal_to({2, 3}));
    EXPECT_THAT(run(zero ? tensor({0, 1, 0, 0}) : tensor({0, 0, 0, 1})).first, equal_to({4}));
  });
}

TEST(Collective, RowsOfAllRanksStandOneBehindTheOther) {
  // Rank r has r + 1 rows, or all have two.
  for (const bool equal : {false, true}) {
    const auto results = on_ranks(
        3,
        [&](int rank) {
          std::vector<int64_t> rows;
          for (int i = 0; i < (equal ? 2 : rank + 1); ++i) rows.push_back(rank + i);
          const auto count = static_cast<int64_t>(rows.size());
          return Inputs{{"X", sparse(rows, full({count, 2}, std::pow(10, rank)), 5)}};
        },
        "all_gather_rows");
    for (const OpResult& result : results) {
      // Dense: rows that repeat are added up.
      EXPECT_THAT(result.at("Out"), equal ? equal_to({1, 1, 11, 11, 110, 110, 100, 100, 0, 0})
                                          : equal_to({1, 1, 10, 10, 110, 110, 100, 100, 100, 100}));
    }
  }
}

TEST(Collective, AProcessAloneKeepsWhatItHas) {
  for (const char* type : {"c_allreduce_sum", "c_allreduce_prod", "c_reduce_max", "c_broadcast",
                           "broadcast", "allreduce", "c_allgather", "c_reducescatter", "c_scatter",
                           "barrier", "fused_all_reduce", "alltoall", "c_sync_comm_stream",
                           "c_sync_calc_stream", "c_wait_comm", "c_wait_compute", "nop"}) {
    EXPECT_THAT(run_op(type, powers(0), {}, {.outputs = {{"Out", 1}}}).at("Out"),
                equal_to({1, 2, 3}))
        << type;
    const auto results =
        on_ranks(1, [](int) { return powers(0); }, type, {}, {.outputs = {{"Out", 1}}});
    EXPECT_THAT(results[0].at("Out"), equal_to({1, 2, 3})) << type;
  }
  const SelectedRows rows = sparse({1, 1}, full({2, 1}, 3), 3);
  EXPECT_THAT(run_op("all_gather_rows", {{"X", rows}}).at("Out"), equal_to({0, 6, 0}));
}

TEST(Collective, SyncsHandTheirVariablesOn) {
  for (const char* type : {"c_sync_comm_stream", "c_sync_calc_stream", "c_wait_comm", "barrier"}) {
    const auto results =
        on_ranks(2, [](int rank) { return powers(rank); }, type, {}, {.outputs = {{"Out", 1}}});
    EXPECT_THAT(results[1].at("Out"), equal_to({10, 20, 30})) << type;
  }
}

TEST(Collective, DependHandsXOn) {
  EXPECT_THAT(
      run_op("depend", {{"X", tensor({1, 2})}, {"Dep", {tensor({3}), tensor({4})}}}).at("Out"),
      equal_to({1, 2}));
}

TEST(Collective, ProgramsMakeRingsOfAllRanks) {
  testing::run_ranks(2, [](comm::World& world) {
    const auto program = build(R"(
      c_gen_nccl_id() -> id {ring_id=3}
      c_comm_init(X=id) {ring_id=3, nranks=2}
      c_comm_init_all() {ring_id=4}
      fill_constant() -> x {shape=[2], value=2.5}
      c_allreduce_sum(X=x) -> y {ring_id=3}
      c_allreduce_sum(X=y) -> z {ring_id=4}
    )");
    Executor executor({.world = &world});
    Scope scope;
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(dense(executor.run(*program, {}, {"z"}, scope)[0]), all_equal_to(10));
    }
  });
  EXPECT_EQ(refusal_of([] {
              testing::run_ranks(2, [](comm::World& world) {
                const auto program = build("c_comm_init() {ring_id=3, nranks=5}");
                Scope scope;
                Executor({.world = &world}).run(*program, {}, {}, scope);
              });
            }),
            "ring 3 of 5 ranks has not been made, and a program by itself can only make one of "
            "all 2");
  Scope scope;
  EXPECT_REFUSED(Executor().run(*build("c_comm_init() {nranks=2}"), {}, {}, scope),
                 "c_comm_init of 2 ranks was asked for, but this process is alone: start all of "
                 "them with fleetrun");
}

// Of sum(w * f(x)), where w differs from rank to rank.
Tensor gradient_of(const std::string& type, const Attrs& attrs, int rank, const Shape& w_shape,
                   comm::World& world) {
  auto program = std::make_shared<Program>();
  Block& block = program->global_block();
  block.add_var({.name = "x", .shape = {2}, .is_data = true});
  block.add_var({.name = "w", .shape = w_shape, .stop_gradient = true, .is_data = true});
  append_op(block, type, {{"X", {"x"}}}, {{"Out", {"y"}}}, attrs);
  append_op(block, "elementwise_mul", {{"X", {"y"}}, {"Y", {"w"}}}, {{"Out", {"z"}}});
  append_op(block, "reduce_sum", {{"X", {"z"}}}, {{"Out", {"loss"}}}, {{"reduce_all", true}});
  const std::string dx = gradients({&block.var("loss")}, {&block.var("x")})[0];
  std::vector<double> w;
  for (int64_t i = 0; i < w_shape.numel(); ++i) w.push_back(static_cast<double>(i + 1 + 10 * rank));
  Scope scope;
  Executor executor({.world = &world});
  return dense(executor.run(*program, {{"x", tensor({3, 4})}, {"w", from_values(w, w_shape, f32)}},
                            {dx}, scope)[0]);
}

TEST(Collective, GradientsAreExchangedTheOtherWay) {
  testing::run_ranks(2, [](comm::World& world) {
    const int rank = world.rank();
    EXPECT_THAT(gradient_of("c_allreduce_sum", {}, rank, {2}, world), equal_to({12, 14}));
    // Rank r gets part r of the sum of w: 1 2 3 4 and 11 12 13 14.
    EXPECT_THAT(gradient_of("c_allgather", {{"nranks", 2}}, rank, {4}, world),
                rank == 0 ? equal_to({12, 14}) : equal_to({16, 18}));
    EXPECT_THAT(gradient_of("c_reducescatter", {{"nranks", 2}}, rank, {1}, world),
                equal_to({1, 11}));
    EXPECT_THAT(gradient_of("c_identity", {}, rank, {2}, world), equal_to({12, 14}));
    EXPECT_THAT(gradient_of("mp_allreduce_sum", {}, rank, {2}, world),
                rank == 0 ? equal_to({1, 2}) : equal_to({11, 12}));
    const Attrs half = {{"nranks", 2}, {"rank", rank}};
    EXPECT_THAT(gradient_of("c_concat", half, rank, {4}, world),
                rank == 0 ? equal_to({1, 2}) : equal_to({13, 14}));
    EXPECT_THAT(gradient_of("c_split", half, rank, {1}, world), equal_to({1, 11}));
  });
}

TEST(Collective, RefusesWhatCannotBeExchanged) {
  const SelectedRows rows = sparse({0}, full({1, 2}, 1), 3);
  EXPECT_REFUSED(build_op("c_allreduce_sum", {{"X", rows}}),
                 "c_allreduce_sum takes tensors, but \"X_0\" is a selected_rows");
  EXPECT_REFUSED(build_op("all_gather_rows", powers(0)),
                 "all_gather_rows takes sparse rows, but X is a tensor of shape [3]");
  EXPECT_REFUSED(build_op("fused_all_reduce", {{"X", {tensor({1}), ints({1})}}}, {},
                          {.outputs = {{"Out", 2}}}),
                 "all of X must have one dtype, but \"X_0\" is f32 and \"X_1\" is i64");
  EXPECT_REFUSED(build_op("fused_all_reduce", {{"X", {tensor({1}), tensor({1})}}}),
                 "X of fused_all_reduce holds 2 variables, but Out holds 1");
  EXPECT_REFUSED(build_op("c_reducescatter", powers(0), {{"nranks", 2}}),
                 "the first axis of X must be a multiple of nranks, 2, but X has shape [3]");
  EXPECT_REFUSED(build_op("c_allgather", powers(0), {{"nranks", 0}}),
                 "nranks of c_allgather must be 1 or more, but is 0");
  EXPECT_REFUSED(run_op("c_allgather", powers(0), {{"nranks", 2}}),
                 "c_allgather of 2 ranks was asked for, but this process is alone");
  EXPECT_EQ(refusal_of([] {
              on_ranks(2, [](int rank) { return powers(rank); }, "c_allgather", {{"nranks", 3}});
            }),
            "nranks is 3, but the group has 2 members");
  EXPECT_EQ(
      refusal_of([] {
        on_ranks(2, [](int rank) { return powers(rank); }, "c_allreduce_sum", {{"ring_id", 9}});
      }),
      "there is no group with ring_id 9 in rank 0 of 2");
}

}  // namespace
}  // namespace flotilla
