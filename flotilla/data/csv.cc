#include "flotilla/data/csv.h"

#include <algorithm>
#include <charconv>

#include "flotilla/data/line_parser.h"
#include "flotilla/data/number.h"

namespace flotilla::data {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

struct Field {
  const char* begin = nullptr;
  const char* end = nullptr;

  bool empty() const { return begin == end; }
  std::string_view text() const { return {begin, static_cast<size_t>(end - begin)}; }
};

// Drops blanks around the value, and one pair of quotes.
Field trimmed(const char* begin, const char* end) {
  const auto trim = [&] {
    while (begin != end && is_blank(*begin)) ++begin;
    while (begin != end && is_blank(end[-1])) --end;
  };
  trim();
  if (end - begin >= 2 && *begin == '"' && end[-1] == '"') {
    ++begin, --end;
    trim();
  }
  return {begin, end};
}

// Where the value that begins at `p` ends; a delimiter within quotes does not count.
const char* end_of_value(const char* p, const char* end, char delimiter) {
  bool in_quotes = false;
  for (; p != end; ++p) {
    if (*p == '"') in_quotes = !in_quotes;
    if (*p == delimiter && !in_quotes) break;
  }
  return p;
}

void split(const char* p, const char* end, char delimiter, std::vector<Field>& fields) {
  fields.clear();
  if (delimiter == ' ') {
    while (true) {
      while (p != end && is_blank(*p)) ++p;
      if (p == end) return;
      const char* const begin = p;
      while (p != end && !is_blank(*p)) ++p;
      fields.push_back(trimmed(begin, p));
    }
  }
  while (true) {
    const char* const stop = end_of_value(p, end, delimiter);
    fields.push_back(trimmed(p, stop));
    if (stop == end) return;
    p = stop + 1;
  }
}

// The number of a column, or -1 where it is none.
int64_t number_of(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec != std::errc() || parsed.ptr != end || value < 0 || value > 1 << 30 ? -1 : value;
}

class CsvParser : public LineParser {
 public:
  CsvParser(std::vector<SlotSpec> specs, const CsvOptions& options)
      : LineParser(std::move(specs)), options_(options) {
    delimiter_ = options.delimiter;
    require(options.columns.empty() || options.columns.size() == this->specs().size(),
            "{} slots need {} lists of columns, but there are {}", this->specs().size(),
            this->specs().size(), options.columns.size());
  }

 private:
  // Which columns there are is known from the first line of each file.
  bool first_line(std::string_view line, const TextPosition& at) override {
    if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);  // a byte-order mark
    split(line.data(), line.data() + line.size(), options_.delimiter, fields_);
    names_.clear();
    width_ = fields_.size();
    if (options_.header) {
      for (const Field& field : fields_) names_.emplace_back(field.text());
    }
    columns_.clear();
    size_t next = 0;
    for (size_t s = 0; s < specs().size(); ++s) columns_.push_back(columns_of(s, next, at));
    return options_.header;
  }

  std::vector<size_t> columns_of(size_t slot, size_t& next, const TextPosition& at) const {
    const SlotSpec& spec = specs()[slot];
    const auto width = static_cast<size_t>(spec.width());
    std::vector<size_t> found;
    if (!options_.columns.empty()) {
      for (const std::string& word : options_.columns[slot]) add_named(word, found, spec, at);
    } else if (options_.header) {
      for (size_t i = 0; i < width; ++i) found.push_back(column_called(spec, i, at));
    } else {
      for (size_t i = 0; i < width; ++i) found.push_back(next++);
    }
    require(spec.dense() ? found.size() == width : !found.empty() && found.size() % width == 0,
            "{}: slot {} needs {} columns, but {} were named", at.file, spec.name, width,
            found.size());
    const size_t last = *std::max_element(found.begin(), found.end());
    require(last < width_, "{}: line 1, byte 0: slot {}: expected {} columns or more, found {}",
            at.file, spec.name, last + 1, width_);
    return found;
  }

  void add_named(const std::string& word, std::vector<size_t>& found, const SlotSpec& spec,
                 const TextPosition& at) const {
    const auto name = std::find(names_.begin(), names_.end(), word);
    if (name != names_.end()) return found.push_back(static_cast<size_t>(name - names_.begin()));
    const size_t colon = word.find(':');
    const int64_t begin = number_of(std::string_view(word).substr(0, colon));
    const int64_t end = colon == word.npos ? begin + 1 : number_of(word.substr(colon + 1));
    require(0 <= begin && begin < end, "{}: slot {}: there is no column \"{}\"; expected {}{}",
            at.file, spec.name, word,
            names_.empty() ? "a number or a range such as 4:13"
                           : fmt::format("one of {}", fmt::join(names_, ", ")),
            did_you_mean(word, names_));
    // Checked here, so that a range cannot fill the memory.
    require(end <= static_cast<int64_t>(width_),
            "{}: line 1, byte 0: slot {}: expected {} columns or more, found {}", at.file,
            spec.name, end, width_);
    for (int64_t c = begin; c < end; ++c) found.push_back(static_cast<size_t>(c));
  }

  size_t column_called(const SlotSpec& spec, size_t i, const TextPosition& at) const {
    std::vector<std::string> tries = {fmt::format("{}_{}", spec.name, i),
                                      fmt::format("{}{}", spec.name, i)};
    if (spec.width() == 1) tries.insert(tries.begin(), spec.name);
    for (const std::string& name : tries) {
      const auto found = std::find(names_.begin(), names_.end(), name);
      if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
    }
    refuse("{}: line 1, byte 0: slot {}: expected a column called \"{}\", found {}.{}", at.file,
           spec.name, tries[0], fmt::join(names_, ", "), did_you_mean(tries[0], names_));
  }

  bool parse_line(const char* p, const char* end, SlotBlock& out) override {
    split(p, end, options_.delimiter, fields_);
    if (fields_.size() != width_) {
      return mismatch(p, "", fmt::format("{} columns as in line 1", width_),
                      fmt::format("{}", fields_.size()));
    }
    for (size_t s = 0; s < columns_.size(); ++s) {
      SlotColumn& column = out.column(static_cast<int64_t>(s));
      const SlotSpec& spec = specs()[s];
      for (const size_t c : columns_[s]) {
        const bool good = spec.dtype == f32 ? add_f32(fields_[c], column.tail<float>())
                                            : add_i64(fields_[c], column.tail<int64_t>());
        if (!good) [[unlikely]]
          return no_number(c, spec);
      }
      column.end_record();
    }
    return true;
  }

  bool add_f32(const Field& field, std::vector<float>& into) const {
    float value = options_.empty_value;
    const bool good =
        field.empty() ? options_.allow_empty : read_f32(field.begin, field.end, value) == field.end;
    if (good) into.push_back(value);
    return good;
  }

  bool add_i64(const Field& field, std::vector<int64_t>& into) const {
    int64_t value = 0;
    const bool good =
        field.empty() ? options_.allow_empty : read_i64(field.begin, field.end, value) == field.end;
    if (good) into.push_back(value);
    return good;
  }

  bool no_number(size_t column, const SlotSpec& spec) {
    const std::string where = names_.empty() ? fmt::format("column {}", column)
                                             : fmt::format("column {}", names_[column]);
    const Field& field = fields_[column];
    return mismatch(field.begin, fmt::format("slot {}, {}", spec.name, where),
                    spec.dtype == f32 ? "a number" : "a whole number",
                    field.empty() ? "nothing" : in_quotes(field.text()));
  }

  const CsvOptions options_;
  size_t width_ = 0;                          // columns in the file
  std::vector<std::string> names_;            // from the header
  std::vector<std::vector<size_t>> columns_;  // of each slot
  std::vector<Field> fields_;                 // of the line being read
};

}  // namespace

std::unique_ptr<RecordParser> csv_parser(std::vector<SlotSpec> specs, const CsvOptions& options) {
  return std::make_unique<CsvParser>(std::move(specs), options);
}

}  // namespace flotilla::data
