#include "flotilla/data/record_reader.h"

namespace flotilla::data {

RecordReader::RecordReader(const std::filesystem::path& file, RecordParser& parser, BadRecords& bad,
                           const TextOptions& options)
    : source_(open_text(file, options)), parser_(parser), bad_(bad), at_{.file = source_->name()} {}

bool RecordReader::next(SlotBlock& out) {
  const std::string_view text = source_->next();
  if (text.empty()) return false;
  parser_.parse(text, at_, out, bad_);
  return true;
}

SlotBlock read_records(const std::filesystem::path& file, RecordParser& parser, BadRecords& bad,
                       const TextOptions& options) {
  RecordReader reader(file, parser, bad, options);
  SlotBlock block(parser.specs());
  while (reader.next(block)) {
  }
  return block;
}

}  // namespace flotilla::data
