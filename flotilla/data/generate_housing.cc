#include "flotilla/data/generate_housing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "flotilla/base/error.h"
#include "flotilla/data/counter_random.h"

// Same bits everywhere: all arithmetic is on whole numbers, a value in units of its last digit.

namespace flotilla::data {
namespace {

constexpr uint64_t kStream = 0x686f7573;  // "hous"
constexpr int kUnit = 1000;               // positions in a column's range run from 0 to this

struct Column {
  int low = 0;   // in units of the last digit
  int high = 0;  // likewise
  int digits = 0;
  int wealth = 0;  // how much the wealth of the district moves it, in percent; negative: against
  int power = 1;   // 2, 3: most values lie near `low`
  int price = 0;   // what its whole range is worth, in tenths of the price's unit
};

constexpr std::array<Column, kHousingColumns - 1> kColumns = {{
    {.low = 632, .high = 8897620, .digits = 5, .wealth = -30, .power = 3, .price = -90},   // CRIM
    {.low = 0, .high = 10000, .digits = 2, .wealth = 20, .power = 3, .price = 45},         // ZN
    {.low = 46, .high = 2774, .digits = 2, .wealth = -30, .price = -10},                   // INDUS
    {.low = 0, .high = 1},                                                                 // CHAS
    {.low = 3850, .high = 8710, .digits = 4, .wealth = -25, .price = -85},                 // NOX
    {.low = 35610, .high = 87800, .digits = 4, .wealth = 35, .price = 200},                // RM
    {.low = 29, .high = 1000, .digits = 1, .wealth = -20, .price = 5},                     // AGE
    {.low = 11296, .high = 121265, .digits = 4, .wealth = 15, .power = 2, .price = -120},  // DIS
    {.low = 1, .high = 24, .price = 60},                                                   // RAD
    {.low = 1870, .high = 7110, .digits = 1, .wealth = -25, .price = -65},                 // TAX
    {.low = 1260, .high = 2200, .digits = 2, .wealth = -20, .price = -90},              // PTRATIO
    {.low = 32, .high = 39690, .digits = 2, .wealth = 20, .price = 37},                 // B
    {.low = 173, .high = 3797, .digits = 2, .wealth = -40, .power = 2, .price = -190},  // LSTAT
}};

constexpr int kChas = 3;         // by the river or not
constexpr int kChasPrice = 27;   // what the river adds, in tenths
constexpr int kMeanPrice = 225;  // in tenths

void append(std::string& text, int64_t value, int digits) {
  int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  auto out = std::back_inserter(text);
  if (digits == 0) {
    fmt::format_to(out, " {:>6}", value);
  } else {
    fmt::format_to(out, " {:>4}.{:0{}}", value / unit, value % unit, digits);
  }
}

void append_row(std::string& text, uint64_t seed, int64_t row) {
  CounterRandom random(seed, kStream, row);
  const int wealth = random.between(-kUnit / 2, kUnit / 2);
  int price = kMeanPrice + random.bell_whole(210);
  for (int i = 0; i < kHousingColumns - 1; ++i) {
    const Column& column = kColumns[i];
    if (i == kChas) {
      const int river = random.chance(7) ? 1 : 0;
      price += river * kChasPrice;
      append(text, river, 0);
      continue;
    }
    const int own = random.between(0, kUnit);
    const int at = std::clamp(own + wealth * column.wealth / 75, 0, kUnit);
    int64_t place = at;
    for (int n = 1; n < column.power; ++n) place = place * at / kUnit;
    // The price follows the place in the range, so that a line can find it.
    price += static_cast<int>((2 * place - kUnit) * column.price / (2 * kUnit));
    append(text, column.low + (column.high - column.low) * place / kUnit, column.digits);
  }
  append(text, std::clamp(price, 50, 500), 1);
  text += '\n';
}

}  // namespace

std::string make_housing(uint64_t seed, int64_t rows) {
  require(rows >= 0, "the number of rows must not be negative, but is {}", rows);
  std::string text;
  for (int64_t i = 0; i < rows; ++i) append_row(text, seed, i);
  return text;
}

}  // namespace flotilla::data
