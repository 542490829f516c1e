#include "flotilla/testing/run_op.h"
#include "flotilla/testing/short_sequences.h"

namespace flotilla {
namespace {

TEST(SequenceEnumerate, GivesWindows) {
  const Attrs attrs = {{"win_size", 2}, {"pad_value", 7}};
  EXPECT_THAT(run_op("sequence_enumerate", {{"X", numbers()}}, attrs).at("Out"),
              equal_to(ints({2, 2, 2, 7, 6, 7, 1, 3, 3, 7}, Shape{5, 2})));
  EXPECT_REFUSED(run_op("sequence_enumerate", {{"X", numbers()}}, {{"win_size", 1}}),
                 "win_size must be at least 2, but is 1");
}

}  // namespace
}  // namespace flotilla
