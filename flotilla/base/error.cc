#include "flotilla/base/error.h"

#include <algorithm>
#include <numeric>

namespace flotilla {
namespace {

// A name may hold any bytes; what() would end at a zero.
std::string without_zeros(std::string text) {
  for (size_t at = 0; (at = text.find('\0', at)) != std::string::npos;)
    text.replace(at, 1, "\\x00");
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string sentence, std::source_location where)
    : kind_(kind), where_(where), sentence_(without_zeros(std::move(sentence))), text_(sentence_) {}

Error& Error::note(std::string_view label, std::string_view text) {
  if (has_note(label)) return *this;
  labels_.emplace_back(label);
  text_ += without_zeros(fmt::format("\n  {:<5} {}", label, text));
  return *this;
}

bool Error::has_note(std::string_view label) const {
  return std::find(labels_.begin(), labels_.end(), label) != labels_.end();
}

namespace {

// Levenshtein distance, one row at a time.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  // A third of the letters may be wrong; further away a suggestion confuses more than it helps.
  size_t best_distance = word.size() / 3 + 2;
  std::string best;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : fmt::format(" Did you mean \"{}\"?", best);
}

}  // namespace flotilla
