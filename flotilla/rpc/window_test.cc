// Shared memory between a client and a server: what is opened, what is refused, what is freed.

#include "flotilla/rpc/window.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <random>

#include "flotilla/base/error.h"
#include "flotilla/rpc/data_testing.h"
#include "flotilla/rpc/window_pool.h"
#include "flotilla/testing/errors.h"

namespace flotilla::rpc {
namespace {

using testing::HasSubstr;

constexpr size_t kBytes = 1 << 20;

TEST(Window, PartsDoNotOverlapAndComeBack) {
  const auto window = Window::make(new_client_key(), 0, kBytes);
  std::mt19937 random(7);
  std::vector<std::pair<Payload, std::byte>> held;
  for (int i = 0; i < 3000; ++i) {
    if (auto payload = window->allocate(random() % 20'000); payload && random() % 3 != 0) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(payload->bytes().data()) % kPayloadAlignment, 0);
      const auto value = static_cast<std::byte>(i);
      std::ranges::fill(payload->bytes(), value);
      held.emplace_back(std::move(*payload), value);
    }
    if (!held.empty() && random() % 2 == 0) {
      auto& [payload, value] = held[random() % held.size()];
      EXPECT_TRUE(std::ranges::all_of(payload.bytes(), [&](std::byte b) { return b == value; }));
      std::swap(payload, held.back().first);
      std::swap(value, held.back().second);
      held.pop_back();
    }
  }
  held.clear();
  // All of it is one piece again.
  EXPECT_TRUE(window->allocate(kBytes - sizeof(WindowMark)).has_value());
  EXPECT_FALSE(window->allocate(kBytes).has_value());
}

TEST(Window, BothSidesSeeTheSameBytes) {
  const auto window = Window::make(new_client_key(), 3, kBytes);
  Payload payload = *window->allocate(100);
  std::ranges::fill(payload.bytes(), std::byte{42});
  OpenedWindows opened;
  opened.open(window->card());
  const auto found = opened.find(window->card().client, 3);
  ASSERT_NE(found, nullptr);
  Payload seen = found->at(window->place_of(payload));
  EXPECT_NE(seen.bytes().data(), payload.bytes().data());
  EXPECT_TRUE(std::ranges::equal(seen.bytes(), payload.bytes()));
  EXPECT_EQ(opened.count(), std::pair(uint64_t{1}, uint64_t{kBytes}));
  EXPECT_EQ(opened.find(window->card().client, 4), nullptr);
  EXPECT_EQ(opened.find(new_client_key(), 3), nullptr);
  EXPECT_THAT(refusal_of([&] { opened.open(window->card()); }), HasSubstr("is already open"));
  opened.close(window->card().client);
  EXPECT_EQ(opened.count().first, 0);
  EXPECT_EQ(seen.bytes()[99], std::byte{42});  // still held
}

TEST(Window, PlacesOutsideAreRefused) {
  const auto window = Window::make(new_client_key(), 0, kBytes);
  const auto opened = std::make_shared<OpenedWindow>(window->card());
  opened->at({.offset = 64, .bytes = kBytes - 64});
  opened->at({.offset = kBytes, .bytes = 0});
  for (const Place& place :
       {Place{0, 64}, Place{65, 1}, Place{64, kBytes - 63}, Place{kBytes + 64, 0},
        Place{~uint64_t{63}, 128}, Place{64, ~uint64_t{0}}}) {
    EXPECT_THAT(refusal_of([&] { opened->at(place); }), HasSubstr("do not fit into a window"));
  }
}

// What a client that is not ours could show.
struct Forged {
  explicit Forged(int seals, bool whole, bool marked) {
    EXPECT_EQ(::ftruncate(fd.get(), kBytes), 0);
    if (whole) ::posix_fallocate(fd.get(), 0, kBytes);
    const WindowMark mark = {.client = card.client};
    EXPECT_EQ(::pwrite(fd.get(), &mark, marked ? sizeof mark : 0, 0), marked ? 64 : 0);
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    struct stat status = {};
    ::fstat(fd.get(), &status);
    card.pid = ::getpid();
    card.fd = fd.get();
    card.bytes = kBytes;
    card.inode = status.st_ino;
  }

  Fd fd{::memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  WindowCard card = {.client = new_client_key()};
};

TEST(Window, OnlyWholeSealedMarkedMemoryIsOpened) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  const auto refusal = [](const WindowCard& card) {
    return refusal_of([&] { OpenedWindow window(card); });
  };
  Forged good(kSeals, true, true);
  EXPECT_EQ(refusal(good.card), "(not refused)");
  EXPECT_THAT(refusal(Forged(0, true, true).card), HasSubstr("is not sealed"));
  EXPECT_THAT(refusal(Forged(F_SEAL_GROW, true, true).card), HasSubstr("is not sealed"));
  EXPECT_THAT(refusal(Forged(kSeals, false, true).card), HasSubstr("less memory"));
  EXPECT_THAT(refusal(Forged(kSeals, true, false).card), HasSubstr("its mark"));
  WindowCard larger = good.card;
  larger.bytes *= 2;
  EXPECT_THAT(refusal(larger), HasSubstr("is not a window of"));
  WindowCard another = good.card;
  ++another.inode;
  EXPECT_THAT(refusal(another), HasSubstr("is not a window of"));
  WindowCard closed = good.card;
  closed.fd = 1 << 20;
  EXPECT_THAT(refusal(closed), HasSubstr("is not a window of a process on this host"));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd out(ends[0]), in(ends[1]);
  WindowCard pipe = good.card;
  pipe.fd = out.get();
  EXPECT_THAT(refusal(pipe), HasSubstr("is not a window of a process on this host"));
}

TEST(Window, ThePoolGrowsToItsLimitAndThenUsesTheHeap) {
  std::vector<WindowCard> shown;
  WindowPool pool(size_t{20} << 20);
  EXPECT_FALSE(pool.find(pool.allocate(100'000)));
  pool.begin([&](const WindowCard& card) { shown.push_back(card); });
  std::vector<Payload> held;
  for (int i = 0; i < 30; ++i) held.push_back(pool.allocate(1 << 20));
  size_t total = 0;
  for (const WindowCard& card : shown) total += card.bytes;
  EXPECT_EQ(total, size_t{20} << 20);
  EXPECT_FALSE(pool.find(held[0]));  // the server has not said anything yet
  for (const WindowCard& card : shown) pool.verdict(card.number, true);
  int in_windows = 0;
  for (const Payload& payload : held) in_windows += pool.find(payload).has_value();
  EXPECT_GE(in_windows, 16);
  EXPECT_LT(in_windows, 20);
  EXPECT_FALSE(pool.allocate_opened(1 << 20));
  held.clear();
  EXPECT_TRUE(pool.allocate_opened(1 << 20));
  EXPECT_FALSE(pool.allocate_opened(100));  // not worth it
}

TEST(Window, WithoutMemoryToShareThePoolUsesTheHeap) {
  WindowPool pool(size_t{64} << 20);
  int shown = 0;
  pool.begin([&](const WindowCard&) { ++shown; });
  // No descriptors would do as well, but the sanitizers need some.
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  Payload payload = pool.allocate(100'000);
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(payload.size(), 100'000);
  EXPECT_EQ(shown, 0);
  EXPECT_FALSE(pool.find(payload));
}

TEST(Window, WhatHasNoAnswerIsNotUsedAgain) {
  std::vector<WindowCard> shown;
  WindowPool pool(size_t{64} << 20);
  pool.begin([&](const WindowCard& card) { shown.push_back(card); });
  Payload first = pool.allocate(10'000);
  pool.verdict(0, true);
  EXPECT_EQ(pool.find(first)->window, 0);
  std::ranges::fill(first.bytes(), std::byte{1});
  pool.retire(first);
  EXPECT_FALSE(pool.find(first));
  Payload second = pool.allocate(10'000);
  EXPECT_EQ(shown.size(), 2);
  pool.verdict(1, true);
  EXPECT_EQ(pool.find(second)->window, 1);
  EXPECT_EQ(first.bytes()[9'999], std::byte{1});  // to be sent once more
  pool.verdict(1, false);                         // never happens after true, and is no harm
  EXPECT_FALSE(pool.find(pool.allocate(10'000)));
}

TEST(SharedPayloads, AreUsedOnOneHost) {
  DataServer server(serve(echo));
  DataClient client(to(server.address()));
  ASSERT_TRUE(shares(client));
  EXPECT_EQ(server.stats().windows, 1);
  const uint64_t replies = client.stats().shared_replies;
  // A small request with a large answer, the other way round, and an answer larger than its room.
  EXPECT_EQ(ask(client, "small", 10'000).get(), "small");
  EXPECT_EQ(client.stats().shared_replies, replies + 1);
  const std::string large = long_text(200'000);
  EXPECT_TRUE(ask(client, large, 0).get() == large);
  EXPECT_TRUE(ask(client, large, 199'999).get() == large);
  EXPECT_EQ(client.stats().shared_replies, replies + 1);
  EXPECT_EQ(server.stats().malformed, 0);
}

TEST(SharedPayloads, AnAnswerForManyIsCopiedToEach) {
  Shelf shelf;
  DataServer server(serve([&](std::shared_ptr<DataCall> call) {
    call->request().size() == 50'000 ? echo(call) : shelf.put(call);
  }));
  DataClient a(to(server.address())), b(to(server.address()));
  ASSERT_TRUE(shares(a) && shares(b));
  auto first = ask(a, "x", 100'000);
  auto second = ask(b, "x", 100'000);
  Payload both(100'000);
  std::ranges::fill(both.bytes(), std::byte{'y'});
  for (int i = 0; i < 2; ++i) shelf.take()->answer(both.share());
  EXPECT_EQ(first.get(), std::string(100'000, 'y'));
  EXPECT_EQ(second.get(), std::string(100'000, 'y'));
}

TEST(SharedPayloads, ManyAtATimeStayApart) {
  DataServer server(serve(echo));
  DataClient client(to(server.address()));
  ASSERT_TRUE(shares(client));
  std::vector<std::pair<std::string, std::future<std::string>>> asked;
  for (int i = 0; i < 400; ++i) {
    const std::string sent = std::to_string(i) + long_text(i * 400);
    asked.emplace_back(sent, ask(client, sent, sent.size()));
  }
  for (auto& [sent, answer] : asked) EXPECT_TRUE(answer.get() == sent);
}

TEST(SharedPayloads, AreShownAgainToANewServer) {
  const Fd kept = listening();
  std::unique_ptr<DataClient> client;
  for (int attempt = 0; attempt < 3; ++attempt) {
    DataServer::Options options = serve(echo);
    options.listener = Fd(::dup(kept.get()));
    DataServer server(std::move(options));
    if (!client) client = std::make_unique<DataClient>(to(server.address()));
    ASSERT_TRUE(soon([&] { return answers(*client); }));
    EXPECT_TRUE(shares(*client)) << attempt;
  }
}

TEST(SharedPayloads, AreUnmappedWhenTheClientIsGone) {
  DataServer server(serve(echo));
  {
    DataClient client(to(server.address()));
    ASSERT_TRUE(shares(client));
    EXPECT_GT(server.stats().window_bytes, 0);
  }
  EXPECT_TRUE(soon([&] { return server.stats().windows == 0; }));

  const Fd listener = listening();
  Child child("DataProcesses.DISABLED_Client", listener);
  DataServer::Options options = serve(echo);
  options.listener = Fd(::dup(listener.get()));
  DataServer other(std::move(options));
  EXPECT_TRUE(soon([&] { return other.stats().windows > 0; }));
  child.kill();
  EXPECT_TRUE(soon([&] { return other.stats().windows == 0; }));
}

TEST(SharedPayloads, OutliveTheirClient) {
  DataServer server(serve(echo));
  Payload kept;
  {
    DataClient client(to(server.address()));
    ASSERT_TRUE(shares(client));
    std::promise<Payload> promise;
    client.call(written(client, long_text(5000)), 5000,
                [&](Payload reply, std::exception_ptr) { promise.set_value(std::move(reply)); });
    kept = promise.get_future().get();
  }
  EXPECT_EQ(text(kept), long_text(5000));
}

}  // namespace
}  // namespace flotilla::rpc
