#include "flotilla/job/server_tables.h"

#include <gmock/gmock.h>

#include "flotilla/testing/errors.h"

namespace flotilla::job {
namespace {

using passes::PsMode;
using ::testing::ElementsAre;

TEST(ServerTables, EntriesSayWhichKeysGetARow) {
  EXPECT_EQ(parse_entry(""), ps::Admission());
  EXPECT_EQ(parse_entry("none"), ps::Admission());
  EXPECT_EQ(parse_entry("count_filter_entry:0"), ps::Admission());
  EXPECT_EQ(parse_entry("show_click_entry:show:click"), ps::Admission());
  EXPECT_EQ(parse_entry("count_filter_entry:5"), (ps::Admission{ps::Admission::kCount, 5}));
  EXPECT_EQ(parse_entry("probability_entry:0.1"),
            (ps::Admission{ps::Admission::kProbability, 0.1}));
  EXPECT_REFUSED(parse_entry("count_filter_entry:many"),
                 "the entry of a sparse table must be count_filter_entry:<n> or "
                 "probability_entry:<p>, but is \"count_filter_entry:many\"");
}

TEST(ServerTables, OptionsOfAWorker) {
  const ps::WorkerOptions options = worker_options(
      {.mode = PsMode::kHalfAsync, .send_queue = 3, .max_merge = 4, .pushes_per_refresh = 5},
      {.index = 1, .workers = 2, .server_endpoints = {"127.0.0.1:1"}}, nullptr);
  EXPECT_EQ(options.mode, ps::Mode::kHalfAsync);
  EXPECT_EQ(options.rank, 1);
  EXPECT_EQ(options.workers, 2);
  EXPECT_EQ(options.send_queue, 3);
  EXPECT_EQ(options.max_merge, 4);
  EXPECT_EQ(options.pushes_per_refresh, 5);
  EXPECT_REFUSED(worker_options({.send_queue = -1}, {}, nullptr),
                 "send_queue_size must be a number from 0 to 2147483647, but is -1");
  EXPECT_REFUSED(worker_options({.max_merge = 0}, {}, nullptr),
                 "max_merge_var_num must be a number from 1 to 2147483647, but is 0");
}

TEST(ServerTables, DescribeWhatAProgramNeeds) {
  ps::Worker worker({});
  worker.drew("drawn", {.seed = 5, .offset = 2});
  const std::vector<passes::ServerTable> tables = {
      {.id = 0,
       .name = "fc.w",
       .params = {"fc.w", "fc.b"},
       .width = 9,
       .rule = "momentum",
       .numbers = {{"mu", 0.5f}, {"use_nesterov", 1}, {"rescale_grad", 1}},
       .l2 = 0.25f},
      {.id = 1,
       .name = "drawn",
       .sparse = true,
       .width = 8,
       .rows = 100,
       .rule = "adam",
       .numbers = {{"beta1", 0.5f}, {"beta2", 0.75f}, {"epsilon", 0.125f}},
       .first = {"uniform", -0.5f, 0.5f, 0},
       .entry = "count_filter_entry:3"},
      {.id = 2,
       .name = "seeded",
       .sparse = true,
       .width = 4,
       .rule = "adagrad",
       .numbers = {{"epsilon", 0.5f}, {"initial_accumulator_value", 0.25f}},
       .l1 = 0.5f,
       .first = {"truncated_normal", 0, 0.5f, 7}},
  };
  const auto lines = [&](PsMode mode) {
    std::vector<std::string> lines;
    for (const ps::TableSpec& spec : table_specs(tables, mode, worker)) {
      lines.push_back(print(spec));
    }
    return lines;
  };
  EXPECT_THAT(
      lines(PsMode::kSync),
      ElementsAre("table 0 fc.w dense width=9 rule=momentum(mu=0.5, rescale_grad=1, "
                  "use_nesterov=1) l2=0.25",
                  "table 1 drawn sparse width=8 rule=adam(beta1=0.5, beta2=0.75, epsilon=0.125) "
                  "init=uniform(-0.5, 0.5) seed=5 stream=2 admit=count(3)",
                  "table 2 seeded sparse width=4 rule=adagrad(epsilon=0.5, "
                  "initial_accumulator_value=0.25) l1=0.5 init=truncated_normal(0, 0.5) seed=7"));
  // Workers update: servers add up what they are told.
  EXPECT_THAT(
      lines(PsMode::kGeo),
      ElementsAre("table 0 fc.w dense width=9 rule=sgd",
                  "table 1 drawn sparse width=8 rule=sgd init=uniform(-0.5, 0.5) seed=5 stream=2",
                  "table 2 seeded sparse width=4 rule=sgd init=truncated_normal(0, 0.5) seed=7"));
}

}  // namespace
}  // namespace flotilla::job
