#include "flotilla/data/generate_clicks.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <iterator>
#include <system_error>

#include "flotilla/base/atomic_file.h"
#include "flotilla/base/error.h"
#include "flotilla/data/counter_random.h"

// Same bits everywhere: scores are whole numbers, in thousandths.

namespace flotilla::data {
namespace {

constexpr uint64_t kStream = 0x636c6963;          // "clic"
constexpr uint64_t kWeightStream = 0x77656967;    // "weig"
constexpr uint64_t kSpellingStream = 0x7370656c;  // "spel"

struct IntegerSlot {
  int bits = 0;    // values reach 2^bits, small ones most often
  int blank = 0;   // percent
  int weight = 0;  // of a bit of the value, in thousandths of the score
};

constexpr std::array<IntegerSlot, kClickIntegers> kIntegers = {{
    {.bits = 6, .blank = 44, .weight = 150},
    {.bits = 10, .blank = 0, .weight = 0},
    {.bits = 9, .blank = 22, .weight = 40},
    {.bits = 5, .blank = 22, .weight = 60},
    {.bits = 16, .blank = 3, .weight = -60},
    {.bits = 11, .blank = 22, .weight = -70},
    {.bits = 8, .blank = 4, .weight = 80},
    {.bits = 6, .blank = 0, .weight = 0},
    {.bits = 11, .blank = 4, .weight = 20},
    {.bits = 3, .blank = 44, .weight = 120},
    {.bits = 6, .blank = 4, .weight = 60},
    {.bits = 6, .blank = 77, .weight = 0},
    {.bits = 8, .blank = 22, .weight = -50},
}};

struct CategorySlot {
  int count = 0;  // of different values; low ones most often
  int blank = 0;  // percent
  int reach = 0;  // weights lie in [-reach, reach], in thousandths of the score
};

constexpr std::array<CategorySlot, kClickCategories> kCategories = {{
    {.count = 300, .reach = 400},
    {.count = 500, .reach = 900},
    {.count = 60000, .blank = 3, .reach = 300},
    {.count = 40000, .blank = 3, .reach = 300},
    {.count = 100, .reach = 200},
    {.count = 12, .blank = 12, .reach = 500},
    {.count = 8000, .reach = 600},
    {.count = 200, .reach = 150},
    {.count = 3, .reach = 700},
    {.count = 15000, .reach = 500},
    {.count = 4000, .reach = 500},
    {.count = 50000, .blank = 3, .reach = 200},
    {.count = 3000, .reach = 300},
    {.count = 26, .reach = 700},
    {.count = 8000, .reach = 200},
    {.count = 45000, .blank = 3, .reach = 200},
    {.count = 10, .reach = 900},
    {.count = 3500, .reach = 600},
    {.count = 1500, .blank = 44, .reach = 300},
    {.count = 4, .blank = 44, .reach = 400},
    {.count = 48000, .blank = 3, .reach = 200},
    {.count = 14, .blank = 76, .reach = 300},
    {.count = 15, .reach = 600},
    {.count = 25000, .blank = 3, .reach = 200},
    {.count = 70, .blank = 44, .reach = 400},
    {.count = 18000, .blank = 44, .reach = 200},
}};

constexpr int kOffset = -1150;  // of the score; about a quarter of the lines are clicks

// The value of a category, low ones most often: its density falls as value^(-2/3).
int draw_category(CounterRandom& random, int count) {
  const double u = random.uniform(0, 1);
  return static_cast<int>(u * u * u * count);
}

int weight_of(uint64_t seed, int slot, int value) {
  CounterRandom random(seed, kWeightStream + static_cast<uint64_t>(slot), value);
  return random.bell_whole(kCategories[slot].reach * 2);
}

// The same spelling whatever the seed, and other values in other slots.
uint32_t spelling_of(int slot, int value) {
  return static_cast<uint32_t>(
      CounterRandom(0, kSpellingStream + static_cast<uint64_t>(slot), value).bits());
}

int add_integer(std::string& text, CounterRandom& random, const IntegerSlot& slot) {
  if (random.chance(slot.blank)) return 0;
  const int bits = random.below(slot.bits + 1);
  const int value = bits == 0 ? 0 : (1 << (bits - 1)) + random.below(1 << (bits - 1));
  fmt::format_to(std::back_inserter(text), "{}", value);
  return (2 * bits - slot.bits) * slot.weight / 2;
}

// A logistic curve without exp: s / (1 + |s|), moved to (0, 1); in thousandths.
int probability(int score) { return 500 + 500 * score / (1000 + std::abs(score)); }

void append_line(std::string& text, uint64_t seed, Split split, int64_t index) {
  CounterRandom random(seed, kStream + static_cast<uint64_t>(split), index);
  const size_t label = text.size();
  text += '0';
  int score = kOffset;
  for (const IntegerSlot& slot : kIntegers) {
    text += '\t';
    score += add_integer(text, random, slot);
  }
  for (int slot = 0; slot < kClickCategories; ++slot) {
    text += '\t';
    const bool blank = random.chance(kCategories[slot].blank);
    const int value = draw_category(random, kCategories[slot].count);
    if (blank) continue;
    fmt::format_to(std::back_inserter(text), "{:08x}", spelling_of(slot, value));
    score += weight_of(seed, slot, value);
  }
  text += '\n';
  if (random.below(1000) < probability(4 * score)) text[label] = '1';
}

}  // namespace

std::string make_clicks(uint64_t seed, Split split, int64_t first, int64_t count) {
  require(first >= 0 && count >= 0, "lines [{}, {}) of a click log do not exist", first,
          first + count);
  std::string text;
  for (int64_t i = first; i < first + count; ++i) append_line(text, seed, split, i);
  return text;
}

std::vector<std::filesystem::path> write_clicks(const std::filesystem::path& directory,
                                                const ClicksOptions& options) {
  require(options.train_files > 0, "the training lines need at least one file, but {} were given",
          options.train_files);
  std::vector<std::filesystem::path> paths;
  const auto write = [&](const char* folder, Split split, int64_t lines, int files) {
    std::error_code error;
    std::filesystem::create_directories(directory / folder, error);
    require(!error, "cannot create the directory {}: {}", (directory / folder).string(),
            error.message());
    for (int i = 0; i < files; ++i) {
      const int64_t first = lines * i / files, end = lines * (i + 1) / files;
      AtomicFile file(paths.emplace_back(directory / folder / fmt::format("part-{}", i)));
      file.write(make_clicks(options.seed, split, first, end - first));
      file.commit();
    }
  };
  write("train", Split::kTrain, options.train, options.train_files);
  write("test", Split::kTest, options.test, 1);
  return paths;
}

}  // namespace flotilla::data
