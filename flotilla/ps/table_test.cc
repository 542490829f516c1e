// flotilla/ps/table_test.cc
//
// Descriptions of tables, where keys live, first values.

#include "flotilla/ps/table.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "flotilla/ps/initial.h"
#include "flotilla/ps/rule.h"
#include "flotilla/testing/errors.h"

namespace flotilla::ps {
namespace {

TEST(Table, TextGoesThereAndBack) {
  for (const std::string text : {
           "table 0 w dense width=430001 rule=sgd",
           "table 3 emb/0.w_0 sparse width=10 rule=adam(beta1=0.9, epsilon=1e-08, row_powers=1) "
           "l1=0.25 l2=0.0001 init=uniform(-0.01, 0.01) seed=18446744073709551615 stream=3 "
           "admit=count(5)",
           "table 4294967295 a@b sparse width=1 rule=ftrl(l1=1, lr_power=-0.5) "
           "init=truncated_normal(0, 1e-05) admit=probability(0.1) scores=true memory=1000000",
           "table 1 c sparse width=2 rule=momentum(mu=0.5, use_nesterov=1) init=constant(-1.5)",
       }) {
    EXPECT_EQ(print(parse_table(text)), text);
    EXPECT_EQ(parse_table(print(parse_table(text))), parse_table(text));
  }
}

TEST(Table, RefusesWhatCannotBe) {
  EXPECT_REFUSED(parse_table("table 1 w sparse width=10 rule=adam(beta3=1)"),
                 "the rule adam has no parameter \"beta3\" Did you mean \"beta1\"?");
  EXPECT_THAT(refusal_of([] { parse_table("table 1 w sparse width=10 rule=lion"); }),
              ::testing::StartsWith("unknown table rule \"lion\"; the rules are: adadelta, "
                                    "adagrad, adam, adamax, adamw, decayed_adagrad, ftrl, lamb, "));
  EXPECT_REFUSED(parse_table("table 1 w sparse width=0"),
                 "the width of w must be from 1 to 1048576, but is 0");
  EXPECT_REFUSED(parse_table("table 1 w sparse width=3 init=xavier(1, 2)"),
                 "unknown initializer \"xavier\"; expected one of: constant, uniform, normal, "
                 "truncated_normal");
  EXPECT_REFUSED(
      parse_table("table 1 w sparse width=3 admit=count(0.5)"),
      "a row of w must be admitted after a whole number of appearances, but this is 0.5");
  EXPECT_REFUSED(parse_table("table 1 w tall width=3"),
                 "a table's description must have \"dense\" at byte 10, but has \"tall width=3\": "
                 "table 1 w tall width=3");
  EXPECT_REFUSED(parse_table("table 1 w dense width=3 sed=1"),
                 "a table has no field \"sed\" Did you mean \"seed\"?");
}

TEST(Table, SlicesCoverADenseTable) {
  for (const int64_t width : {1, 15, 16, 17, 1000, 430001}) {
    for (const int servers : {1, 2, 3, 7}) {
      int64_t at = 0;
      for (int server = 0; server < servers; ++server) {
        const Slice slice = slice_of(width, {server, servers});
        EXPECT_EQ(slice.begin, at);
        EXPECT_LE(slice.size(), width / servers + 16);
        at = slice.end;
      }
      EXPECT_EQ(at, width);
    }
  }
}

// Its norm is that of the whole table.
TEST(Table, ALayerwiseRuleKeepsATableOnOneServer) {
  for (const std::string rule : {"lamb", "lars_momentum"}) {
    for (const int id : {0, 1, 5}) {
      const TableSpec table =
          parse_table(fmt::format("table {} w dense width=100 rule={}", id, rule));
      int64_t at = 0;
      for (int server = 0; server < 3; ++server) {
        const Slice slice = slice_of(table, {server, 3});
        EXPECT_EQ(slice.begin, at);
        EXPECT_EQ(slice.size(), server == id % 3 ? 100 : 0);
        at = slice.end;
      }
    }
  }
  EXPECT_EQ(slice_of(parse_table("table 0 w dense width=100 rule=adam"), {1, 2}), (Slice{48, 100}));
}

TEST(Table, NearKeysSpreadOverTheShards) {
  std::vector<int> counts(kShards);
  for (int64_t key = -50000; key < 50000; ++key) ++counts[static_cast<size_t>(shard_of(key))];
  for (const int count : counts) EXPECT_NEAR(count, 100000 / kShards, 100);
}

// The mean and the deviation over many keys.
std::pair<double, double> moments(const TableSpec& table) {
  std::vector<float> row(static_cast<size_t>(table.width));
  double sum = 0, squares = 0, n = 0;
  for (int64_t key = 0; key < 20000; ++key) {
    fill_initial(table, key, row);
    for (const float x : row) {
      sum += x;
      squares += double{x} * x;
      ++n;
    }
  }
  const double mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean)};
}

TEST(Initial, Distributions) {
  TableSpec table = {.name = "w", .width = 7, .initial = {Initial::kUniform, -1, 3}, .seed = 5};
  auto [mean, deviation] = moments(table);
  EXPECT_NEAR(mean, 1, 0.02);
  EXPECT_NEAR(deviation, 4 / std::sqrt(12), 0.02);
  table.initial = {Initial::kNormal, 1, 0.5f};
  std::tie(mean, deviation) = moments(table);
  EXPECT_NEAR(mean, 1, 0.01);
  EXPECT_NEAR(deviation, 0.5, 0.01);
  table.initial = {Initial::kTruncatedNormal, 1, 0.5f};
  std::tie(mean, deviation) = moments(table);
  EXPECT_NEAR(mean, 1, 0.01);
  EXPECT_NEAR(deviation, 0.4398, 0.01);
  table.initial = {Initial::kConstant, 0.25f};
  std::tie(mean, deviation) = moments(table);
  EXPECT_EQ(mean, 0.25);
  EXPECT_NEAR(deviation, 0, 1e-6);
}

// Row after row, the elements of one stream: what an op draws that fills the whole table.
TEST(Initial, RowsFollowEachOtherInTheStream) {
  TableSpec table = {
      .name = "w", .width = 7, .initial = {Initial::kNormal, 1, 0.5f}, .seed = 5, .stream = 9};
  std::vector<float> all(7 * 50);
  fill_initial_dense(table, {0, 7 * 50}, all);
  for (int64_t key = 0; key < 50; ++key) {
    std::vector<float> row(7);
    fill_initial(table, key, row);
    EXPECT_TRUE(std::equal(row.begin(), row.end(), all.begin() + key * 7)) << key;
  }
  // The same elements of another stream are others; keys below zero count from the end.
  std::vector<float> row(7), other(7);
  fill_initial(table, -1, row);
  table.stream = 10;
  fill_initial(table, -1, other);
  EXPECT_NE(row, other);
}

TEST(Initial, DependsOnSeedAndKeyAlone) {
  TableSpec table = {.name = "w", .width = 5, .initial = {Initial::kUniform, -1, 1}, .seed = 5};
  std::set<std::vector<float>> seen;
  for (const uint64_t seed : {5, 6}) {
    table.seed = seed;
    for (const int64_t key :
         {int64_t{0}, int64_t{1}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
          std::numeric_limits<int64_t>::max(), int64_t{1} << 32}) {
      std::vector<float> row(5), again(5);
      fill_initial(table, key, row);
      fill_initial(table, key, again);
      EXPECT_EQ(row, again);
      EXPECT_TRUE(seen.insert(row).second) << key;
    }
  }
}

TEST(Initial, DenseValuesDoNotDependOnTheCut) {
  const TableSpec table = {
      .name = "w", .kind = TableSpec::kDense, .width = 100, .initial = {Initial::kNormal, 0, 1}};
  std::vector<float> whole(100);
  fill_initial_dense(table, {0, 100}, whole);
  for (const Slice slice : {Slice{0, 1}, Slice{3, 50}, Slice{97, 100}, Slice{5, 5}}) {
    std::vector<float> part(static_cast<size_t>(slice.size()));
    fill_initial_dense(table, slice, part);
    EXPECT_EQ(part, std::vector<float>(whole.begin() + slice.begin, whole.begin() + slice.end));
  }
}

TEST(Initial, ProbabilityAdmitsItsShare) {
  const TableSpec table = {
      .name = "w", .width = 1, .seed = 3, .admission = {Admission::kProbability, 0.25}};
  int admitted = 0;
  for (int64_t key = 0; key < 40000; ++key) admitted += admits(table, key, 1);
  EXPECT_NEAR(admitted, 10000, 400);
}

TEST(Rule, StatePerParameter) {
  const auto state = [](const std::string& text) {
    return Rule(parse_table("table 0 w sparse width=10 rule=" + text)).state_size(10);
  };
  EXPECT_EQ(state("sgd"), 0);
  EXPECT_EQ(state("momentum"), 10);
  EXPECT_EQ(state("adam"), 20);
  EXPECT_EQ(state("adam(row_powers=1)"), 22);
  EXPECT_EQ(state("adamw(coeff=0.1)"), 20);
  EXPECT_EQ(state("adagrad"), 10);
  EXPECT_EQ(state("ftrl"), 20);
  EXPECT_EQ(state("rmsprop"), 20);
  EXPECT_EQ(state("rmsprop(centered=1)"), 30);
  EXPECT_EQ(state("adadelta"), 20);
  EXPECT_EQ(state("adamax"), 20);
  EXPECT_EQ(state("adamax(row_powers=1)"), 21);
  EXPECT_EQ(state("lamb"), 20);
  EXPECT_EQ(state("lars_momentum"), 10);
}

TEST(Rule, StepsAreThoseOfTheFormulas) {
  const auto second_step = [](const std::string& text) {
    const Rule rule(parse_table("table 0 w dense width=1 rule=" + text));
    std::vector<float> param = {1}, state(static_cast<size_t>(rule.state_size(1)));
    rule.start(state, 1);
    Powers powers = rule.first_powers();
    for (int step = 0; step < 2; ++step) {
      rule.apply(param, std::vector<float>{2}, state,
                 {.lr = 0.1f, .beta1_power = powers.beta1, .beta2_power = powers.beta2});
      powers = rule.next(powers);
    }
    return param[0];
  };
  // mean_square 2 and 3, with the rate 0.1 and the gradient 2
  EXPECT_NEAR(second_step("rmsprop(decay=0.5)"), 1 - 0.2 / std::sqrt(2) - 0.2 / std::sqrt(3), 1e-6);
  // less the square of mean_grad, which is 1 and 1.5
  EXPECT_NEAR(second_step("rmsprop(decay=0.5, centered=1)"), 1 - 0.2 - 0.2 / std::sqrt(0.75), 1e-6);
  // the unbiased moment is the gradient, as is the norm
  EXPECT_NEAR(second_step("adamax"), 0.8, 1e-6);
  // the same moments; moment2 is 2 and 3
  EXPECT_NEAR(second_step("adam(beta1=0, beta2=0.5, epsilon=1)"), 1 - 2 * 0.2 / 3, 1e-6);
  EXPECT_NEAR(
      second_step("adam(beta1=0, beta2=0.5, epsilon=1, plain_epsilon=1)"),
      1 - 0.2 * std::sqrt(0.5) / (std::sqrt(2) + 1) - 0.2 * std::sqrt(0.75) / (std::sqrt(3) + 1),
      1e-6);
  // of square_step: 0, and half of the first step's square 4 * 1 / 3
  EXPECT_NEAR(second_step("adadelta(rho=0.5, epsilon=1)"),
              1 - 0.2 / std::sqrt(3) - 0.2 * std::sqrt((2. / 3 + 1) / 4), 1e-6);
}

// What the ops of the same names answer for a parameter of these extents (the tests in ops/optim).
TEST(Rule, LayerwiseStepsTakeTheNormsOfARow) {
  const auto step = [](const std::string& text, std::vector<float> grad, float first) {
    const Rule rule(parse_table("table 0 w sparse width=2 rule=" + text));
    std::vector<float> param = {3, 4}, state(static_cast<size_t>(rule.state_size(2)));
    rule.start(state, 2);
    if (first != 0) std::fill(state.begin(), state.end(), first);
    const Powers powers = rule.first_powers();
    rule.apply(param, grad, state,
               {.lr = 0.1f, .beta1_power = powers.beta1, .beta2_power = powers.beta2});
    return param;
  };
  using ::testing::ElementsAre;
  using ::testing::FloatNear;
  const double decayed = 5 / std::sqrt(2.5 * 2.5 + 9);
  EXPECT_THAT(step("lamb(weight_decay=0.5)", {1, 1}, 0),
              ElementsAre(FloatNear(static_cast<float>(3 - 0.1 * 2.5 * decayed), 1e-5f),
                          FloatNear(static_cast<float>(4 - 0.1 * 3 * decayed), 1e-5f)));
  EXPECT_THAT(step("lamb(weight_decay=0)", {1, 1}, 0),
              ElementsAre(FloatNear(2.9f, 1e-5f), FloatNear(3.9f, 1e-5f)));
  EXPECT_THAT(
      step("lars_momentum(mu=0.5, lars_coeff=0.3, lars_weight_decay=0.2)", {0.6f, 0.8f}, 1),
      ElementsAre(FloatNear(2.5f - 0.075f * 1.2f, 1e-6f), FloatNear(3.5f - 0.075f * 1.6f, 1e-6f)));
}

}  // namespace
}  // namespace flotilla::ps
