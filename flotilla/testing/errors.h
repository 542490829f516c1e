// flotilla/testing/errors.h
//
// Errors in tests: the sentence is part of the contract.

#pragma once

#include <gtest/gtest.h>

#include <string>

#include "flotilla/base/error.h"

namespace flotilla {

// The sentence of the Error that f throws; "(not refused)" where it throws none.
template <typename F>
std::string refusal_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.sentence();
  }
  return "(not refused)";
}

// All of the message: the sentence, and a line from each layer.
template <typename F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "(not refused)";
}

}  // namespace flotilla

// `expression` must throw an Error with exactly this sentence.
#define EXPECT_REFUSED(expression, sentence) \
  EXPECT_EQ(::flotilla::refusal_of([&] { (void)(expression); }), (sentence))
