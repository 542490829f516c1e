#include "flotilla/ps/metrics_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <vector>

namespace flotilla::ps {
namespace {

constexpr std::string_view kPrefix = "flotilla_ps_";

// By name and table; "" for numbers that no table has.
class Numbers {
 public:
  explicit Numbers(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.starts_with(kPrefix)) note(line.substr(kPrefix.size()));
    }
  }

  double of(std::string_view name, std::string_view table = "") const {
    const auto found = values_.find({std::string(name), std::string(table)});
    return found == values_.end() ? 0 : found->second;
  }
  const std::vector<std::string>& tables() const { return tables_; }

 private:
  void note(std::string_view line) {
    constexpr std::string_view kTable = "{table=\"";
    const size_t space = std::min(line.rfind(' '), line.size() - 1);
    const std::string_view name = line.substr(0, std::min(line.find('{'), space));
    std::string table;
    if (const size_t at = line.find(kTable); at != line.npos) {
      const std::string_view rest = line.substr(at + kTable.size());
      table = rest.substr(0, rest.find('"'));
      if (std::find(tables_.begin(), tables_.end(), table) == tables_.end()) {
        tables_.push_back(table);
      }
    }
    double value = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
    values_[{std::string(name), table}] = value;
  }

  std::map<std::pair<std::string, std::string>, double> values_;
  std::vector<std::string> tables_;
};

// "950", "12.3 k", "1.9 M"
std::string short_form(double value) {
  for (const auto& [size, unit] : {std::pair(1e9, "G"), {1e6, "M"}, {1e4, "k"}}) {
    if (value >= size) return fmt::format("{:.1f} {}", value / (size == 1e4 ? 1e3 : size), unit);
  }
  return fmt::format("{:.0f}", value);
}

}  // namespace

std::string view_metrics(std::string_view before, std::string_view after, double seconds) {
  const Numbers old(before), now(after);
  const auto rate = [&](std::string_view name, std::string_view table = "") {
    return short_form(std::max(0.0, now.of(name, table) - old.of(name, table)) / seconds);
  };
  const auto count = [&](std::string_view name, std::string_view table = "") {
    return short_form(now.of(name, table));
  };
  std::string text;
  const auto add = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  };
  add("  requests {}/s, {} wait, {} refused; bytes {}/s in, {}/s out\n", rate("requests_total"),
      count("queued_requests"), count("refused_requests_total"), rate("received_bytes_total"),
      rate("sent_bytes_total"));
  add("  updates {}/s, rounds {}/s, steps parked {}; log {} bytes/s, {} records since the last "
      "snapshot\n",
      rate("records_total"), rate("rounds_total"), count("parked_steps"), rate("log_bytes_total"),
      count("records_since_snapshot"));
  const double pushes = now.of("free_pushes_total") - old.of("free_pushes_total");
  if (pushes > 0) {
    add("  staleness {:.1f} updates for each push, {} at the most\n",
        (now.of("missed_updates_total") - old.of("missed_updates_total")) / pushes,
        count("most_missed_updates"));
  }
  // Dense parameters share a table, which has the name of the first.
  const auto name_of = [&](const std::string& table) {
    const double values = now.of("dense_values", table);
    return values == 0 ? table : fmt::format("{} and others, {} values", table, short_form(values));
  };
  constexpr size_t kWidest = 60;  // longer names do not make every line long
  size_t width = 5;
  for (const std::string& table : now.tables()) {
    width = std::max(width, std::min(name_of(table).size(), kWidest));
  }
  add("  {:<{}}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}\n", "table", width, "rows", "bytes",
      "pulled/s", "pushed/s", "refused", "on disk");
  for (const std::string& table : now.tables()) {
    add("  {:<{}}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}\n", name_of(table), width,
        count("rows", table), count("bytes", table), rate("pulled_rows_total", table),
        rate("pushed_rows_total", table), count("refused_rows_total", table),
        count("cold_rows", table));
  }
  return text;
}

}  // namespace flotilla::ps
