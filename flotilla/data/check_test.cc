#include "flotilla/data/check.h"

#include <gmock/gmock.h>

#include "flotilla/base/env.h"
#include "flotilla/data/idx.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class Check : public testing::Test, protected TempDir {
 protected:
  CheckReport check(const std::string& bytes, const CheckOptions& options = {}) const {
    return check_file(put("a", bytes), options);
  }
};

std::string criteo_line(const std::string& integer) {
  std::string line = "1";
  for (int i = 0; i < 13; ++i) line += "\t" + integer;
  for (int i = 0; i < 26; ++i) line += "\t05db9164";
  return line + "\n";
}

TEST_F(Check, RecognisesCriteo) {
  const CheckReport report = check(criteo_line("1") + criteo_line("x") + criteo_line(""));
  EXPECT_EQ(report.kind, "Criteo click log");
  EXPECT_EQ(report.records, 2);
  EXPECT_THAT(report.problems,
              ElementsAre(HasSubstr("line 2, byte 264: I1: expected a whole number or nothing")));
}

TEST_F(Check, RecognisesMultiSlotText) {
  const CheckReport report = check("2 0.5 1 1 7\n2 1 2 1 8\n2 1 1 8\n");
  EXPECT_EQ(report.kind, "multi-slot text of 2 slots");
  EXPECT_EQ(report.records, 2);
  EXPECT_THAT(report.problems, ElementsAre(file("a") + ": line 3, byte 29: slot 1: expected 8 "
                                                       "values, found only 0"));
}

TEST_F(Check, ChecksTheSlotsThatAreNamed) {
  const CheckReport report =
      check("2 0.5 1 1 7\n3 1 2 3 1 8\n2 1 1 1 8.5\n", {.slots = parse_slots("x:f32:2,y:i64")});
  EXPECT_EQ(report.records, 1);
  EXPECT_EQ(report.problem_count, 2);
  EXPECT_THAT(report.problems[0], HasSubstr("line 2, byte 12: slot x: expected 2 values"));
  EXPECT_THAT(report.problems[1], HasSubstr("line 3, byte 32: slot y: expected a whole number"));
}

TEST_F(Check, RecognisesTables) {
  CheckReport report = check("x,name,y\n1,a,2\n3,b,\n4,c,d\n5,e\n");
  EXPECT_EQ(report.kind, "table of 2 columns of numbers with a header");
  EXPECT_EQ(report.records, 2);
  EXPECT_THAT(report.problems,
              ElementsAre(HasSubstr("line 4, byte 24: slot 2, column y: expected a number"),
                          HasSubstr("line 5, byte 26: expected 3 columns as in line 1, found 2")));
  report = check(" 0.5  18.00   2.3  7\n 0.5  18.00   2.3  x\n");
  EXPECT_EQ(report.kind, "table of 4 columns of numbers");
  EXPECT_EQ(report.records, 1);
}

TEST_F(Check, RecognisesIdx) {
  write_idx_labels(file("labels.gz"), std::vector<uint8_t>{3, 9, 1});
  CheckReport report = check_file(file("labels.gz"));
  EXPECT_EQ(report.kind, "IDX labels 1 to 9");
  EXPECT_EQ(report.records, 3);
  EXPECT_THAT(report.problems, IsEmpty());
  std::string packed = get("labels.gz");
  report = check(packed.substr(0, packed.size() - 9));
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("the gzip data is cut short")));
  report = check_file(put("train-images-idx3-ubyte", std::string("\0\0\x08\x04rest", 8)));
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("byte 0: expected the number 2051 (IDX "
                                                     "images), found 2052")));
}

TEST_F(Check, DecodesImages) {
  EXPECT_THAT(check(std::string("\xff\xd8\xff\xe0", 4)).problems, testing::SizeIs(1));
  EXPECT_THAT(check(std::string("\x89PNG\r\n\x1a\n", 8)).problems, testing::SizeIs(1));
}

TEST_F(Check, SaysWhatItCannotRead) {
  EXPECT_THAT(check("").problems, ElementsAre(HasSubstr("expected records, found an empty file")));
  EXPECT_THAT(check(std::string("\x7f"
                                "ELF\0\0",
                                6))
                  .problems,
              ElementsAre(HasSubstr("byte 0: expected IDX, JPEG, PNG, multi-slot text, Criteo "
                                    "lines or a table, found \"\\x7fELF\\x00\\x00\"")));
  EXPECT_THAT(check_file(file("none")).problems, ElementsAre(HasSubstr("no such file")));
}

TEST_F(Check, CountsWhatItDoesNotKeep) {
  std::string text = "1 1\n";
  for (int i = 0; i < 50; ++i) text += "1 x\n";
  const CheckReport report = check(text, {.max_problems = 3});
  EXPECT_EQ(report.problem_count, 50);
  EXPECT_EQ(report.problems.size(), 3u);
}

TEST_F(Check, ReadsThroughACommand) {
  const CheckReport report = check("7\n8\n", {.pipe_command = "sed 's/^/1 /'"});
  EXPECT_EQ(report.kind, "multi-slot text of 1 slots");
  EXPECT_EQ(report.records, 2);
  testing::internal::CaptureStderr();
  EXPECT_THAT(check("7\n", {.pipe_command = "sed 's/^/1 /'; exit 4"}).problems,
              ElementsAre(HasSubstr("ended with exit status 4")));
  testing::internal::GetCapturedStderr();
}

TEST_F(Check, ReadsRealFiles) {
  const auto data = env::text("FLT_TEST_DATA");
  if (!data) GTEST_SKIP() << "FLT_TEST_DATA names no folder with real data";
  EXPECT_EQ(check_file(*data + "/criteo/part-0").records, 100);
  EXPECT_EQ(check_file(*data + "/uci_housing/housing.data").records, 506);
  EXPECT_EQ(check_file(*data + "/mnist/t10k-labels-idx1-ubyte.gz").kind, "IDX labels 0 to 9");
}

TEST(ParseSlots, ReadsNamesTypesAndExtents) {
  const std::vector<SlotSpec> specs = parse_slots("x:f32:3x4,ids:int64:seq,y:i64");
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].shape, (Shape{3, 4}));
  EXPECT_EQ(specs[1].lod_level, 1);
  EXPECT_EQ(specs[2].width(), 1);
  EXPECT_THAT([] { parse_slots("x"); }, ThrowsMessage<Error>(HasSubstr("found \"x\"")));
  EXPECT_THAT([] { parse_slots("x:f32:0"); }, ThrowsMessage<Error>(HasSubstr("found \"0\"")));
  EXPECT_THAT([] { parse_slots("x:f32,x:f32"); }, ThrowsMessage<Error>(HasSubstr("two slots")));
}

}  // namespace
}  // namespace flotilla::data
