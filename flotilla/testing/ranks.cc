#include "flotilla/testing/ranks.h"

#include <exception>
#include <thread>

#include "flotilla/comm/threads/threads.h"

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

}  // namespace flotilla::testing
