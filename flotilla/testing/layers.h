// flotilla/testing/layers.h
//
// What the tests of layers share: every test builds into programs of its own, with fresh names.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "flotilla/kernel/random.h"
#include "flotilla/layers/context.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/testing/programs.h"

namespace flotilla::layers {

class LayersTest : public ::testing::Test {
 protected:
  std::string ops() const { return ops_of(*main_); }
  std::string startup_ops() const { return ops_of(*startup_); }

  // Runs the startup program once, then the main program; dense results.
  std::vector<Tensor> run(const std::vector<Feed>& feeds, const std::vector<std::string>& fetches) {
    if (!started_) executor_.run(*startup_, {}, {}, scope_);
    started_ = true;
    std::vector<Tensor> values;
    for (const FetchedValue& value : executor_.run(*main_, feeds, fetches, scope_)) {
      values.push_back(dense(value));
    }
    return values;
  }

  std::shared_ptr<Program> main_ = std::make_shared<Program>();
  std::shared_ptr<Program> startup_ = std::make_shared<Program>();
  Scope scope_;

 private:
  ProgramGuard programs_{main_, startup_};
  NameGuard names_;
  Generator generator_{1};
  Executor executor_{{.generator = &generator_}};
  bool started_ = false;
};

}  // namespace flotilla::layers
