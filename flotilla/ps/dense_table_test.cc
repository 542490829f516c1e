// flotilla/ps/dense_table_test.cc

#include "flotilla/ps/dense_table.h"

#include <gmock/gmock.h>

#include <cmath>

#include "flotilla/testing/errors.h"
#include "flotilla/update/adam.h"

namespace flotilla::ps {
namespace {

using Floats = std::vector<float>;
using ::testing::Each;
using ::testing::ElementsAre;

Floats ramp(size_t n, float start, float step) {
  Floats made(n);
  for (size_t i = 0; i < n; ++i) made[i] = start + step * static_cast<float>(i);
  return made;
}

Floats all_of(const DenseTable& table) {
  Floats all(table.values().begin(), table.values().end());
  all.insert(all.end(), table.state().begin(), table.state().end());
  return all;
}

TEST(DenseTable, SlicesTogetherAreTheOpOfOneProcess) {
  const TableSpec spec =
      parse_table("table 0 w dense width=1003 rule=adam init=normal(0, 1) seed=3");
  DenseTable whole(spec, {});
  Floats p(whole.values().begin(), whole.values().end()), m(1003), v(1003);
  std::vector<DenseTable> parts;
  for (int i = 0; i < 3; ++i) parts.emplace_back(spec, Share{i, 3});
  const Rule rule(spec);
  Powers powers = rule.first_powers();
  for (int step = 0; step < 10; ++step) {
    const Floats grad = ramp(1003, -0.3f * static_cast<float>(step), 0.001f);
    const Round round = {.lr = 0.01f, .beta1_power = powers.beta1, .beta2_power = powers.beta2};
    for (DenseTable& part : parts) {
      const auto begin = static_cast<size_t>(part.slice().begin);
      const auto size = static_cast<size_t>(part.slice().size());
      part.push(std::span(grad).subspan(begin, size), {.round = round});
    }
    update::adam(p, grad, m, v,
                 {.lr = 0.01f, .beta1_power = powers.beta1, .beta2_power = powers.beta2});
    powers = rule.next(powers);
  }
  Floats joined;
  for (const DenseTable& part : parts) {
    joined.insert(joined.end(), part.values().begin(), part.values().end());
  }
  EXPECT_EQ(joined, p);
}

// 10 - (1 + 3) / 2 = 8, as Paddle 1.8's synchronous servers do.
TEST(DenseTable, TheSumOfTheWorkersIsDividedByTheirNumber) {
  DenseTable table(parse_table("table 0 w dense width=2 rule=sgd init=constant(10)"), {});
  table.push(Floats{4, 4}, {.round = {.lr = 1}, .scale = 0.5f});
  EXPECT_THAT(table.values(), Each(8));
  table.push(Floats{1, 2}, {.action = Action::kDelta});
  EXPECT_THAT(table.values(), ElementsAre(9, 10));
  table.push(Floats{5, 6}, {.action = Action::kAssign});
  EXPECT_THAT(table.values(), ElementsAre(5, 6));
}

TEST(DenseTable, RefusesAGradientThatIsNotFinite) {
  DenseTable table(parse_table("table 0 w dense width=2 rule=sgd l2=0.5 init=constant(1)"), {});
  table.push(Floats{0, std::nanf("")}, {.round = {.lr = 1}});
  EXPECT_THAT(table.values(), Each(1));
  EXPECT_EQ(table.refused(), 1);
  table.push(Floats{0, 0}, {.round = {.lr = 1}});
  EXPECT_THAT(table.values(), Each(0.5f));
}

TEST(DenseTable, LoadsFromAnyCut) {
  const TableSpec spec = parse_table("table 0 w dense width=100 rule=ftrl init=uniform(-1, 1)");
  DenseTable whole(spec, {});
  whole.push(ramp(100, 1, 0.1f), {.round = {.lr = 0.1f}});
  std::vector<DenseTable> three;
  for (int i = 0; i < 3; ++i) {
    three.emplace_back(spec, Share{i, 3}).load(whole.save(), whole.slice(), 1);
  }
  DenseTable again(spec, {});
  for (const DenseTable& part : three) again.load(part.save(), part.slice(), 1);
  EXPECT_EQ(all_of(again), all_of(whole));
  EXPECT_REFUSED(again.load(whole.save(), three[0].slice(), 1),
                 "32 floats of table w with their state have 384 bytes, but there are 1200");
}

}  // namespace
}  // namespace flotilla::ps
