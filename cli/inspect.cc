// flotilla inspect program: what a program file holds, and what its plan would be. Parameters are
// not needed: their shapes are in the program.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "flotilla/base/error.h"
#include "flotilla/ir/text.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/runtime/model_io.h"

namespace flotilla::cli {
namespace {

struct InspectOptions {
  std::string file;
  int64_t batch = 1;
  std::vector<std::string> fetches;
  bool plan = true;
};

// Text where it reads as text, otherwise the wire format.
std::shared_ptr<Program> load(const std::string& file) {
  const std::string bytes = read_file(file);
  const bool is_text = bytes.find('\0') == std::string::npos && !bytes.empty() && bytes[0] >= ' ';
  return is_text ? parse(bytes) : deserialize_program(bytes);
}

Shape with_batch(Shape shape, int64_t batch) {
  for (int64_t a = 0; a < shape.rank(); ++a) shape[a] = shape[a] < 0 ? batch : shape[a];
  return shape;
}

std::vector<Feed> make_feeds(const Program& program, int64_t batch) {
  std::vector<Feed> feeds;
  const std::vector<std::string> fed = feed_names(program);
  for (const auto& var : program.global_block().vars()) {
    const bool is_fed = std::find(fed.begin(), fed.end(), var->name) != fed.end();
    if (var->is_data || is_fed) {
      feeds.push_back({var->name, Tensor(var->dtype, with_batch(var->shape, batch))});
    }
  }
  return feeds;
}

// Every persistable variable exists, so that a plan can be made; large ones cost no memory until
// they are touched.
void fill(const Program& program, Scope& scope) {
  for (const std::string& name : persistable_names(program)) {
    const Var& var = program.global_block().var(name);
    if (var.shape.known()) scope.var(name) = Tensor(var.dtype, var.shape);
  }
}

void inspect(const InspectOptions& options) {
  const std::shared_ptr<Program> program = load(options.file);
  fmt::print("{}\n", print(*program));
  if (!options.plan) return;
  std::vector<std::string> fetches = options.fetches;
  if (fetches.empty()) fetches = fetch_names(*program);
  Scope scope;
  fill(*program, scope);
  Executor executor;
  const std::vector<Feed> feeds = make_feeds(*program, options.batch);
  fmt::print("{}", executor.plan(*program, feeds, fetches, scope).print());
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* cmd = app.add_subcommand("inspect", "Show a program, a running job or an operator");
  cmd->require_subcommand(1);
  CLI::App* program = cmd->add_subcommand(
      "program",
      "Show ops, variables, plan steps, layouts, peak memory and how much of it reuse saved");
  program->add_option("file", options->file, "__model__, .pdmodel, or a program as text")
      ->required();
  program
      ->add_option("--batch", options->batch, "Extent to use where the program leaves one unknown")
      ->capture_default_str();
  program
      ->add_option("--fetch", options->fetches,
                   "Variables to fetch (those of the fetch ops by default)")
      ->delimiter(',');
  program->add_flag("!--no-plan", options->plan, "Show the program without its plan");
  program->callback([options] { inspect(*options); });
  add_inspect_job(*cmd);
  add_inspect_op(*cmd);
}

}  // namespace flotilla::cli
