#include "flotilla/data/line_parser.h"
#include "flotilla/data/number.h"

namespace flotilla::data {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

const char* skip_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}

const char* read_number(const char* p, const char* end, float& out) {
  return read_f32(p, end, out);
}
const char* read_number(const char* p, const char* end, int64_t& out) {
  return read_i64(p, end, out);
}

class MultiSlotParser : public LineParser {
 public:
  explicit MultiSlotParser(std::vector<SlotSpec> specs) : LineParser(std::move(specs)) {}

 private:
  bool parse_line(const char* p, const char* end, SlotBlock& out) override {
    const std::vector<SlotSpec>& specs = this->specs();
    for (size_t s = 0; s < specs.size(); ++s) {
      const SlotSpec& spec = specs[s];
      SlotColumn& column = out.column(static_cast<int64_t>(s));
      p = skip_blanks(p, end);
      int64_t count = 0;
      const char* q = read_i64(p, end, count);
      if (q == nullptr || (q != end && !is_blank(*q))) return no_count(p, end, s);
      if (!fits(spec, count)) return wrong_count(p, spec, count);
      p = spec.dtype == f32 ? values(q, end, count, spec, column.tail<float>())
                            : values(q, end, count, spec, column.tail<int64_t>());
      if (p == nullptr) return false;
      column.end_record();
    }
    p = skip_blanks(p, end);
    if (p == end) return true;
    return mismatch(p, "", fmt::format("the end of the line after {} slots", specs.size()));
  }

  static bool fits(const SlotSpec& spec, int64_t count) {
    const int64_t width = spec.width();
    if (spec.dense()) return count == width;
    return count > 0 && (width == 1 || count % width == 0);
  }

  // Null after a mismatch.
  template <typename T>
  const char* values(const char* p, const char* end, int64_t count, const SlotSpec& spec,
                     std::vector<T>& into) {
    for (int64_t i = 0; i < count; ++i) {
      p = skip_blanks(p, end);
      T value = 0;
      const char* q = read_number(p, end, value);
      if (q == nullptr || (q != end && !is_blank(*q))) [[unlikely]] {
        no_value(p, end, i, count, spec);
        return nullptr;
      }
      into.push_back(value);
      p = q;
    }
    return p;
  }

  bool no_count(const char* p, const char* end, size_t slot) {
    const SlotSpec& spec = specs()[slot];
    if (p == end && slot > 0) {
      return mismatch(p, "slot " + spec.name, fmt::format("{} slots in the line", specs().size()),
                      fmt::format("only {}", slot));
    }
    return mismatch(p, "slot " + spec.name, "the number of its values");
  }

  bool wrong_count(const char* p, const SlotSpec& spec, int64_t count) {
    const std::string found = fmt::format("the count {}", count);
    if (spec.dense()) {
      return mismatch(p, "slot " + spec.name, fmt::format("{} values", spec.width()), found);
    }
    if (spec.width() > 1) {
      const std::string expected = fmt::format("a multiple of {} values", spec.width());
      return mismatch(p, "slot " + spec.name, expected, found);
    }
    return mismatch(p, "slot " + spec.name, "at least one value (pad an empty slot, e.g. with 0)",
                    found);
  }

  void no_value(const char* p, const char* end, int64_t index, int64_t count,
                const SlotSpec& spec) {
    const std::string slot = "slot " + spec.name;
    if (p == end) {
      mismatch(p, slot, fmt::format("{} values", count), fmt::format("only {}", index));
      return;
    }
    const char* const kind = spec.dtype == f32 ? "a number" : "a whole number";
    mismatch(p, slot, fmt::format("{} as value {} of {}", kind, index + 1, count));
  }
};

}  // namespace

std::unique_ptr<RecordParser> multi_slot_parser(std::vector<SlotSpec> specs) {
  return std::make_unique<MultiSlotParser>(std::move(specs));
}

}  // namespace flotilla::data
