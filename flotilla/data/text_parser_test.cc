// The parsers of lines: multi-slot text, Criteo's click log, tables.

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>

#include "flotilla/base/env.h"
#include "flotilla/data/criteo.h"
#include "flotilla/data/csv.h"
#include "flotilla/data/number.h"
#include "flotilla/data/record_reader.h"

namespace flotilla::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SlotBlock parse(RecordParser& parser, std::string_view text, int64_t allowed = 0) {
  SlotBlock block(parser.specs());
  TextPosition at = {.file = "part-0"};
  BadRecords bad(allowed);
  parser.parse(text, at, block, bad);
  return block;
}

std::string refusal(RecordParser& parser, std::string_view text) {
  try {
    parse(parser, text);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "nothing was refused";
}

std::vector<float> f32s(const SlotBlock& block, int64_t slot) {
  return block.column(slot).values<float>();
}
std::vector<int64_t> i64s(const SlotBlock& block, int64_t slot) {
  return block.column(slot).values<int64_t>();
}

float number(std::string_view text) {
  float value = 0;
  const char* const end = text.data() + text.size();
  return read_f32(text.data(), end, value) == end ? value : NAN;
}

TEST(ReadF32, FindsTheNearestFloat) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "0.1",
                           "-3.25",
                           "1e10",
                           "1E-3",
                           "16777217",
                           "0.49751243",
                           "123456789.125",
                           "1.17549435e-38",
                           "3.4028235e38",
                           ".5",
                           "5.",
                           "0.000000000000000000000001",
                           "9007199791611905",
                           "33554434.0000001",
                           "1e+22",
                           "1.5625e-05",
                           "00000.5"}) {
    EXPECT_EQ(number(text), std::strtof(text, nullptr)) << text;
  }
  EXPECT_EQ(number("1e-60"), 0);
  EXPECT_EQ(number("+2.5"), 2.5f);
  EXPECT_TRUE(std::isinf(number("inf")));
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double digits = static_cast<double>(random() >> 11);
    const double value = digits / std::pow(10, random() % 40);
    for (const std::string& text :
         {fmt::format("{:.{}f}", value, random() % 12), fmt::format("{}", value),
          fmt::format("{:.{}e}", value, i % 20), fmt::format("{}", static_cast<float>(value))}) {
      ASSERT_EQ(number(text), std::strtof(text.c_str(), nullptr)) << text;
    }
    // Halfway between two floats, and next to it.
    const float base = static_cast<float>(value);
    const double half = (static_cast<double>(base) + std::nextafterf(base, INFINITY)) / 2;
    for (const double near : {half, std::nextafter(half, 0), std::nextafter(half, INFINITY)}) {
      for (const std::string& text : {fmt::format("{}", near), fmt::format("{:.20f}", near)}) {
        ASSERT_EQ(number(text), std::strtof(text.c_str(), nullptr)) << text;
      }
    }
  }
}

TEST(ReadF32, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "-", ".", "1.2.3", "1e", "1e+", ".e5", "x", "0x10", "1e999",
                           "1e9223372036854775808", "4e38", "--1", "1,5", "+-1"}) {
    EXPECT_TRUE(std::isnan(number(text))) << text;
  }
}

TEST(ReadI64, KnowsItsRange) {
  const auto read = [](std::string_view text) -> std::optional<int64_t> {
    int64_t value = 0;
    const char* const end = text.data() + text.size();
    if (read_i64(text.data(), end, value) != end) return std::nullopt;
    return value;
  };
  EXPECT_EQ(read("0"), 0);
  EXPECT_EQ(read("-5"), -5);
  EXPECT_EQ(read("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(read("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(read("18446744073709551615"), -1);
  EXPECT_EQ(read("000000000000000000000000000012"), 12);
  for (const char* text : {"", "-", "18446744073709551616", "-9223372036854775809", "1.0", "a"}) {
    EXPECT_EQ(read(text), std::nullopt) << text;
  }
}

const std::vector<SlotSpec> kSpecs = {
    {.name = "x", .dtype = f32, .shape = {3}},
    {.name = "ids", .dtype = i64, .lod_level = 1},
    {.name = "label", .dtype = i64},
};

TEST(MultiSlot, ReadsRecords) {
  const auto parser = multi_slot_parser(kSpecs);
  const SlotBlock block = parse(*parser,
                                "3 0.5 -1 2e2 2 7 8 1 0\n\n3 1 2 3 1 9 1 1\r\n   \n"
                                "  3\t4 5 6  1 18446744073709551615   1 0 ");
  ASSERT_EQ(block.records(), 3);
  EXPECT_THAT(f32s(block, 0), ElementsAre(0.5f, -1, 200, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(block.column(1).of<int64_t>(0), ElementsAre(7, 8));
  EXPECT_THAT(block.column(1).of<int64_t>(2), ElementsAre(-1));
  EXPECT_THAT(i64s(block, 2), ElementsAre(0, 1, 0));
}

// What Paddle 2.6.2's QueueDataset makes of the same text.
TEST(MultiSlot, MakesPaddlesBatches) {
  const auto parser = multi_slot_parser({{.name = "x", .dtype = f32, .shape = {2, 3}},
                                         {.name = "ids", .dtype = i64, .lod_level = 1},
                                         {.name = "s", .dtype = f32, .lod_level = 1},
                                         {.name = "y", .dtype = i64}});
  const SlotBlock block = parse(*parser,
                                "6 1 2 3 4 5 6 2 7 18446744073709551615 4 1 2 3 4 1 0\n"
                                "6\t1 2 3 4 5 6 1 -1 2 0.1 1e-50 1 1  \n");
  const Batch batch = to_batch(block, std::vector<int64_t>{0, 1}, parser->specs());
  EXPECT_EQ(batch[0].shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(batch[1].shape(), (Shape{3, 1}));
  EXPECT_THAT(batch[1].lod(), ElementsAre(ElementsAre(0, 2, 3)));
  EXPECT_THAT(batch[1].span<int64_t>(), ElementsAre(7, -1, -1));
  EXPECT_EQ(batch[2].shape(), (Shape{6, 1}));
  EXPECT_THAT(batch[2].lod(), ElementsAre(ElementsAre(0, 4, 6)));
  EXPECT_THAT(batch[2].span<float>(), ElementsAre(1, 2, 3, 4, 0.1f, 0));
  EXPECT_EQ(batch[3].shape(), (Shape{2, 1}));
  EXPECT_THAT(batch[3].span<int64_t>(), ElementsAre(0, 1));
}

TEST(MultiSlot, SaysWhereARecordIsWrong) {
  const auto parser = multi_slot_parser(kSpecs);
  const std::string good = "3 1 2 3 1 7 1 0\n";
  const auto at = [&](const std::string& line) { return refusal(*parser, good + line + good); };
  EXPECT_EQ(at("3 1 2x 3 1 7 1 0\n"),
            "part-0: line 2, byte 20: slot x: expected a number as value 2 of 3, found \"2x\"");
  EXPECT_EQ(at("3 1 2 3 1 7.5 1 0\n"),
            "part-0: line 2, byte 26: slot ids: expected a whole number as value 1 of 1, found "
            "\"7.5\"");
  EXPECT_EQ(at("3 1 2 3 1 7\n"),
            "part-0: line 2, byte 27: slot label: expected 3 slots in the line, found only 2");
  EXPECT_EQ(at("3 1 2 3 4 7 8\n"),
            "part-0: line 2, byte 29: slot ids: expected 4 values, found only 2");
  EXPECT_EQ(at("2 1 2 1 7 1 0\n"),
            "part-0: line 2, byte 16: slot x: expected 3 values, found the count 2");
  EXPECT_EQ(at("3 1 2 3 0 1 0\n"),
            "part-0: line 2, byte 24: slot ids: expected at least one value (pad an empty slot, "
            "e.g. with 0), found the count 0");
  EXPECT_EQ(at("3 1 2 3 1 7 1 0 5\n"),
            "part-0: line 2, byte 32: expected the end of the line after 3 slots, found \"5\"");
  EXPECT_EQ(at("x\n"),
            "part-0: line 2, byte 16: slot x: expected the number of its values, found \"x\"");
  EXPECT_THAT(at(std::string("3 1 \x1b\0 3\n", 10)), HasSubstr("found \"\\x1b\\x00\""));
}

TEST(MultiSlot, SkipsAsManyBadRecordsAsAllowed) {
  const auto parser = multi_slot_parser(kSpecs);
  const std::string text =
      "3 1 2 3 1 7 1 0\n3 1 2 3 1 7 1\n3 1 2 3 2 8 9 1 1\n3 a\n3 0 0 0 1 1 1 2\n";
  const SlotBlock block = parse(*parser, text, 2);
  EXPECT_EQ(block.records(), 3);
  EXPECT_THAT(i64s(block, 1), ElementsAre(7, 8, 9, 1));
  EXPECT_THAT(i64s(block, 2), ElementsAre(0, 1, 2));
  EXPECT_THROW(parse(*parser, text, 1), Error);
}

TEST(MultiSlot, ReadsSequencesOfWideElements) {
  const auto parser =
      multi_slot_parser({{.name = "s", .dtype = f32, .shape = {2}, .lod_level = 1}});
  const SlotBlock block = parse(*parser, "4 1 2 3 4\n2 5 6\n");
  const Batch batch = to_batch(block, std::vector<int64_t>{0, 1}, parser->specs());
  EXPECT_EQ(batch[0].shape(), (Shape{3, 2}));
  EXPECT_THAT(batch[0].lod(), ElementsAre(ElementsAre(0, 2, 3)));
  EXPECT_THAT(refusal(*parser, "3 1 2 3\n"), HasSubstr("expected a multiple of 2 values"));
}

std::string criteo_line(const std::string& label, const std::string& integer,
                        const std::string& category) {
  std::string line = label;
  for (int i = 0; i < kCriteoIntegers; ++i) line += "\t" + integer;
  for (int i = 0; i < kCriteoCategories; ++i) line += "\t" + category;
  return line + "\n";
}

TEST(Criteo, ReadsRecords) {
  const auto parser = criteo_parser();
  const SlotBlock block =
      parse(*parser, criteo_line("1", "10", "05db9164") + criteo_line("0", "", ""));
  ASSERT_EQ(block.records(), 2);
  const auto dense = block.column(0).of<float>(0);
  EXPECT_EQ(dense[0], 0.5f);
  EXPECT_EQ(dense[1], static_cast<float>(13.0 / 603));
  EXPECT_EQ(dense[4], static_cast<float>(10.0 / 64000));
  EXPECT_THAT(block.column(0).of<float>(1), testing::Each(0.0f));
  for (int c = 1; c <= kCriteoCategories; ++c) {
    EXPECT_EQ(i64s(block, c)[0], criteo_id(c, "05db9164", 1000001));
    EXPECT_EQ(i64s(block, c)[1], criteo_id(c, "", 1000001));
  }
  EXPECT_THAT(i64s(block, 27), ElementsAre(1, 0));
}

// A table that was trained with these ids must find its rows again: they may never change.
TEST(Criteo, IdsAreTheSameEverywhere) {
  EXPECT_EQ(criteo_id(1, "05db9164", 1000001), 799613);
  EXPECT_EQ(criteo_id(2, "05db9164", 1000001), 55255);
  EXPECT_EQ(criteo_id(26, "", 1000001), 472627);
  EXPECT_EQ(criteo_id(3, "longer than one word", 100), 35);
}

TEST(Criteo, IdsAreSpreadEvenly) {
  std::vector<int> count(100);
  for (int i = 0; i < 100000; ++i) ++count[criteo_id(7, fmt::format("{:08x}", i), 100)];
  EXPECT_THAT(count, testing::Each(testing::AllOf(testing::Gt(850), testing::Lt(1150))));
}

TEST(Criteo, FillsTheSlotsThatAreNamed) {
  const auto parser = criteo_parser({{.name = "click", .dtype = f32},
                                     {.name = "C26", .dtype = i64},
                                     {.name = "I2", .dtype = f32}},
                                    {.hash_dim = 10});
  const SlotBlock block = parse(*parser, criteo_line("1", "0", "x"));
  EXPECT_THAT(f32s(block, 0), ElementsAre(1));
  EXPECT_THAT(i64s(block, 1), ElementsAre(criteo_id(26, "x", 10)));
  EXPECT_THAT(f32s(block, 2), ElementsAre(static_cast<float>(3.0 / 603)));
  EXPECT_THAT([] { criteo_parser({{.name = "age", .dtype = i64}}); },
              testing::ThrowsMessage<Error>(HasSubstr("slot age is i64 of shape [1], which no "
                                                      "field of a Criteo record fills")));
}

TEST(Criteo, SaysWhereARecordIsWrong) {
  const auto parser = criteo_parser();
  EXPECT_EQ(refusal(*parser, criteo_line("2", "1", "a")),
            "part-0: line 1, byte 0: label: expected 0 or 1, found \"2\"");
  EXPECT_EQ(refusal(*parser, criteo_line("1", "1.5", "a")),
            "part-0: line 1, byte 2: I1: expected a whole number or nothing, found \"1.5\"");
  EXPECT_EQ(refusal(*parser, "1\t2\t3\n"),
            "part-0: line 1, byte 5: I3: expected 40 fields between tabs, found only 3");
  std::string long_line = criteo_line("1", "1", "a");
  long_line.back() = '\t';
  EXPECT_THAT(refusal(*parser, long_line + "b\n"),
              HasSubstr("expected the end of the line after 40 fields, found \"\\x09b\""));
}

TEST(Criteo, ReadsTheRealLog) {
  const auto data = env::text("FLT_TEST_DATA");
  if (!data) GTEST_SKIP() << "FLT_TEST_DATA names no folder with criteo/part-0";
  const auto parser = criteo_parser();
  BadRecords bad;
  const SlotBlock block = read_records(*data + "/criteo/part-0", *parser, bad);
  EXPECT_EQ(block.records(), 100);
}

TEST(Csv, TakesColumnsFromLeftToRight) {
  const auto parser =
      csv_parser({{.name = "x", .dtype = f32, .shape = {2}}, {.name = "y", .dtype = i64}}, {});
  const SlotBlock block = parse(*parser, "1,2.5,3\n \"4\" , 5,\"6\"\n");
  EXPECT_THAT(f32s(block, 0), ElementsAre(1, 2.5f, 4, 5));
  EXPECT_THAT(i64s(block, 1), ElementsAre(3, 6));
}

TEST(Csv, FindsColumnsByName) {
  const std::vector<SlotSpec> specs = {{.name = "x", .dtype = f32, .shape = {2}},
                                       {.name = "y", .dtype = i64}};
  const auto parser = csv_parser(specs, {.header = true});
  const std::string text = "y,name,x_1,x_0\n1,\"a,b\",2,3\n";
  for (int file = 0; file < 2; ++file) {
    const SlotBlock block = parse(*parser, text);
    EXPECT_THAT(f32s(block, 0), ElementsAre(3, 2));
    EXPECT_THAT(i64s(block, 1), ElementsAre(1));
  }
  const auto chosen = csv_parser(specs, {.header = true, .columns = {{"2:4"}, {"y"}}});
  EXPECT_THAT(f32s(parse(*chosen, text), 0), ElementsAre(2, 3));
  EXPECT_EQ(refusal(*parser, "yy,x_0,x_1\n"),
            "part-0: line 1, byte 0: slot y: expected a column called \"y\", found yy, x_0, x_1. "
            "Did you mean \"yy\"?");
}

TEST(Csv, ReadsBlankSeparatedTables) {
  const auto parser = csv_parser({{.name = "x", .dtype = f32, .shape = {3}}}, {.delimiter = ' '});
  EXPECT_THAT(f32s(parse(*parser, " 0.5  1\t 2 \n"), 0), ElementsAre(0.5f, 1, 2));
}

TEST(Csv, SaysWhereARecordIsWrong) {
  const std::vector<SlotSpec> specs = {{.name = "x", .dtype = f32, .shape = {2}}};
  const auto parser = csv_parser(specs, {});
  EXPECT_EQ(refusal(*parser, "1,2\n3,4,5\n"),
            "part-0: line 2, byte 4: expected 2 columns as in line 1, found 3");
  EXPECT_EQ(refusal(*parser, "1,2\n3,a b\n"),
            "part-0: line 2, byte 6: slot x, column 1: expected a number, found \"a b\"");
  EXPECT_EQ(refusal(*parser, "1,\n"),
            "part-0: line 1, byte 2: slot x, column 1: expected a number, found nothing");
  EXPECT_EQ(refusal(*parser, "1\n"),
            "part-0: line 1, byte 0: slot x: expected 2 columns or more, found 1");
  const auto lenient = csv_parser(specs, {.allow_empty = true, .empty_value = -1});
  EXPECT_THAT(f32s(parse(*lenient, "1,\n,2\n"), 0), ElementsAre(1, -1, -1, 2));
}

}  // namespace
}  // namespace flotilla::data
