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

// Letters that are wrong, missing, too many or swapped with their neighbour, each counted once.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before;  // the row before the last
  std::vector<size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    std::vector<size_t> row = {i + 1};
    for (size_t j = 0; j < b.size(); ++j) {
      size_t best = std::min({last[j] + (a[i] != b[j]), last[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
        best = std::min(best, before[j - 1] + 1);
      }
      row.push_back(best);
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

// A third of the letters may be wrong; further away a suggestion confuses more than it helps.
size_t most_wrong(std::string_view word) { return std::max<size_t>(word.size() / 3, 1); }

// "fc" of "fc_0.tmp_1": outputs of all layers end alike.
std::string_view layer_of(std::string_view word) {
  const size_t end = word.rfind(".tmp_");
  return word.substr(0, end == std::string_view::npos ? end : word.rfind('_', end));
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  size_t best_distance = most_wrong(word) + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    const std::string_view layer = layer_of(word);
    if (edit_distance(layer, layer_of(candidate)) > most_wrong(layer)) continue;
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
