#include "flotilla/testing/programs.h"

#include <algorithm>

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
  passes::PassContext context(fetches);
  pass(program, context);
  verify(program, Stage::kParallel);
}

}  // namespace flotilla
