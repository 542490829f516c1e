#include "flotilla/ps/metrics.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace flotilla::ps {
namespace {

class Lines {
 public:
  // Counters only go up; gauges also go down.
  void head(std::string_view name, std::string_view kind, std::string_view meaning) {
    fmt::format_to(std::back_inserter(text_),
                   "# HELP flotilla_ps_{0} {1}\n# TYPE flotilla_ps_{0} {2}\n", name, meaning, kind);
  }
  void line(std::string_view name, std::string_view table, int64_t value) {
    if (table.empty()) {
      fmt::format_to(std::back_inserter(text_), "flotilla_ps_{} {}\n", name, value);
    } else {
      // Names of tables have no quotation marks (table.h).
      fmt::format_to(std::back_inserter(text_), "flotilla_ps_{}{{table=\"{}\"}} {}\n", name, table,
                     value);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

struct TableNumber {
  std::string_view name;
  std::string_view kind;
  std::string_view meaning;
  int64_t SparseStats::*value;
};

constexpr TableNumber kTableNumbers[] = {
    {"rows", "gauge", "Rows of the table on this server.", &SparseStats::rows},
    {"cold_rows", "gauge", "Rows on disk.", &SparseStats::cold},
    {"waiting_keys", "gauge", "Keys not admitted yet.", &SparseStats::waiting},
    {"bytes", "gauge", "Memory of the table.", &SparseStats::bytes},
    {"pulled_rows_total", "counter", "Rows pulled by workers.", &SparseStats::pulled},
    {"pushed_rows_total", "counter", "Rows pushed by workers.", &SparseStats::pushed},
    {"refused_rows_total", "counter", "Gradients refused because they were not finite.",
     &SparseStats::refused},
    {"evicted_rows_total", "counter", "Rows dropped by shrinking.", &SparseStats::evicted},
};

}  // namespace

std::string metrics_text(const ServiceStats& service, const StoreStats& store) {
  Lines lines;
  for (const TableNumber& number : kTableNumbers) {
    lines.head(number.name, number.kind, number.meaning);
    for (const StoreStats::Table& table : store.tables) {
      lines.line(number.name, table.spec.name, table.sparse.*number.value);
    }
  }
  lines.head("dense_values", "gauge",
             "Floats of all parameters of a dense table, which has the name of the first one.");
  for (const StoreStats::Table& table : store.tables) {
    if (table.spec.kind == TableSpec::kDense) {
      lines.line("dense_values", table.spec.name, table.spec.width);
    }
  }
  const auto one = [&](std::string_view name, std::string_view kind, std::string_view meaning,
                       int64_t value) {
    lines.head(name, kind, meaning);
    lines.line(name, "", value);
  };
  one("requests_total", "counter", "Requests received.", service.requests);
  one("refused_requests_total", "counter", "Requests refused.", service.refused);
  one("rounds_total", "counter", "Rounds of synchronous workers.", service.rounds);
  one("queued_requests", "gauge", "Requests that wait for a thread.", service.queued);
  one("parked_steps", "gauge", "Steps that wait for other workers.", service.parked);
  one("received_bytes_total", "counter", "Bytes of requests.", service.bytes_in);
  one("sent_bytes_total", "counter", "Bytes of answers.", service.bytes_out);
  one("free_pushes_total", "counter", "Pushes applied without waiting for a round.",
      service.free_pushes);
  one("missed_updates_total", "counter",
      "Staleness of free pushes: updates applied since their workers last pulled values.",
      service.missed_updates);
  one("most_missed_updates", "gauge", "Highest staleness of a free push.", service.most_missed);
  one("records_total", "counter", "Records of the log that are applied.",
      static_cast<int64_t>(store.records));
  one("records_since_snapshot", "gauge", "Records of the log that a restart would replay.",
      static_cast<int64_t>(store.records - store.snapshot_record));
  one("log_bytes_total", "counter", "Bytes written to the log.", store.log_bytes);
  one("log_writes_total", "counter", "Writes to the log; pushes may share one.", store.writes);
  one("repeated_pushes_total", "counter", "Pushes received more than once and applied once.",
      store.repeated);
  return lines.take();
}

}  // namespace flotilla::ps
