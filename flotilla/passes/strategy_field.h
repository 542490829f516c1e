// flotilla/passes/strategy_field.h
//
// What strategy.cc and strategy_text.cc share: fields of a message as settings and as words.

#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "flotilla/passes/strategy.h"

namespace flotilla::passes {

// Refuses an unknown name with the nearest one; `owner` is whose option it should be.
const google::protobuf::FieldDescriptor& field_of(const google::protobuf::Message& message,
                                                  std::string_view name, std::string_view owner);

// Nothing sets the default back; a list replaces the list that was there.
void set_field(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
               const std::string& path, const Setting& value);
Setting get_field(const google::protobuf::Message& message,
                  const google::protobuf::FieldDescriptor& field);

// For sentences: what was given instead.
std::string describe(const Setting& setting);

// Protobuf's text format.
std::string text_of(const google::protobuf::Message& message);

}  // namespace flotilla::passes
