#include "flotilla/data/check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "flotilla/data/idx.h"
#include "flotilla/data/image/codec.h"
#include "flotilla/data/line_parser.h"
#include "flotilla/data/number.h"
#include "flotilla/data/packed_file.h"
#include "flotilla/data/record_reader.h"

namespace flotilla::data {
namespace {

namespace fs = std::filesystem;

constexpr int kCriteoTabs = kCriteoIntegers + kCriteoCategories;

std::vector<std::string_view> split(std::string_view text, char delimiter) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(delimiter);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_number(std::string_view word) {
  float value = 0;
  const char* const end = word.data() + word.size();
  return !word.empty() && read_f32(word.data(), end, value) == end;
}

std::string_view trimmed(std::string_view word) {
  const size_t begin = word.find_first_not_of(" \t\r\"");
  if (begin == word.npos) return "";
  return word.substr(begin, word.find_last_not_of(" \t\r\"") + 1 - begin);
}

// The beginning of what will be parsed: of the unpacked file, or of what the command prints.
class Beginning {
 public:
  Beginning(const fs::path& file, const std::string& pipe_command) {
    if (pipe_command.empty()) {
      PackedFile packed(file);
      bytes_.resize(size_t{1} << 16);
      bytes_.resize(packed.read({reinterpret_cast<uint8_t*>(bytes_.data()), bytes_.size()}));
    } else {
      bytes_ = open_text(file, {.pipe_command = pipe_command})->next();
    }
  }

  std::string_view bytes() const { return bytes_; }
  // The first lines that are not blank, without their ends; the last may be cut off.
  std::string_view line(size_t number) const {
    for (const std::string_view line : split(bytes_, '\n')) {
      if (trimmed(line).empty()) continue;
      if (number-- == 0) return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    }
    return "";
  }

 private:
  std::string bytes_;
};

// How many slots a line of multi-slot text has; 0 where it is none.
int64_t count_slots(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  int64_t slots = 0;
  for (size_t at = 0; at < words.size(); ++slots) {
    int64_t count = 0;
    const char* const end = words[at].data() + words[at].size();
    if (read_i64(words[at].data(), end, count) != end || count < 1) return 0;
    if (static_cast<uint64_t>(count) >= words.size() - at) return 0;
    const auto values = std::span(words).subspan(at + 1, static_cast<size_t>(count));
    if (!std::all_of(values.begin(), values.end(), is_number)) return 0;
    at += static_cast<size_t>(count) + 1;
  }
  return slots;
}

std::string recognise(const fs::path& file, const Beginning& beginning,
                      const CheckOptions& options) {
  using namespace std::string_view_literals;
  const std::string_view bytes = beginning.bytes(), line = beginning.line(0);
  if (!options.format.empty()) return options.format;
  if (bytes.starts_with("\0\0\x08\x01"sv) || bytes.starts_with("\0\0\x08\x03"sv)) return "idx";
  if (bytes.starts_with("\xff\xd8"sv) || bytes.starts_with("\x89PNG"sv)) return "image";
  if (file.filename().string().find("-idx") != std::string::npos) return "idx";
  if (bytes.find('\0') != bytes.npos) return "";
  if (std::count(line.begin(), line.end(), '\t') == kCriteoTabs) return "criteo";
  if (count_slots(line) > 0 || !options.slots.empty()) return "multi_slot";
  if (line.find_first_of(",;\t ") != line.npos) return "csv";
  return "";
}

class Checker {
 public:
  Checker(const fs::path& file, const CheckOptions& options) : file_(file), options_(options) {}

  CheckReport run() {
    try {
      check();
    } catch (const Error& error) {
      // Sentences about a file begin with its name already.
      const std::string& text = error.sentence();
      const bool named = text.starts_with(file_.string());
      add_problem(named ? text : fmt::format("{}: {}", file_.string(), text));
    }
    return std::move(report_);
  }

 private:
  void check() {
    const Beginning beginning(file_, options_.pipe_command);
    require(!beginning.bytes().empty(), "{}: expected records, found an empty file",
            file_.string());
    const std::string format = recognise(file_, beginning, options_);
    if (format == "idx") return check_idx(beginning.bytes());
    if (format == "image") return check_image();
    if (format == "criteo") return check_criteo();
    if (format == "multi_slot") return check_multi_slot(beginning);
    if (format == "csv") return check_csv(beginning);
    report_.kind = "unknown";
    refuse(
        "{}: byte 0: expected IDX, JPEG, PNG, multi-slot text, Criteo lines or a table, found {}",
        file_.string(), in_quotes(beginning.bytes().substr(0, 16)));
  }

  void check_idx(std::string_view bytes) {
    report_.kind = "IDX";
    const bool named = file_.filename().string().find("-idx3") != std::string::npos;
    if (named || (bytes.size() > 3 && bytes[3] == 3)) {
      const Images images = read_idx_images(file_);
      report_.kind = fmt::format("IDX images of {} x {}", images.rows, images.cols);
      report_.records = images.count;
      return;
    }
    const std::vector<uint8_t> labels = read_idx_labels(file_);
    const auto [least, most] = std::minmax_element(labels.begin(), labels.end());
    report_.kind =
        labels.empty() ? "IDX labels" : fmt::format("IDX labels {} to {}", *least, *most);
    report_.records = static_cast<int64_t>(labels.size());
  }

  void check_image() {
    report_.kind = "image";
    const Image image = read_image(file_);
    report_.kind =
        fmt::format("image of {} x {}, {} channels", image.height, image.width, image.channels);
    report_.records = 1;
  }

  void check_criteo() {
    report_.kind = "Criteo click log";
    read(*criteo_parser(options_.slots.empty() ? criteo_slots() : options_.slots));
  }

  void check_multi_slot(const Beginning& beginning) {
    std::vector<SlotSpec> specs = options_.slots;
    if (specs.empty()) {
      const int64_t slots = count_slots(beginning.line(0));
      require(slots > 0, "{}: line 1, byte 0: expected counts and values of slots, found {}",
              file_.string(), in_quotes(beginning.line(0)));
      for (int64_t s = 0; s < slots; ++s) {
        specs.push_back({.name = fmt::format("{}", s), .dtype = f32, .lod_level = 1});
      }
    }
    report_.kind = fmt::format("multi-slot text of {} slots", specs.size());
    read(*multi_slot_parser(specs));
  }

  void check_csv(const Beginning& beginning) {
    CsvOptions csv = options_.csv;
    std::vector<SlotSpec> specs = options_.slots;
    if (specs.empty()) guess_table(beginning, csv, specs);
    report_.kind = fmt::format("table of {} columns of numbers{}", specs.size(),
                               csv.header ? " with a header" : "");
    if (!options_.slots.empty()) report_.kind = fmt::format("table for {} slots", specs.size());
    read(*csv_parser(specs, csv));
  }

  // Columns that hold a number in the first record must do so in all, or hold nothing.
  void guess_table(const Beginning& beginning, CsvOptions& csv, std::vector<SlotSpec>& specs) {
    const std::string_view first = beginning.line(0);
    const size_t found = first.find_first_of(",;\t");
    csv.delimiter = found == first.npos ? ' ' : first[found];
    const auto words = split(first, csv.delimiter);
    csv.header = std::any_of(words.begin(), words.end(), [](std::string_view word) {
      return !trimmed(word).empty() && !is_number(trimmed(word));
    });
    csv.allow_empty = true;
    // Blank-separated columns are of any width; the table's own parser splits those.
    int64_t column = 0;
    for (const std::string_view word : split(beginning.line(csv.header ? 1 : 0), csv.delimiter)) {
      if (csv.delimiter == ' ' && trimmed(word).empty()) continue;
      if (is_number(trimmed(word))) {
        specs.push_back({.name = fmt::format("{}", column), .dtype = f32});
        csv.columns.push_back({fmt::format("{}", column)});
      }
      ++column;
    }
    require(!specs.empty(), "{}: line 1, byte 0: expected a table with numbers, found {}",
            file_.string(), in_quotes(first));
  }

  void read(RecordParser& parser) {
    BadRecords bad(std::numeric_limits<int64_t>::max(),
                   [this](const Error& error) { add_problem(error.sentence()); });
    RecordReader reader(file_, parser, bad, {.pipe_command = options_.pipe_command});
    SlotBlock block(parser.specs());
    while (reader.next(block)) {
      report_.records += block.records();
      block.clear();
    }
  }

  void add_problem(const std::string& sentence) {
    if (report_.problem_count++ < options_.max_problems) report_.problems.push_back(sentence);
  }

  const fs::path file_;
  const CheckOptions options_;
  CheckReport report_;
};

int64_t parse_extent(std::string_view word, std::string_view slot) {
  int64_t extent = 0;
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, extent);
  require(parsed.ec == std::errc() && parsed.ptr == end && extent > 0 && extent <= 1 << 20,
          "slot \"{}\": expected extents such as 13 or 3x4, or seq, found \"{}\"", slot, word);
  return extent;
}

}  // namespace

CheckReport check_file(const fs::path& file, const CheckOptions& options) {
  const std::vector<std::string> formats = {"", "idx", "image", "multi_slot", "criteo", "csv"};
  require(std::find(formats.begin(), formats.end(), options.format) != formats.end(),
          "unknown format \"{}\"; expected one of{}.{}", options.format, fmt::join(formats, " "),
          did_you_mean(options.format, formats));
  if (!options.slots.empty()) check_specs(options.slots);
  return Checker(file, options).run();
}

std::vector<SlotSpec> parse_slots(std::string_view text) {
  std::vector<SlotSpec> specs;
  for (const std::string_view word : split(text, ',')) {
    const std::vector<std::string_view> parts = split(word, ':');
    require(2 <= parts.size() && parts.size() <= 3 && !parts[0].empty(),
            "expected a slot as name:dtype or name:dtype:extents, found \"{}\"", word);
    SlotSpec spec = {.name = std::string(parts[0]), .dtype = parse_dtype(parts[1])};
    if (parts.size() == 3 && parts[2] == "seq") {
      spec.lod_level = 1;
    } else if (parts.size() == 3) {
      spec.shape = {};
      for (const std::string_view extent : split(parts[2], 'x')) {
        spec.shape.push_back(parse_extent(extent, parts[0]));
      }
    }
    specs.push_back(std::move(spec));
  }
  check_specs(specs);
  return specs;
}

}  // namespace flotilla::data
