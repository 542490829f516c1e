#include "flotilla/launch/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "flotilla/base/utf8.h"
#include "flotilla/rpc/early_end.h"

namespace flotilla::launch {
namespace {

std::string rule() { return std::string(48, '-') + "\n"; }

std::string json_of(const Outcome& outcome) {
  std::string end = "null";
  if (outcome.ended) {
    end = outcome.ending.signal != 0
              ? fmt::format("{{\"signal\":{}}}", outcome.ending.signal)
              : fmt::format("{{\"exit_code\":{}}}", outcome.ending.exit_code);
  }
  return fmt::format(
      "{{\"role\":{},\"rank\":{},\"host\":{},\"pid\":{},\"attempt\":{},\"log\":{},"
      "\"seconds\":{:.3f},\"stuck\":{},\"end\":{}}}",
      in_quotes(outcome.role), outcome.rank, in_quotes(outcome.host), outcome.pid, outcome.attempt,
      in_quotes(outcome.log), outcome.seconds, outcome.stuck.empty() ? "null" : in_quotes(outcome.stuck),
      end);
}

std::string doing_of(const Standing& one) {
  if (one.doing.empty()) return one.stopped ? "stopped by a signal" : "has not joined the job";
  return (one.stopped ? "stopped by a signal; before, " : "") + one.doing;
}

// Who ended while the culprit waited for it: that one is to be looked at, though the one that
// waited is the first that failed. "": nobody.
std::string early_end_in(std::string_view raised, const Outcome& culprit,
                         const std::vector<Standing>& others) {
  if (!culprit.stuck.empty()) return "";
  if (const std::string_view early = rpc::find_early_end(raised); !early.empty()) {
    return std::string(early);
  }
  // It may have left without a word, by os._exit(0).
  const std::optional<int64_t> lost = rpc::find_lost_rank(raised);
  for (const Standing& one : others) {
    if (one.role == "worker" && one.rank == lost && one.doing == kHadEnded) {
      return fmt::format("{} ended with exit code 0 while {} waited for it", one.name(),
                         culprit.name());
    }
  }
  return "";
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string made = "\"";
  for (const char c : valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      made += {'\\', c};
    } else if (byte < 0x20) {
      made += fmt::format("\\u{:04x}", byte);
    } else {
      made += c;
    }
  }
  return made + "\"";
}

std::string Outcome::name() const { return fmt::format("{} {}", role, rank); }

std::string exception_in(const std::vector<std::string>& lines) {
  bool traceback = false;
  std::string found;
  for (const std::string& line : lines) {
    if (line.starts_with("Traceback (most recent call last)")) traceback = true;
    // The first line behind the frames that is not indented: "ValueError: ...".
    if (!traceback || line.empty() || line[0] == ' ' || line.starts_with("Traceback")) continue;
    found = line;
    traceback = false;
  }
  if (!found.empty()) return found;
  // The traceback may have begun before the lines at hand.
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const size_t colon = line->find(": ");
    if (colon == std::string::npos || line->find(' ') < colon) continue;
    const std::string_view word(line->data(), colon);
    if (word.ends_with("Error") || word.ends_with("Exception")) return *line;
  }
  return "";
}

int Outcome::job_code() const {
  constexpr int kTimeIsUp = 124;  // as timeout(1) has it
  return stuck.empty() ? ending.shell_code() : kTimeIsUp;
}

std::string sentence_of(const Outcome& culprit) {
  const std::string who =
      fmt::format("{} (pid {} on {})", culprit.name(), culprit.pid, culprit.host);
  if (!culprit.stuck.empty()) return fmt::format("{} {}", who, culprit.stuck);
  const std::string raised = exception_in(culprit.last_lines);
  if (const std::string early = early_end_in(raised, culprit, {}); !early.empty()) {
    return fmt::format("{}; {} then failed: {}", early, who, to_string(culprit.ending));
  }
  return fmt::format("{} failed: {}", who, to_string(culprit.ending));
}

std::string failure_block(const Outcome& culprit, const std::vector<Standing>& others) {
  std::string text = rule();
  const std::string raised = exception_in(culprit.last_lines);
  if (const std::string early = early_end_in(raised, culprit, others); !early.empty()) {
    text += fmt::format("{}\n  {} then failed, after {:.1f} s: {}\n", early, culprit.name(),
                        culprit.seconds, to_string(culprit.ending));
  } else if (culprit.stuck.empty()) {
    text += fmt::format("{} failed first, after {:.1f} s: {}\n", culprit.name(), culprit.seconds,
                        to_string(culprit.ending));
  } else {
    text += fmt::format("{} {}: the job was ended\n", culprit.name(), culprit.stuck);
  }
  text += fmt::format("  host {}, pid {}{}\n", culprit.host, culprit.pid,
                      culprit.attempt > 0 ? fmt::format(", attempt {}", culprit.attempt + 1) : "");
  if (!culprit.log.empty()) text += fmt::format("  log  {}\n", culprit.log);
  if (!raised.empty()) text += fmt::format("  raised  {}\n", raised);
  if (!culprit.last_lines.empty()) text += "  the end of its output:\n";
  for (const std::string& line : culprit.last_lines) text += fmt::format("    {}\n", line);
  if (const std::string table = standing_table(others); !table.empty()) {
    text += "  what the others were doing:\n" + table;
  }
  return text + rule();
}

std::string Standing::name() const { return fmt::format("{} {}", role, rank); }

std::vector<Standing> together(const std::vector<std::vector<Standing>>& parts,
                               const std::string& without) {
  // Servers first.
  std::map<std::tuple<bool, std::string, int64_t>, Standing> rows;
  bool worth_telling = false;
  for (const std::vector<Standing>& part : parts) {
    for (const Standing& one : part) {
      if (one.name() == without) continue;
      Standing& row = rows[{one.role != "server", one.role, one.rank}];
      const bool stopped = row.stopped || one.stopped;
      // Its own host sees that it is stopped; the host with the store hears what it says.
      if (row.role.empty() || !one.doing.empty()) row = one;
      row.stopped = stopped;
      worth_telling = worth_telling || stopped || !one.doing.empty();
    }
  }
  std::vector<Standing> all;
  for (const auto& [key, row] : rows) all.push_back(row);
  return worth_telling ? all : std::vector<Standing>();
}

std::string standing_table(const std::vector<Standing>& standing) {
  size_t name = 0;
  size_t host = 0;
  for (const Standing& one : standing) {
    name = std::max(name, one.name().size());
    host = std::max(host, one.host.size());
  }
  std::string text;
  for (const Standing& one : standing) {
    text += fmt::format("    {:<{}}  {:<{}}  {:<10}  {}\n", one.name(), name, one.host, host,
                        one.step ? fmt::format("step {}", *one.step) : "", doing_of(one));
  }
  return text;
}

std::string json_line(int exit_code, const Outcome* culprit, const std::vector<Outcome>& outcomes,
                      double seconds, const std::string& report) {
  std::string processes;
  for (const Outcome& outcome : outcomes) {
    processes += (processes.empty() ? "" : ",") + json_of(outcome);
  }
  return fmt::format(
      "{{\"exit_code\":{},\"seconds\":{:.3f},\"culprit\":{},\"processes\":[{}],\"report\":{}}}\n",
      exit_code, seconds, culprit == nullptr ? "null" : json_of(*culprit), processes, report);
}

std::string event_line(std::string_view event, const Outcome& outcome) {
  return fmt::format("{{\"event\":\"{}\",\"process\":{}}}\n", event, json_of(outcome));
}

}  // namespace flotilla::launch
