#include "flotilla/data/ins_id.h"

#include "flotilla/base/error.h"

namespace flotilla::data {
namespace {

// Takes the next word off the front, with the blank behind it.
std::string_view word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view found = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return found;
}

class AfterTexts final : public RecordParser {
 public:
  AfterTexts(std::unique_ptr<RecordParser> parser, int64_t count)
      : parser_(std::move(parser)), count_(count) {}

  const std::vector<SlotSpec>& specs() const override { return parser_->specs(); }

  void parse(std::string_view text, TextPosition& at, SlotBlock& out, BadRecords& bad) override {
    rest_.clear();
    TextPosition line_at = at;
    for (std::string_view left = text; !left.empty(); ++line_at.line) {
      const size_t end = std::min(left.find('\n'), left.size());
      rest_ += record_of(left.substr(0, end), line_at, bad);
      rest_ += '\n';
      const size_t taken = std::min(end + 1, left.size());
      left.remove_prefix(taken);
      line_at.byte += static_cast<int64_t>(taken);
    }
    TextPosition inner = at;
    parser_->parse(rest_, inner, out, bad);
    at = line_at;
  }

 private:
  // A bad line becomes a blank one, which parsers pass over.
  std::string_view record_of(std::string_view line, const TextPosition& at, BadRecords& bad) {
    if (line.find_first_not_of(" \t\r") == line.npos) return {};
    for (int64_t i = 0; i < count_; ++i) {
      const std::string_view number = word(line);
      if (number != "1") {
        bad.add(Error(ErrorKind::kInvalidArgument,
                      fmt::format("{}: line {}, byte {}: expected 1 and a text about the sample, "
                                  "because parse_ins_id or parse_content is set, found \"{}\"",
                                  at.file, at.line, at.byte, number)));
        return {};
      }
      word(line);
    }
    return line;
  }

  const std::unique_ptr<RecordParser> parser_;
  const int64_t count_;
  std::string rest_;
};

}  // namespace

std::unique_ptr<RecordParser> after_texts(std::unique_ptr<RecordParser> parser, int64_t count) {
  if (count == 0) return parser;
  return std::make_unique<AfterTexts>(std::move(parser), count);
}

}  // namespace flotilla::data
