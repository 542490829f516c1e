#include "flotilla/data/criteo.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "flotilla/data/line_parser.h"
#include "flotilla/data/number.h"

namespace flotilla::data {
namespace {

constexpr int kFields = 1 + kCriteoIntegers + kCriteoCategories;
constexpr int kFirstCategory = 1 + kCriteoIntegers;

// The hash of a category: its text in words of eight bytes, little endian, padded with zeros.
class CategoryHash {
 public:
  explicit CategoryHash(int field) : state_(static_cast<uint64_t>(field) * 0x9e3779b97f4a7c15) {}

  void add(uint64_t word) {
    state_ = (state_ ^ word) * 0xbf58476d1ce4e5b9;
    state_ ^= state_ >> 31;
  }
  int64_t id(size_t length, int64_t hash_dim) const {
    uint64_t x = (state_ ^ length) * 0x94d049bb133111eb;
    x ^= x >> 29;
    x *= 0xff51afd7ed558ccd;
    const auto scaled = static_cast<unsigned __int128>(x) * static_cast<uint64_t>(hash_dim);
    return static_cast<int64_t>(scaled >> 64);
  }

 private:
  uint64_t state_;
};

uint64_t load_word(const char* p, size_t size) {
  uint64_t word = 0;
  std::memcpy(&word, p, size);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

bool has_tab(uint64_t word) {
  const uint64_t x = word ^ 0x0909090909090909;
  return ((x - 0x0101010101010101) & ~x & 0x8080808080808080) != 0;
}

// Where the value of a field goes; nowhere where slot is -1.
struct Target {
  int64_t slot = -1;
  bool whole = false;  // ends the record of the slot
};

// The field that a slot's name stands for, 0 to 39; or -1.
int field_of(std::string_view name) {
  if (name == "label" || name == "click") return 0;
  if (name.size() < 2 || (name[0] != 'C' && name[0] != 'I')) return -1;
  int number = 0;
  const auto parsed = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  const int most = name[0] == 'I' ? kCriteoIntegers : kCriteoCategories;
  if (parsed.ptr != name.data() + name.size() || number < 1 || number > most) return -1;
  return (name[0] == 'I' ? 0 : kCriteoIntegers) + number;
}

std::string field_name(int field) {
  if (field == 0) return "label";
  if (field < kFirstCategory) return fmt::format("I{}", field);
  return fmt::format("C{}", field - kCriteoIntegers);
}

class CriteoParser : public LineParser {
 public:
  CriteoParser(std::vector<SlotSpec> specs, const CriteoOptions& options)
      : LineParser(std::move(specs)), options_(options) {
    require(options.hash_dim > 0, "hash_dim must be 1 or more, but is {}", options.hash_dim);
    delimiter_ = '\t';
    for (size_t s = 0; s < this->specs().size(); ++s) place(this->specs()[s], s);
  }

 private:
  void place(const SlotSpec& spec, size_t slot) {
    const auto s = static_cast<int64_t>(slot);
    const int field = field_of(spec.name);
    if (field >= 0) {
      require(spec.width() == 1, "slot {} takes one value of a Criteo record, but has shape {}",
              spec.name, spec.shape);
      require(field < kFirstCategory || spec.dtype == i64,
              "slot {} is {}, but ids of categories are int64", spec.name, spec.dtype);
      require(field == 0 || field >= kFirstCategory || spec.dtype == f32,
              "slot {} is {}, but scaled integers are float32", spec.name, spec.dtype);
      targets_[static_cast<size_t>(field)] = {s, true};
      return;
    }
    require(
        spec.dense() && spec.dtype == f32 && spec.width() == kCriteoIntegers,
        "slot {} is {} of shape {}, which no field of a Criteo record fills; expected \"label\" "
        "or \"click\", a float32 slot of 13 values, \"I1\" to \"I13\", \"C1\" to \"C26\"",
        spec.name, spec.dtype, spec.shape);
    for (int i = 1; i <= kCriteoIntegers; ++i) {
      require(targets_[static_cast<size_t>(i)].slot < 0,
              "slots {} and {} both name the integer I{}", spec.name,
              specs()[static_cast<size_t>(std::max<int64_t>(targets_[i].slot, 0))].name, i);
      targets_[static_cast<size_t>(i)] = {s, i == kCriteoIntegers};
    }
  }

  bool parse_line(const char* p, const char* end, SlotBlock& out) override {
    for (int field = 0; field < kFields; ++field) {
      if (field > 0) {
        if (p == end || *p != '\t') return no_tab(p, end, field);
        ++p;
      }
      p = field >= kFirstCategory ? category(p, end, field, out)
          : field > 0             ? integer(p, end, field, out)
                                  : label(p, end, out);
      if (p == nullptr) return false;
    }
    if (p == end) return true;
    return mismatch(p, "", fmt::format("the end of the line after {} fields", kFields),
                    in_quotes({p, static_cast<size_t>(end - p)}));
  }

  const char* label(const char* p, const char* end, SlotBlock& out) {
    int64_t value = 0;
    const char* q = read_i64(p, end, value);
    if (q == nullptr || (q != end && *q != '\t') || (value != 0 && value != 1)) {
      mismatch(p, "label", "0 or 1");
      return nullptr;
    }
    const Target& target = targets_[0];
    if (target.slot >= 0) {
      SlotColumn& column = out.column(target.slot);
      if (column.dtype() == f32) {
        column.tail<float>().push_back(static_cast<float>(value));
      } else {
        column.tail<int64_t>().push_back(value);
      }
      column.end_record();
    }
    return q;
  }

  const char* integer(const char* p, const char* end, int field, SlotBlock& out) {
    float scaled = 0;
    if (p != end && *p != '\t') {
      int64_t value = 0;
      const char* q = read_i64(p, end, value);
      if (q == nullptr || (q != end && *q != '\t')) {
        mismatch(p, field_name(field), "a whole number or nothing");
        return nullptr;
      }
      const auto i = static_cast<size_t>(field - 1);
      // In double, as Python computes it.
      scaled = static_cast<float>((static_cast<double>(value) - options_.minimum[i]) /
                                  options_.range[i]);
      p = q;
    }
    const Target& target = targets_[static_cast<size_t>(field)];
    if (target.slot >= 0) {
      SlotColumn& column = out.column(target.slot);
      column.tail<float>().push_back(scaled);
      if (target.whole) column.end_record();
    }
    return p;
  }

  const char* category(const char* p, const char* end, int field, SlotBlock& out) {
    CategoryHash hash(field - kCriteoIntegers);
    const char* q = p;
    // Nearly all texts have eight digits, which fill one word.
    while (end - q >= 8 && !has_tab(load_word(q, 8))) {
      hash.add(load_word(q, 8));
      q += 8;
    }
    size_t rest = 0;
    while (q + rest != end && q[rest] != '\t') ++rest;
    if (rest > 0) hash.add(load_word(q, rest));
    q += rest;
    const Target& target = targets_[static_cast<size_t>(field)];
    if (target.slot >= 0) {
      SlotColumn& column = out.column(target.slot);
      column.tail<int64_t>().push_back(hash.id(static_cast<size_t>(q - p), options_.hash_dim));
      column.end_record();
    }
    return q;
  }

  bool no_tab(const char* p, const char* end, int field) {
    if (p != end) return mismatch(p, field_name(field), "a tab before it");
    return mismatch(p, field_name(field), fmt::format("{} fields between tabs", kFields),
                    fmt::format("only {}", field));
  }

  const CriteoOptions options_;
  std::array<Target, kFields> targets_ = {};
};

}  // namespace

std::vector<SlotSpec> criteo_slots() {
  std::vector<SlotSpec> specs = {{.name = "dense_input", .dtype = f32, .shape = {kCriteoIntegers}}};
  for (int i = 1; i <= kCriteoCategories; ++i) {
    specs.push_back({.name = fmt::format("C{}", i), .dtype = i64, .lod_level = 1});
  }
  specs.push_back({.name = "label", .dtype = i64});
  return specs;
}

int64_t criteo_id(int field, std::string_view text, int64_t hash_dim) {
  CategoryHash hash(field);
  for (size_t at = 0; at < text.size(); at += 8) {
    hash.add(load_word(text.data() + at, std::min<size_t>(text.size() - at, 8)));
  }
  return hash.id(text.size(), hash_dim);
}

std::unique_ptr<RecordParser> criteo_parser(std::vector<SlotSpec> specs,
                                            const CriteoOptions& options) {
  return std::make_unique<CriteoParser>(std::move(specs), options);
}

}  // namespace flotilla::data
