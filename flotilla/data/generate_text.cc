#include "flotilla/data/generate_text.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/data/counter_random.h"

namespace flotilla::data {
namespace {

constexpr uint64_t kReviewStream = 0x72657669;  // "revi"
constexpr uint64_t kNewsStream = 0x6e657773;    // "news"

using Words = std::vector<std::string_view>;

// A slot of a template, {letter}, and the words that fill it.
struct Slot {
  char letter = 0;
  Words words = {};
};

std::string fill(std::string_view form, std::span<const Slot> slots, CounterRandom& random) {
  std::string text;
  for (size_t at = 0; at < form.size();) {
    if (form[at] != '{') {
      text += form[at++];
      continue;
    }
    const char letter = form[at + 1];
    at += 3;
    for (const Slot& slot : slots) {
      if (slot.letter == letter) text += random.choose(std::span(slot.words));
    }
  }
  return text;
}

// ---- reviews

// clang-format off
const Words kPraise = {
    "wonderful", "brilliant", "moving", "delightful", "superb", "charming", "gripping", "clever",
    "touching", "excellent", "beautiful", "hilarious", "memorable", "fresh", "perfect", "great",
    "amazing", "warm", "smart", "powerful", "stunning", "lovely", "fantastic", "elegant"};
const Words kBlame = {
    "awful", "boring", "dull", "terrible", "weak", "clumsy", "predictable", "horrible", "lame",
    "ridiculous", "stupid", "bad", "annoying", "lifeless", "painful", "empty", "poor", "cheap",
    "tedious", "pointless", "flat", "ugly", "silly", "worst"};
const Words kNouns = {
    "film", "movie", "story", "plot", "acting", "script", "cast", "director", "music", "ending",
    "dialogue", "camera", "pace", "hero", "villain", "comedy", "drama", "thriller", "sequel",
    "first half", "second half", "lead actor", "photography", "opening scene", "love story",
    "soundtrack", "action", "humor", "writing", "idea"};
const Words kDegrees = {"really", "very", "quite", "simply", "truly", "just", "rather", "so"};
const Words kNames = {"Anna", "Paul", "Maria", "John", "Clara", "Peter", "Julia", "Henry"};
const Words kTimes = {"last night", "on television", "with my family", "twice", "years ago",
                          "at the cinema", "on a rainy day", "again"};

const std::array<Slot, 8> kGoodSlots = {{
    {'a', kPraise}, {'n', kNouns}, {'d', kDegrees}, {'p', kNames}, {'t', kTimes},
    {'v', {"loved", "enjoyed", "admired", "liked", "recommend", "praise"}},
    {'e', {"Go and see it.", "Do not miss it!", "I want to see it again.", "Ten out of ten."}},
    {'f', {"laughed", "smiled", "cried", "cheered"}}}};
const std::array<Slot, 8> kBadSlots = {{
    {'a', kBlame}, {'n', kNouns}, {'d', kDegrees}, {'p', kNames}, {'t', kTimes},
    {'v', {"hated", "disliked", "regret", "forgot", "avoid", "mock"}},
    {'e', {"Save your money.", "Avoid it!", "What a waste of time.", "Two out of ten."}},
    {'f', {"yawned", "slept", "groaned", "left"}}}};

constexpr std::array<std::string_view, 12> kOpinions = {
    "The {n} was {d} {a}.", "The {n} is {a} and the {n} is {d} {a}.", "I {v} the {n}.",
    "{p} and I {v} this {n}, it was {a}.", "What a {a} {n}!", "{e}", "We {f} during the {n}.",
    "{p} plays a {a} part, and the {n} is {a} too.", "Such {a} {n} and such {a} {n}.",
    "It's a {d} {a} {n}, if you ask me.", "Everybody {f} at the {n}.",
    "To me the {n} was the most {a} thing about it."};
constexpr std::array<std::string_view, 6> kRemarks = {
    "I saw it {t}.", "I watched this {n} {t} with {p}.", "It is about {p} and {p}.",
    "The {n} takes two hours.", "{p} wrote the {n}.", "In the {n} {p} meets {p} {t}."};

// ---- news

const std::array<Slot, 11> kNewsSlots = {{
    {'c', {"company", "bank", "concern", "maker", "airline", "agency", "firm", "group", "unit"}},
    {'n', {"profit", "revenue", "sales", "output", "income", "earnings", "demand", "cash flow"}},
    {'m', {"stocks", "bonds", "prices", "shares", "futures", "rates", "yields", "exports"}},
    {'u', {"rose", "climbed", "jumped", "gained", "increased"}},
    {'d', {"fell", "dropped", "declined", "slipped", "tumbled"}},
    {'p', {"the chairman", "a spokesman", "an analyst", "the president", "a trader"}},
    {'t', {"monday", "tuesday", "wednesday", "thursday", "friday", "last year", "this month"}},
    {'w', {"new york", "london", "tokyo", "chicago", "washington", "europe"}},
    {'a', {"strong", "weak", "new", "large", "small", "federal", "foreign", "major"}},
    {'k', {"market", "industry", "economy", "government", "sector", "plan", "program"}},
    {'r', {"<unk>", "mr. <unk>", "<unk> <unk>", "<unk> corp.", "<unk> inc."}}}};
// clang-format on

constexpr std::array<std::string_view, 16> kNewsForms = {
    "the {c} said its {n} {u} N N to $ N million",
    "the {c} said its {n} {d} N N to $ N million",
    "{m} {u} in {a} trading on {t}",
    "{m} {d} in {a} trading on {t}",
    "in {w} {m} {u} N points to N",
    "in {w} {m} {d} N points to N",
    "{p} of the {c} said {n} {u} because of {a} demand",
    "{p} of the {c} said {n} {d} because of {a} demand",
    "{r} is the {a} {c} of {w}",
    "{r} said the {c} will sell N million shares",
    "{r} bought a {c} in {w} for $ N billion",
    "a {a} {k} needs a {a} {c} {p} said on {t}",
    "{p} said that the {k} is {a} and that {m} {u}",
    "{p} said that the {k} is {a} and that {m} {d}",
    "on {t} the {k} in {w} was {a}",
    "it is not clear whether the {k} will be {a} {r} said",
};

}  // namespace

std::string make_review(uint64_t seed, Split split, int64_t index, bool positive) {
  // Both kinds may have the same index.
  const uint64_t stream = kReviewStream + 2 * static_cast<uint64_t>(split) + (positive ? 1 : 0);
  CounterRandom random(seed, stream, index);
  std::string text;
  for (int left = random.between(5, 14); left > 0; --left) {
    const bool good = positive == random.chance(80);
    const std::span<const Slot> slots = good ? kGoodSlots : kBadSlots;
    const std::string_view form = random.chance(75)
                                      ? random.choose(std::span<const std::string_view>(kOpinions))
                                      : random.choose(std::span<const std::string_view>(kRemarks));
    if (!text.empty()) text += left % 4 == 0 ? "<br /><br />" : " ";
    text += fill(form, slots, random);
  }
  return text;
}

std::string make_news(uint64_t seed, Split split, int64_t first, int64_t count) {
  require(first >= 0 && count >= 0, "lines [{}, {}) of the news do not exist", first,
          first + count);
  std::string text;
  for (int64_t i = first; i < first + count; ++i) {
    CounterRandom random(seed, kNewsStream + static_cast<uint64_t>(split), i);
    text += ' ';
    text += fill(random.choose(std::span<const std::string_view>(kNewsForms)), kNewsSlots, random);
    text += " \n";
  }
  return text;
}

}  // namespace flotilla::data
