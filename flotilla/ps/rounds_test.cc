// flotilla/ps/rounds_test.cc
//
// Workers that send their steps again, before, while and after their round is made.

#include "flotilla/ps/rounds.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>

#include "flotilla/ps/local_call.h"
#include "flotilla/ps/service.h"
#include "flotilla/testing/errors.h"

namespace flotilla::ps {
namespace {

using ::testing::Each;
using Floats = std::vector<float>;

ParkedStep step_of(int rank, uint64_t worker, uint64_t sequence) {
  return {.rank = rank,
          .step = {.has_push = true, .in_round = true, .push = {.ids = {{worker, sequence}}}},
          .call = std::make_shared<LocalCall>(Bytes(), [](const Bytes&, std::exception_ptr) {})};
}

TEST(Rounds, AStepThatIsSentAgainTakesThePlaceOfTheFirst) {
  Rounds rounds(2);
  const ParkedStep first = step_of(0, 10, 1), again = step_of(0, 10, 1);
  EXPECT_EQ(rounds.park(first).before, nullptr);
  EXPECT_EQ(rounds.park(again).before, first.call);
  EXPECT_TRUE(rounds.take_complete().empty());
  rounds.park(step_of(1, 11, 1));
  const std::vector<ParkedStep> round = rounds.take_complete();
  ASSERT_EQ(round.size(), 2u);
  EXPECT_EQ(round[0].call, again.call);
  EXPECT_TRUE(rounds.finish(round, true).empty());
}

TEST(Rounds, AStepThatIsSentAgainBelongsToItsRound) {
  for (const bool applied : {true, false}) {
    Rounds rounds(2);
    rounds.park(step_of(0, 10, 1));
    rounds.park(step_of(1, 11, 1));
    const std::vector<ParkedStep> round = rounds.take_complete();
    ASSERT_EQ(round.size(), 2u);
    // While it is under way.
    const ParkedStep again = step_of(0, 10, 1);
    EXPECT_EQ(rounds.park(again).outcome, Rounds::Parked::kWaits);
    EXPECT_EQ(rounds.waiting(), 0u) << "it must not be part of the next round";
    // The process of rank 1 was started again, and is another worker.
    EXPECT_EQ(rounds.park(step_of(1, 12, 1)).outcome, Rounds::Parked::kWaits);
    EXPECT_EQ(rounds.waiting(), 1u);
    const std::vector<ParkedStep> left = rounds.finish(round, applied);
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].call, again.call);
    // Afterwards: where it was not applied, the worker may try once more.
    EXPECT_EQ(rounds.park(step_of(0, 10, 1)).outcome,
              applied ? Rounds::Parked::kApplied : Rounds::Parked::kWaits);
    EXPECT_EQ(rounds.park(step_of(0, 10, 2)).outcome, Rounds::Parked::kWaits);
    EXPECT_EQ(rounds.take_complete().size(), 2u);
  }
}

TEST(Rounds, RanksThatCallThemselvesTheSameWorkerEndTheirRoundToo) {
  Rounds rounds(2);
  rounds.park(step_of(0, 10, 1));
  rounds.park(step_of(1, 10, 1));
  const std::vector<ParkedStep> round = rounds.take_complete();
  EXPECT_EQ(round.size(), 2u);
  EXPECT_TRUE(rounds.finish(round, false).empty());
}

// The n-th step of a worker, and what becomes of it. Copies share that.
class Sent {
 public:
  Sent(Service& service, int rank, uint64_t n) {
    const Floats ones(4, 1);
    ScatteredStep step = {.in_round = true};
    step.changes.push_back({{.table = 2, .lr = 1}, {ones}});
    Bytes request = heap_bytes(encoded_size(step));
    encode({rank, 2}, step, request.data);
    set_push_id(request.data, {static_cast<uint64_t>(100 + rank), n});
    service.handle(std::make_shared<LocalCall>(
        request, [said = said_](const Bytes&, const std::exception_ptr& error) {
          *said = refusal_of([&] {
            if (error) std::rethrow_exception(error);
          });
        }));
  }
  // The refusal; "(not refused)", "(waits)".
  const std::string& fate() const { return *said_; }

 private:
  const std::shared_ptr<std::string> said_ = std::make_shared<std::string>("(waits)");
};

TEST(Service, AStepThatMeetsTheEndOfItsRoundDoesNotSpoilTheNext) {
  Store store({});
  store.create(parse_table("table 2 fc dense width=4 rule=sgd init=constant(0)"));
  std::vector<Sent> again;
  std::optional<Service> service;
  service.emplace(store, Service::Options{.workers = 2, .threads = 0, .on_round = [&] {
                                            if (again.empty()) again.emplace_back(*service, 0, 1);
                                          }});
  const Sent mine(*service, 0, 1), other(*service, 1, 1);
  for (const Sent& one : {mine, other, again.at(0)}) EXPECT_EQ(one.fate(), "(not refused)");
  const Sent late(*service, 0, 1);
  EXPECT_EQ(late.fate(), "(not refused)");
  // Worker 1 comes first to the next round, which waits for worker 0.
  const Sent next_other(*service, 1, 2);
  EXPECT_EQ(next_other.fate(), "(waits)");
  const Sent next_mine(*service, 0, 2);
  for (const Sent& one : {next_mine, next_other}) EXPECT_EQ(one.fate(), "(not refused)");
  EXPECT_EQ(service->stats().rounds, 2);
  Floats values(4);
  store.pull_dense(2, values);
  EXPECT_THAT(values, Each(-2));
}

TEST(Service, StepsOfARoundThatFailsAreRefusedAlsoWhereTheyWereSentAgain) {
  Store store({});
  store.create(parse_table("table 2 fc dense width=4 rule=sgd init=constant(0)"));
  std::vector<Sent> again;
  std::optional<Service> service;
  service.emplace(store, Service::Options{.workers = 2, .threads = 0, .on_round = [&] {
                                            again.emplace_back(*service, 0, 1);
                                            refuse("the round fails");
                                          }});
  const Sent mine(*service, 0, 1), other(*service, 1, 1);
  for (const Sent& one : {mine, other, again.at(0)}) EXPECT_EQ(one.fate(), "the round fails");
}

TEST(Service, AStepWhoseAnswerIsRefusedIsNotApplied) {
  Store store({});
  store.create(parse_table("table 2 fc dense width=4 rule=sgd init=constant(0)"));
  Service service(store, {.workers = 1, .threads = 0});
  for (const bool in_round : {false, true}) {
    const Floats ones(4, 1);
    ScatteredStep step = {.in_round = in_round, .pulls = {{.table = 3, .dense = true}}};
    step.changes.push_back({{.table = 2, .lr = 1}, {ones}});
    Bytes request = heap_bytes(encoded_size(step));
    encode({0, 1}, step, request.data);
    set_push_id(request.data, {1, 1});
    std::string refusal;
    service.handle(std::make_shared<LocalCall>(request, [&](Bytes, std::exception_ptr error) {
      refusal = refusal_of([&] {
        if (error) std::rethrow_exception(error);
      });
    }));
    EXPECT_EQ(refusal, "there is no table 3");
    EXPECT_EQ(store.last_push(1), 0u);
  }
}

}  // namespace
}  // namespace flotilla::ps
