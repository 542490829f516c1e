// flotilla/data/ins_id.h
//
// Lines that begin with texts about the sample, as Paddle's parse_ins_id and parse_content have it:
//
//   line := (number:"1" blank text blank){count} record

#pragma once

#include <memory>

#include "flotilla/data/slots.h"

namespace flotilla::data {

// A parser that passes over the first `count` texts of each line and hands the rest on. The bytes
// of errors are counted without the texts.
std::unique_ptr<RecordParser> after_texts(std::unique_ptr<RecordParser> parser, int64_t count);

}  // namespace flotilla::data
