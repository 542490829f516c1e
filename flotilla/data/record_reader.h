// flotilla/data/record_reader.h
//
// The records of one file.
//
//   BadRecords bad(max_bad_records);
//   auto parser = multi_slot_parser(specs);
//   RecordReader reader(file, *parser, bad, {.pipe_command = "python reader.py"});
//   SlotBlock block(specs);
//   while (reader.next(block)) { ... }

#pragma once

#include <filesystem>
#include <memory>

#include "flotilla/data/slots.h"
#include "flotilla/data/text_source.h"

namespace flotilla::data {

// Thread safety: none.
class RecordReader {
 public:
  // `parser` and `bad` outlive the reader; the parser is the reader's alone until then.
  RecordReader(const std::filesystem::path& file, RecordParser& parser, BadRecords& bad,
               const TextOptions& options = {});

  // Appends the records of the next piece of text, half a megabyte or so, which may be none. False:
  // the file is at its end.
  bool next(SlotBlock& out);

 private:
  std::unique_ptr<TextSource> source_;
  RecordParser& parser_;
  BadRecords& bad_;
  TextPosition at_;
};

// All records of a file.
SlotBlock read_records(const std::filesystem::path& file, RecordParser& parser, BadRecords& bad,
                       const TextOptions& options = {});

}  // namespace flotilla::data
