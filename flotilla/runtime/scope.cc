#include "flotilla/runtime/scope.h"

namespace flotilla {

std::shared_ptr<Tensor> Scope::share(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    if (const auto found = scope->vars_.find(name); found != scope->vars_.end()) {
      return found->second;
    }
  }
  return nullptr;
}

// Called for every parameter in every run: no count of owners goes up and down here.
Tensor* Scope::find(std::string_view name) {
  for (Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    if (const auto found = scope->vars_.find(name); found != scope->vars_.end()) {
      return found->second.get();
    }
  }
  return nullptr;
}

Tensor& Scope::var(std::string_view name) {
  const auto found = vars_.find(name);
  if (found != vars_.end()) return *found->second;
  return *vars_.emplace(std::string(name), std::make_shared<Tensor>()).first->second;
}

void Scope::erase(std::string_view name) {
  if (const auto found = vars_.find(name); found != vars_.end()) vars_.erase(found);
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : vars_) names.push_back(name);
  return names;
}

void Scope::set_reader(std::string name, std::shared_ptr<data::BatchSource> source) {
  readers_.insert_or_assign(std::move(name), std::move(source));
}

data::BatchSource* Scope::find_reader(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    const auto found = scope->readers_.find(name);
    if (found != scope->readers_.end()) return found->second.get();
  }
  return nullptr;
}

Scope& Scope::new_scope() {
  kids_.push_back(std::make_shared<Scope>(this));
  return *kids_.back();
}

}  // namespace flotilla
