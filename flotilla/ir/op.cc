#include "flotilla/ir/op.h"

#include <fmt/format.h>

#include <algorithm>

#include "flotilla/ir/program.h"

namespace flotilla {
namespace {

std::span<const std::string> list_of(const Slots& slots, std::string_view slot) {
  const auto found = slots.find(slot);
  return found == slots.end() ? std::span<const std::string>() : found->second;
}

const std::string& only_of(const Slots& slots, std::string_view slot, const std::string& type) {
  const std::span<const std::string> list = list_of(slots, slot);
  require(list.size() == 1, "slot {} of {} must hold one variable, but holds {}", slot, type,
          list.size());
  return list.front();
}

bool holds(const Slots& slots, std::string_view var) {
  return std::any_of(slots.begin(), slots.end(), [&](const auto& slot) {
    return std::find(slot.second.begin(), slot.second.end(), var) != slot.second.end();
  });
}

void rename_in(Slots& slots, std::string_view from, std::string_view to) {
  for (auto& [slot, vars] : slots)
    std::replace(vars.begin(), vars.end(), std::string(from), std::string(to));
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

// `File "a.py", line 3, in f` and its source as "a.py:3 in f: source"; empty: no such frame, or one
// of Paddle's own files.
std::string user_frame(std::string_view frame, std::string_view source) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ";
  frame = trimmed(frame);
  const size_t line = frame.find(kLine), in = frame.find(kIn);
  if (!frame.starts_with(kFile) || line >= in || in == std::string_view::npos) return {};
  const std::string_view file = frame.substr(kFile.size(), line - kFile.size());
  if (file.find("/paddle/") != std::string_view::npos) return {};
  const std::string_view number = frame.substr(line + kLine.size(), in - line - kLine.size());
  return fmt::format("{}:{} in {}: {}", file, number, frame.substr(in + kIn.size()),
                     trimmed(source));
}

// Our own stacks end with the line that is meant. Paddle's hold whole tracebacks with its own files
// in them: up to 1.8 from the inside out, one string for a frame; later the other way round, the
// source line behind its frame.
std::string line_of_user(const std::vector<std::string>& stack) {
  const bool inside_out = stack.front().find('\n') != std::string::npos;
  std::string found;
  for (size_t i = 0; i < stack.size() && !(inside_out && !found.empty()); ++i) {
    const std::string_view entry = stack[i];
    const size_t end = inside_out ? std::min(entry.find('\n'), entry.size()) : entry.size();
    const std::string_view source = inside_out             ? entry.substr(end)
                                    : i + 1 < stack.size() ? stack[i + 1]
                                                           : std::string_view();
    if (std::string frame = user_frame(entry.substr(0, end), source); !frame.empty()) {
      found = std::move(frame);
    }
  }
  return found.empty() ? stack.back() : found;
}

}  // namespace

Op::Op(std::string type, Slots inputs, Slots outputs, Attrs attrs)
    : type_(std::move(type)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      attrs_(std::move(attrs)) {}

std::span<const std::string> Op::input_list(std::string_view slot) const {
  return list_of(inputs_, slot);
}

std::span<const std::string> Op::output_list(std::string_view slot) const {
  return list_of(outputs_, slot);
}

const std::string& Op::input(std::string_view slot) const { return only_of(inputs_, slot, type_); }

const std::string& Op::output(std::string_view slot) const {
  return only_of(outputs_, slot, type_);
}

bool Op::reads(std::string_view var) const { return holds(inputs_, var); }
bool Op::writes(std::string_view var) const { return holds(outputs_, var); }

const Attr* Op::find_attr(std::string_view name) const {
  const auto found = attrs_.find(name);
  return found == attrs_.end() ? nullptr : &found->second;
}

void Op::set_attr(std::string_view name, Attr value) {
  attrs_.insert_or_assign(std::string(name), std::move(value));
  touch();
}

void Op::remove_attr(std::string_view name) {
  if (const auto found = attrs_.find(name); found != attrs_.end()) attrs_.erase(found);
  touch();
}

void Op::set_type(std::string type) {
  type_ = std::move(type);
  touch();
}

void Op::set_input(std::string_view slot, std::vector<std::string> vars) {
  inputs_.insert_or_assign(std::string(slot), std::move(vars));
  touch();
}

void Op::set_output(std::string_view slot, std::vector<std::string> vars) {
  outputs_.insert_or_assign(std::string(slot), std::move(vars));
  touch();
}

void Op::rename(std::string_view from, std::string_view to) {
  rename_in(inputs_, from, to);
  rename_in(outputs_, from, to);
  touch();
}

void Op::touch() {
  if (block_ != nullptr) block_->program().touch();
}

std::vector<std::string> names_in(const Slots& slots) {
  std::vector<std::string> names;
  for (const auto& [slot, vars] : slots) names.insert(names.end(), vars.begin(), vars.end());
  return names;
}

std::string user_line(const Op& op) {
  const auto stack = op.attr_or<std::vector<std::string>>("op_callstack", {});
  return stack.empty() ? "" : line_of_user(stack);
}

}  // namespace flotilla
