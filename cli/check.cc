// flotilla check data: whether files hold what a training would read. Prints a line for each file
// and each problem, and exits with 1 where there is a problem.
// flotilla check --ips: whether hosts reach each other. Run it on all of them at once.

#include "flotilla/data/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/launch/check_hosts.h"
#include "flotilla/launch/job.h"

namespace flotilla::cli {
namespace {

struct CheckDataOptions {
  std::vector<std::string> files;
  std::string slots;
  std::string delimiter = ",";
  data::CheckOptions check;
};

char delimiter_of(const std::string& word) {
  if (word == "tab" || word == "\\t") return '\t';
  if (word == "blank") return ' ';
  require(word.size() == 1, "the delimiter must be a single character, tab or blank, but is \"{}\"",
          word);
  return word[0];
}

void print(const std::string& file, const data::CheckReport& report) {
  if (!report.kind.empty()) {
    fmt::print("{}: {}, {} record{}, {} problem{}\n", file, report.kind, report.records,
               report.records == 1 ? "" : "s", report.problem_count,
               report.problem_count == 1 ? "" : "s");
  }
  for (const std::string& problem : report.problems) fmt::print("{}\n", problem);
  const auto shown = static_cast<int64_t>(report.problems.size());
  if (report.problem_count > shown) {
    fmt::print("{}: {} more problems\n", file, report.problem_count - shown);
  }
}

void check(CheckDataOptions options) {
  if (!options.slots.empty()) options.check.slots = data::parse_slots(options.slots);
  options.check.csv.delimiter = delimiter_of(options.delimiter);
  int64_t records = 0, problems = 0;
  for (const std::string& file : options.files) {
    const data::CheckReport report = data::check_file(file, options.check);
    print(file, report);
    records += report.records;
    problems += report.problem_count;
  }
  if (options.files.size() > 1) {
    fmt::print("{} files, {} records, {} problems\n", options.files.size(), records, problems);
  }
  if (problems > 0) throw CLI::RuntimeError(1);
}

void check_network(const std::string& ips, const launch::JobOptions& self,
                   launch::CheckHostsOptions options) {
  options.hosts = split_list(ips);
  for (const std::string& host : options.hosts) {
    require(!host.empty() && std::count(options.hosts.begin(), options.hosts.end(), host) == 1,
            "--ips must be a comma-separated list of different hosts, but is \"{}\"", ips);
  }
  require(options.hosts.size() > 1, "--ips must name at least two hosts, but is \"{}\"", ips);
  options.self = launch::find_self(options.hosts, self, launch::this_machine("flotilla"), "--ips");
  const launch::CheckHostsReport report = launch::check_hosts(options);
  fmt::print("{}", launch::text_of(report));
  if (!report.ok()) throw CLI::RuntimeError(1);
}

void add_check_network(CLI::App& cmd) {
  auto ips = std::make_shared<std::string>();
  auto self = std::make_shared<launch::JobOptions>();
  auto options = std::make_shared<launch::CheckHostsOptions>();
  options->port = env::number_or("FLT_STORE_PORT", options->port, 1, 65535);
  cmd.add_option("--ips", *ips,
                 "Hosts of the job, comma-separated; run the same command on each of them to test "
                 "every connection");
  cmd.add_option("--host", self->node_ip, "Which of these hosts this one is (detected by default)");
  cmd.add_option("--port", options->port, "Port on which the hosts listen for each other")
      ->capture_default_str();
  cmd.add_option("--seconds", options->seconds,
                 "How long to wait for hosts that do not answer, in seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cmd.callback([&cmd, ips, self, options] {
    if (!cmd.get_subcommands().empty()) return;
    require(!ips->empty(), "nothing to check: give data with files, or --ips with hosts");
    check_network(*ips, *self, *options);
  });
}

}  // namespace

void add_check(CLI::App& app) {
  auto options = std::make_shared<CheckDataOptions>();
  CLI::App* cmd = app.add_subcommand("check", "Validate data files and the network before a run");
  cmd->require_subcommand(0, 1);
  add_check_network(*cmd);
  CLI::App* files = cmd->add_subcommand(
      "data",
      "Read data files as a training run would: IDX, JPEG, PNG, multi-slot text, Criteo, CSV");
  files->add_option("file", options->files, "Data files, plain or compressed with gzip")
      ->required();
  files->add_option(
      "--format", options->check.format,
      "idx, image, multi_slot, criteo or csv (detected from the first bytes by default)");
  files->add_option("--slots", options->slots,
                    "Fields of a record: name:dtype:shape,... e.g. x:f32:13,ids:i64:seq,y:i64");
  files->add_option(
      "--pipe-command", options->check.pipe_command,
      "Command through which each file is piped before it is parsed, as in QueueDataset");
  files
      ->add_option("--delimiter", options->delimiter,
                   "Delimiter of a table: a character, tab or blank")
      ->capture_default_str();
  files->add_flag("--header", options->check.csv.header, "The first line names the columns");
  files->add_flag("--allow-empty", options->check.csv.allow_empty, "Allow missing values");
  files
      ->add_option("--max-problems", options->check.max_problems,
                   "How many problems to show for each file")
      ->capture_default_str();
  files->callback([options] { check(*options); });
}

}  // namespace flotilla::cli
