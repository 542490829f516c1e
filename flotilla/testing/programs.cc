#include "flotilla/testing/programs.h"

#include <algorithm>
#include <cstdlib>

#include "flotilla/base/env.h"
#include "flotilla/ir/verify.h"
#include "flotilla/op/build.h"

namespace flotilla {
namespace {

std::vector<std::string_view> lines_of(std::string_view block) {
  std::vector<std::string_view> lines;
  while (!block.empty()) {
    const size_t end = std::min(block.find('\n'), block.size());
    lines.push_back(block.substr(0, end));
    block.remove_prefix(std::min(end + 1, block.size()));
  }
  return lines;
}

size_t indentation(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_blank(std::string_view line) { return indentation(line) == line.size(); }

}  // namespace

std::string ops_of(const Program& program) {
  std::string out;
  for (const auto& op : program.global_block().ops()) out += print(*op) + "\n";
  return out;
}

std::string text(std::string_view block) {
  size_t least = std::string_view::npos;
  const std::vector<std::string_view> lines = lines_of(block);
  for (const std::string_view line : lines) {
    if (!is_blank(line)) least = std::min(least, indentation(line));
  }
  std::string out;
  for (const std::string_view line : lines) {
    if (!is_blank(line)) out += std::string(line.substr(least)) + "\n";
  }
  return out;
}

std::shared_ptr<Program> build(std::string_view program_text) {
  const std::shared_ptr<Program> parsed = parse(program_text);
  auto program = std::make_shared<Program>();
  Block& block = program->global_block();
  for (const auto& var : parsed->global_block().vars()) block.add_var(*var);
  for (const auto& op : parsed->global_block().ops()) {
    append_op(block, op->type(), op->inputs(), op->outputs(), op->attrs());
  }
  return program;
}

void run_pass(passes::Pass pass, Program& program, const std::vector<std::string>& fetches) {
  passes::PassContext context = {.main = program, .fetches = {fetches.begin(), fetches.end()}};
  pass(context);
  verify(program, Stage::kParallel);
}

void expect_same_results(passes::Pass pass, const Program& program, const std::vector<Feed>& feeds,
                         const std::vector<std::string>& fetches,
                         const std::vector<Feed>& persistables, double tolerance) {
  const EnvGuard only_this_pass("FLT_SKIP_PASSES", "all");
  const std::shared_ptr<Program> changed = program.clone();
  run_pass(pass, *changed, fetches);
  EXPECT_NE(ops_of(*changed), ops_of(program)) << "the pass changed nothing";
  const auto fresh = [&] {
    std::vector<Feed> copies = persistables;
    for (Feed& feed : copies) feed.tensor = feed.tensor.clone();
    return copies;
  };
  const std::vector<Tensor> expected = run_program(program, feeds, fetches, fresh());
  const std::vector<Tensor> found = run_program(*changed, feeds, fetches, fresh());
  for (size_t i = 0; i < fetches.size(); ++i) {
    EXPECT_LE(distance(found[i], expected[i]), tolerance)
        << fetches[i] << "\n  is     " << ::testing::PrintToString(found[i]) << "\n  not    "
        << ::testing::PrintToString(expected[i]);
  }
}

EnvGuard::EnvGuard(std::string name, const std::string& value)
    : name_(std::move(name)), before_(env::text(name_)) {
  setenv(name_.c_str(), value.c_str(), 1);
}

EnvGuard::~EnvGuard() {
  if (before_.has_value()) {
    setenv(name_.c_str(), before_->c_str(), 1);
  } else {
    unsetenv(name_.c_str());
  }
}

}  // namespace flotilla
