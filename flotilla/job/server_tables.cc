#include "flotilla/job/server_tables.h"

#include <charconv>
#include <limits>

#include "flotilla/base/error.h"

namespace flotilla::job {
namespace {

ps::Initial initial_of(const passes::FirstValue& first) {
  static const std::map<std::string, ps::Initial::Kind> kKinds = {
      {"constant", ps::Initial::kConstant},
      {"uniform", ps::Initial::kUniform},
      {"normal", ps::Initial::kNormal},
      {"truncated_normal", ps::Initial::kTruncatedNormal},
  };
  const auto kind = kKinds.find(first.kind);
  invariant(kind != kKinds.end(), "rows start \"{}\", which servers do not know", first.kind);
  return {kind->second, first.a, first.b};
}

ps::TableSpec spec_of(const passes::ServerTable& table, passes::PsMode mode,
                      const ps::Worker& worker) {
  ps::TableSpec spec = {.id = static_cast<uint32_t>(table.id),
                        .name = table.name,
                        .kind = table.sparse ? ps::TableSpec::kSparse : ps::TableSpec::kDense,
                        .width = table.width};
  if (mode != passes::PsMode::kGeo) {
    spec.rule = {table.rule, table.numbers};
    spec.l1 = table.l1;
    spec.l2 = table.l2;
  }
  if (table.sparse) {
    spec.initial = initial_of(table.first);
    if (mode != passes::PsMode::kGeo) spec.admission = parse_entry(table.entry);
    spec.seed = static_cast<uint64_t>(table.first.seed);
    if (const RandomStream* stream = worker.drawn(table.name)) {
      spec.seed = stream->seed;
      spec.stream = stream->offset;
    }
  }
  check_table(spec);
  return spec;
}

int number_from(int64_t least, std::string_view name, int64_t value) {
  require(least <= value && value <= std::numeric_limits<int>::max(),
          "{} must be a number from {} to {}, but is {}", name, least,
          std::numeric_limits<int>::max(), value);
  return static_cast<int>(value);
}

}  // namespace

std::vector<ps::TableSpec> table_specs(const std::vector<passes::ServerTable>& tables,
                                       passes::PsMode mode, const ps::Worker& worker) {
  std::vector<ps::TableSpec> specs;
  for (const passes::ServerTable& table : tables) specs.push_back(spec_of(table, mode, worker));
  return specs;
}

ps::Admission parse_entry(std::string_view entry) {
  // Counts of shows and clicks are for other kinds of rows; they keep no key out.
  if (entry.empty() || entry == "none" || entry.starts_with("show_click_entry:")) return {};
  const size_t colon = entry.find(':');
  const std::string_view name = entry.substr(0, colon);
  const std::string_view number = colon == entry.npos ? "" : entry.substr(colon + 1);
  ps::Admission admission;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), admission.value);
  const bool is_number = error == std::errc() && end == number.data() + number.size();
  if (name == "count_filter_entry" && is_number) {
    if (admission.value == 0) return {};
    admission.kind = ps::Admission::kCount;
  } else if (name == "probability_entry" && is_number) {
    admission.kind = ps::Admission::kProbability;
  } else {
    refuse(
        "the entry of a sparse table must be count_filter_entry:<n> or probability_entry:<p>, but "
        "is \"{}\"",
        entry);
  }
  return admission;
}

ps::WorkerOptions worker_options(const passes::PsOptions& options, const fleet::Role& role,
                                 Progress* progress) {
  static const std::map<passes::PsMode, ps::Mode> kModes = {
      {passes::PsMode::kSync, ps::Mode::kSync},
      {passes::PsMode::kAsync, ps::Mode::kAsync},
      {passes::PsMode::kHalfAsync, ps::Mode::kHalfAsync},
      {passes::PsMode::kGeo, ps::Mode::kGeo},
  };
  return {.mode = kModes.at(options.mode),
          .rank = static_cast<int>(role.index),
          .workers = static_cast<int>(role.workers),
          .send_queue = number_from(0, "send_queue_size", options.send_queue),
          .max_merge = number_from(1, "max_merge_var_num", options.max_merge),
          .pushes_per_refresh =
              number_from(1, "min_send_grad_num_before_recv", options.pushes_per_refresh),
          .progress = progress};
}

}  // namespace flotilla::job
