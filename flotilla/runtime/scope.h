// flotilla/runtime/scope.h
//
// Where variables live between runs: parameters, optimizer state, counters. A scope looks into its
// parent for what it does not hold.
//
// Thread safety: none; one scope belongs to one executor's thread at a time.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/data/batch.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla {

class Scope : public std::enable_shared_from_this<Scope> {
 public:
  explicit Scope(Scope* parent = nullptr) : parent_(parent) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The variable here or in a parent; null where there is none. The address of a variable stays the
  // same until it is erased.
  Tensor* find(std::string_view name);
  // The variable of this scope, made undefined where it does not exist.
  Tensor& var(std::string_view name);
  // What find() gives, for a holder that may outlive it: after erase() it is a tensor like others.
  std::shared_ptr<Tensor> share(std::string_view name) const;
  void erase(std::string_view name);
  void clear() { vars_.clear(); }
  std::vector<std::string> names() const;

  // Where the programs that run in this scope, or in one inside it, find a loader by the name of
  // its reader. A second one of a name takes its place. Null where there is none.
  void set_reader(std::string name, std::shared_ptr<data::BatchSource> source);
  data::BatchSource* find_reader(std::string_view name) const;

  // A scope inside this one, owned by it (and by who shares it). REQUIRES: this one lives longer.
  Scope& new_scope();
  void drop_kids() { kids_.clear(); }
  Scope* parent() const { return parent_; }

 private:
  Scope* parent_;
  std::map<std::string, std::shared_ptr<Tensor>, std::less<>> vars_;
  std::map<std::string, std::shared_ptr<data::BatchSource>, std::less<>> readers_;
  std::vector<std::shared_ptr<Scope>> kids_;
};

}  // namespace flotilla
