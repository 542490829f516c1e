#include "flotilla/ir/op.h"

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

std::vector<std::string> flatten(const Slots& slots) {
  std::vector<std::string> names;
  for (const auto& [slot, vars] : slots) names.insert(names.end(), vars.begin(), vars.end());
  return names;
}

bool holds(const Slots& slots, std::string_view var) {
  return std::any_of(slots.begin(), slots.end(), [&](const auto& slot) {
    return std::find(slot.second.begin(), slot.second.end(), var) != slot.second.end();
  });
}

void rename(Slots& slots, std::string_view from, std::string_view to) {
  for (auto& [slot, vars] : slots)
    std::replace(vars.begin(), vars.end(), std::string(from), std::string(to));
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

std::vector<std::string> Op::input_names() const { return flatten(inputs_); }
std::vector<std::string> Op::output_names() const { return flatten(outputs_); }
bool Op::reads(std::string_view var) const { return holds(inputs_, var); }
bool Op::writes(std::string_view var) const { return holds(outputs_, var); }

bool Op::touches_any(std::span<const std::string> vars) const {
  return std::any_of(vars.begin(), vars.end(),
                     [&](const std::string& var) { return reads(var) || writes(var); });
}

const Attr* Op::find_attr(std::string_view name) const {
  const auto found = attrs_.find(name);
  return found == attrs_.end() ? nullptr : &found->second;
}

std::string Op::from() const {
  const auto stack = attr_or<std::vector<std::string>>("op_callstack", {});
  return stack.empty() ? "" : stack.back();
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

void Op::rename_input(std::string_view from, std::string_view to) {
  rename(inputs_, from, to);
  touch();
}

void Op::rename_output(std::string_view from, std::string_view to) {
  rename(outputs_, from, to);
  touch();
}

void Op::touch() {
  if (block_ != nullptr) block_->program().touch();
}

}  // namespace flotilla
