// tests/fuzz/table_fuzz.cc
//
// Criteo's click log and tables of numbers: any text is records or is refused. The first byte
// chooses the parser.

#include <cstddef>
#include <cstdint>

#include "flotilla/data/check.h"
#include "records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flotilla;
  using namespace flotilla::data;
  if (size == 0) return 0;
  const uint8_t choice = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (choice % 4 == 0) {
    static const auto criteo = criteo_parser();
    check_parser(*criteo, text);
    return 0;
  }
  const CsvOptions options = {
      .delimiter = choice % 4 == 1   ? ','
                   : choice % 4 == 2 ? '\t'
                                     : ' ',
      .header = (choice & 4) != 0,
      .columns = (choice & 8) != 0 ? std::vector<std::vector<std::string>>{{"1:3"}, {"0"}}
                                   : std::vector<std::vector<std::string>>{},
      .allow_empty = (choice & 16) != 0,
  };
  const auto csv =
      csv_parser({{.name = "x", .dtype = f32, .shape = {2}}, {.name = "y", .dtype = i64}}, options);
  try {
    check_parser(*csv, text);
  } catch (const Error&) {  // the first line does not have the columns
  }
  return 0;
}
