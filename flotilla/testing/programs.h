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

#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/ir/text.h"
#include "flotilla/passes/pass.h"

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

}  // namespace flotilla
