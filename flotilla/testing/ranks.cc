#include "flotilla/testing/ranks.h"

#include <exception>
#include <future>
#include <thread>

#include "flotilla/comm/processes.h"
#include "flotilla/comm/threads/threads.h"
#include "flotilla/rpc/store_client.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::testing {

void run_worlds(std::vector<std::unique_ptr<comm::World>> worlds,
                const std::function<void(comm::World&)>& body) {
  std::vector<std::exception_ptr> errors(worlds.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < worlds.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        body(*worlds[r]);
      } catch (const std::exception& error) {
        errors[r] = std::current_exception();
        worlds[r]->abort(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void run_ranks(int size, const std::function<void(comm::World&)>& body) {
  run_worlds(comm::make_threads(size), body);
}

std::vector<std::unique_ptr<comm::World>> process_worlds(int size,
                                                         const std::function<int(int rank)>& host) {
  const auto server = std::make_shared<rpc::StoreServer>(rpc::StoreServer::Options{.token = "t"});
  std::vector<std::future<std::unique_ptr<comm::World>>> coming;
  for (int r = 0; r < size; ++r) {
    coming.push_back(std::async(std::launch::async, [=] {
      auto* client = new rpc::StoreClient({.address = server->address(),
                                           .token = "t",
                                           .self = {.role = "worker", .rank = r, .host = "here"}});
      // The server goes after its last client.
      const std::shared_ptr<rpc::StoreClient> store(
          client, [server](rpc::StoreClient* last) { delete last; });
      return comm::make_processes(
          {.store = store, .rank = r, .size = size, .apart = host ? host(r) : 0});
    }));
  }
  std::vector<std::unique_ptr<comm::World>> worlds;
  for (auto& world : coming) worlds.push_back(world.get());
  return worlds;
}

}  // namespace flotilla::testing
