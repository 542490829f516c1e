#include "flotilla/rpc/one_thread_engine.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <future>
#include <thread>

#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/store_client.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::rpc {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

int threads_here() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

bool soon(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!done() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(10ms);
  return done();
}

TEST(OneThreadEngine, HasAThreadOnlyWhileThereAreTasks) {
  std::thread([] {}).join();  // the first brings one of tsan's own
  const int before = threads_here();
  const auto engine = one_thread_engine(/*idle=*/50ms);
  EXPECT_EQ(threads_here(), before);
  for (int i = 0; i < 2; ++i) {
    std::promise<void> done;
    const auto late = engine->RunAfter(1h, [] {});
    engine->Run([&] { done.set_value(); });
    ASSERT_EQ(done.get_future().wait_for(30s), std::future_status::ready);
    EXPECT_EQ(threads_here(), before + 1);
    EXPECT_TRUE(engine->Cancel(late));
    EXPECT_TRUE(soon([&] { return threads_here() == before; }));
  }
}

// Tasks that come while the thread is about to end.
TEST(OneThreadEngine, NoTaskIsLeftBehind) {
  const auto engine = one_thread_engine(/*idle=*/1ms);
  for (int i = 0; i < 500; ++i) {
    std::promise<void> done;
    engine->Run([&] { done.set_value(); });
    ASSERT_EQ(done.get_future().wait_for(30s), std::future_status::ready);
    std::this_thread::sleep_for(900us + i % 20 * 10us);
  }
}

TEST(OneThreadEngine, RunsTasksInTheOrderOfTheirTimes) {
  const auto engine = one_thread_engine();
  std::vector<int> order;
  std::promise<void> done;
  engine->RunAfter(60ms, [&] {
    order.push_back(3);
    done.set_value();
  });
  engine->RunAfter(20ms, [&] { order.push_back(2); });
  engine->Run([&] { order.push_back(1); });
  ASSERT_EQ(done.get_future().wait_for(30s), std::future_status::ready);
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(OneThreadEngine, ATaskThatIsCancelledDoesNotRun) {
  const auto engine = one_thread_engine();
  bool ran = false;
  const auto late = engine->RunAfter(1h, [&] { ran = true; });
  EXPECT_TRUE(engine->Cancel(late));
  EXPECT_FALSE(engine->Cancel(late));
  EXPECT_FALSE(ran);
}

TEST(OneThreadEngine, ATaskMayTakeTheEngineWithIt) {
  auto engine = one_thread_engine();
  std::promise<bool> inside;
  auto* raw = engine.get();
  std::promise<void> handed_over;
  raw->Run([&, whole = std::move(engine)]() mutable {
    handed_over.get_future().wait();
    inside.set_value(raw->IsWorkerThread());
  });
  EXPECT_FALSE(raw->IsWorkerThread());
  handed_over.set_value();
  EXPECT_TRUE(inside.get_future().get());
}

TEST(OneThreadEngine, ConnectionsNeedTheThreadsThatAreDocumented) {
  const int before = threads_here();
  const StoreServer server({.token = "t"});
  const StoreClient client({.address = server.address(), .token = "t"});
  // The engine, gRPC's own and the door of the server; other tests of this process may have started
  // some of them.
  EXPECT_LE(threads_here() - before, grpc_threads() + 1);
}

}  // namespace
}  // namespace flotilla::rpc
