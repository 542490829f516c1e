// flotilla/data/generate_text.h
//
// Small texts that Flotilla writes itself, for machines without the real sets: reviews of films
// for IMDB's, news for the Penn Treebank that Mikolov's examples come with. Sentences are templates
// filled with words, so that a model learns something: the words of a review give its kind away
// in most sentences, and in the news a word narrows down the next.
//
// Text i depends on (seed, split, i) alone: the same bits on every machine.

#pragma once

#include <cstdint>
#include <string>

#include "flotilla/data/split.h"

namespace flotilla::data {

// A review of five to fourteen sentences. One sentence in five says the contrary of its kind.
std::string make_review(uint64_t seed, Split split, int64_t index, bool positive);

// `count` lines from line `first`, as in the treebank: a blank, words in lower case with blanks
// between them, "N" for numbers, "<unk>" for rare words.
std::string make_news(uint64_t seed, Split split, int64_t first, int64_t count);

}  // namespace flotilla::data
