#include "flotilla/ps/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/ps/rule.h"

namespace flotilla::ps {
namespace {

constexpr std::array<std::string_view, 4> kInitials = {"constant", "uniform", "normal",
                                                       "truncated_normal"};
constexpr std::array<std::string_view, 3> kAdmissions = {"all", "count", "probability"};

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_.@-/").find(c) != std::string_view::npos;
}

// Reads a text from left to right; every refusal names the place.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail(fmt::format("\"{}\"", word));
  }
  std::string name() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_letter(text_[at_])) ++at_;
    if (at_ == begin) fail("a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  template <typename T>
  T number() {
    T value = {};
    const char* begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number");
    at_ += static_cast<size_t>(stop - begin);
    return value;
  }

  [[noreturn]] void fail(std::string_view expected) const {
    refuse("a table's description must have {} at byte {}, but has \"{}\": {}", expected, at_,
           text_.substr(at_, 20), text_);
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

template <size_t n>
int position_in(const std::array<std::string_view, n>& names, const std::string& name,
                std::string_view what) {
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "unknown {} \"{}\"; expected one of: {}", what, name,
          fmt::join(names, ", "));
  return static_cast<int>(found - names.begin());
}

RuleSpec read_rule(Reader& reader) {
  RuleSpec rule = {.name = reader.name()};
  if (!reader.take("(")) return rule;
  do {
    std::string parameter = reader.name();
    reader.expect("=");
    rule.parameters[std::move(parameter)] = reader.number<float>();
  } while (reader.take(", "));
  reader.expect(")");
  return rule;
}

Initial read_initial(Reader& reader) {
  Initial initial;
  initial.kind = static_cast<Initial::Kind>(position_in(kInitials, reader.name(), "initializer"));
  reader.expect("(");
  initial.a = reader.number<float>();
  if (initial.kind != Initial::kConstant) {
    reader.expect(", ");
    initial.b = reader.number<float>();
  }
  reader.expect(")");
  return initial;
}

Admission read_admission(Reader& reader) {
  Admission admission;
  admission.kind =
      static_cast<Admission::Kind>(position_in(kAdmissions, reader.name(), "admission"));
  reader.expect("(");
  admission.value = reader.number<double>();
  reader.expect(")");
  return admission;
}

void read_field(Reader& reader, TableSpec& table) {
  const std::string field = reader.name();
  reader.expect("=");
  if (field == "rule") {
    table.rule = read_rule(reader);
  } else if (field == "l1") {
    table.l1 = reader.number<float>();
  } else if (field == "l2") {
    table.l2 = reader.number<float>();
  } else if (field == "init") {
    table.initial = read_initial(reader);
  } else if (field == "seed") {
    table.seed = reader.number<uint64_t>();
  } else if (field == "stream") {
    table.stream = reader.number<uint64_t>();
  } else if (field == "admit") {
    table.admission = read_admission(reader);
  } else if (field == "scores") {
    table.scores = reader.take("true");
    if (!table.scores) reader.expect("false");
  } else if (field == "memory") {
    table.memory = reader.number<int64_t>();
  } else {
    refuse("a table has no field \"{}\"{}", field,
           did_you_mean(
               field, {"rule", "l1", "l2", "init", "seed", "stream", "admit", "scores", "memory"}));
  }
}

}  // namespace

std::string print(const TableSpec& table) {
  std::string text =
      fmt::format("table {} {} {} width={}", table.id, table.name,
                  table.kind == TableSpec::kSparse ? "sparse" : "dense", table.width);
  const auto add = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  };
  add(" rule={}", table.rule.name);
  std::vector<std::string> parameters;
  for (const auto& [name, value] : table.rule.parameters) {
    parameters.push_back(fmt::format("{}={}", name, value));
  }
  if (!parameters.empty()) add("({})", fmt::join(parameters, ", "));
  if (table.l1 != 0) add(" l1={}", table.l1);
  if (table.l2 != 0) add(" l2={}", table.l2);
  const Initial& initial = table.initial;
  if (initial.kind != Initial::kConstant) {
    add(" init={}({}, {})", kInitials[initial.kind], initial.a, initial.b);
  } else if (initial.a != 0) {
    add(" init=constant({})", initial.a);
  }
  if (table.seed != 0) add(" seed={}", table.seed);
  if (table.stream != 0) add(" stream={}", table.stream);
  if (table.admission.kind != Admission::kAll) {
    add(" admit={}({})", kAdmissions[table.admission.kind], table.admission.value);
  }
  if (table.scores) add(" scores=true");
  if (table.memory != 0) add(" memory={}", table.memory);
  return text;
}

TableSpec parse_table(std::string_view text) {
  Reader reader(text);
  TableSpec table;
  reader.expect("table ");
  table.id = reader.number<uint32_t>();
  reader.expect(" ");
  table.name = reader.name();
  reader.expect(" ");
  table.kind = reader.take("sparse") ? TableSpec::kSparse : TableSpec::kDense;
  if (table.kind == TableSpec::kDense) reader.expect("dense");
  reader.expect(" width=");
  table.width = reader.number<int64_t>();
  while (!reader.at_end()) {
    reader.expect(" ");
    read_field(reader, table);
  }
  check_table(table);
  return table;
}

void check_table(const TableSpec& table) {
  require(!table.name.empty() && std::all_of(table.name.begin(), table.name.end(), is_name_letter),
          "the name of a table must be of letters, digits and _.@-/, but is \"{}\"", table.name);
  const int64_t most = table.kind == TableSpec::kSparse ? int64_t{1} << 20 : int64_t{1} << 40;
  require(0 < table.width && table.width <= most, "the width of {} must be from 1 to {}, but is {}",
          table.name, most, table.width);
  for (const float value : {table.l1, table.l2, table.initial.a, table.initial.b}) {
    require(std::isfinite(value), "{} has a number that is not finite", table.name);
  }
  require(table.memory == 0 || (table.memory > 0 && table.kind == TableSpec::kSparse),
          "table {} cannot keep {} rows in memory", table.name, table.memory);
  const Admission& admission = table.admission;
  require(admission.kind == Admission::kAll || table.kind == TableSpec::kSparse,
          "the dense table {} cannot have an admission", table.name);
  require(admission.kind != Admission::kCount ||
              (admission.value >= 1 && admission.value <= 0xffffffffu &&
               admission.value == std::floor(admission.value)),
          "a row of {} must be admitted after a whole number of appearances, but this is {}",
          table.name, admission.value);
  require(
      admission.kind != Admission::kProbability || (admission.value > 0 && admission.value <= 1),
      "a row of {} must be admitted with a probability in (0, 1], but this is {}", table.name,
      admission.value);
  Rule rule(table);  // refuses what it does not know
}

Slice slice_of(int64_t width, const Share& share) {
  constexpr int64_t kLine = 16;
  const int64_t lines = (width + kLine - 1) / kLine;
  const auto bound = [&](int server) {
    return std::min(width, lines * server / share.servers * kLine);
  };
  return {bound(share.server), bound(share.server + 1)};
}

Slice slice_of(const TableSpec& table, const Share& share) {
  const update::Rule* rule = update::find_rule(table.rule.name);
  if (rule == nullptr || !rule->layerwise()) return slice_of(table.width, share);
  // Empty ones lie where the table begins or ends, so that slices follow each other.
  const int holder = static_cast<int>(table.id % static_cast<uint32_t>(share.servers));
  if (share.server < holder) return {0, 0};
  return {share.server == holder ? 0 : table.width, table.width};
}

}  // namespace flotilla::ps
