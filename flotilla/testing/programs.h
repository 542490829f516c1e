// flotilla/testing/programs.h
//
// Whole programs in tests, as text.
//
//   const auto program = parse(R"(
//     var x f32[2] data
//     toy_square(X=x) -> y
//   )");
//   run_pass(passes::fuse_fc, *program);
//   EXPECT_EQ(ops_of(*program), text(R"(
//     toy_square(X=x) -> y
//   )"));

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/ir/text.h"
#include "flotilla/passes/pass.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {

// The ops of the global block, one line each, without what every op carries.
std::string ops_of(const Program& program);

// `block` without the blank lines around it and without its indentation.
std::string text(std::string_view block);

// A program with its inferred shapes: parses, then appends op after op, so that variables need not
// be declared and attributes get their kinds.
std::shared_ptr<Program> build(std::string_view program_text);

// Runs one pass and verifies what it left.
void run_pass(passes::Pass pass, Program& program, const std::vector<std::string>& fetches = {});

// Expects the same results from the program as it is and after the pass, which must change it.
// Fetches may name persistable variables: they are compared as the run leaves them.
void expect_same_results(passes::Pass pass, const Program& program, const std::vector<Feed>& feeds,
                         const std::vector<std::string>& fetches,
                         const std::vector<Feed>& persistables = {}, double tolerance = 1e-6);

// Sets a variable of the environment while it lives.
class EnvGuard {
 public:
  EnvGuard(std::string name, const std::string& value);
  ~EnvGuard();
  EnvGuard(const EnvGuard&) = delete;
  EnvGuard& operator=(const EnvGuard&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace flotilla
