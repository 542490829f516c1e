// python/src/row_target.h
//
// What a row of the API calls, and where its arguments go: the text behind the equals sign, read.
// Its grammar stands in paddle/_tables.py.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bind.h"
#include "flotilla/layers/op.h"
#include "flotilla/op/op_def.h"

namespace flotilla::python {

// Where a value goes.
struct Place {
  enum Kind { kInput, kExtents, kAttr, kName, kAct, kOut, kPositional, kKeyword };
  Kind kind = kAttr;
  std::string name = {};
};

// An argument or a constant.
struct Given {
  int argument = -1;
  nb::object constant = {};
};

// What is handed on: one of these, or something made of it.
struct Value {
  enum Form { kAsIs, kDtype, kCast, kNot, kMissing };
  Form form = kAsIs;
  Given given = {};
  std::optional<Given> otherwise = {};  // where that is None
  std::optional<Given> dtype = {};      // of kCast
};

struct Entry {
  std::vector<Place> places = {};  // the first that takes the value
  Value value = {};
};

struct RowTarget {
  nb::object function = {};    // a function of Python; null: an operator
  const OpDef* def = nullptr;  // the operator
  std::vector<Entry> entries = {};
  std::vector<layers::OutSlot> outputs = {};
  std::vector<size_t> returned = {};  // which of the outputs
  std::string layer = {};
  bool stop_gradient = false;
  bool takes_numbers = false;       // one of the first two arguments may be a number
  std::optional<Given> into = {};   // what the result is copied to, unless it is None
  std::optional<Given> stops = {};  // whether gradients stop at the result
};

// Refuses a text that names what is not there, or has no use for one of the parameters.
RowTarget read_target(const std::vector<std::string>& parameters, std::string_view text);

}  // namespace flotilla::python
