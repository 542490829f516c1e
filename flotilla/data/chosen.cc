#include "flotilla/data/chosen.h"

#include <memory>
#include <utility>

namespace flotilla::data {
namespace {

using Indices = std::shared_ptr<const std::vector<int64_t>>;

class ChosenColumn final : public Column {
 public:
  ChosenColumn(std::shared_ptr<const Column> whole, Indices indices)
      : whole_(std::move(whole)), indices_(std::move(indices)) {}

  int64_t size() const override { return std::ssize(*indices_); }
  DType dtype() const override { return whole_->dtype(); }
  const Shape& shape() const override { return whole_->shape(); }
  int64_t params() const override { return whole_->params(); }

  void gather(std::span<const int64_t> wanted, std::span<const int32_t> drawn,
              void* out) const override {
    std::vector<int64_t> inside;
    inside.reserve(wanted.size());
    for (const int64_t i : wanted) inside.push_back((*indices_)[static_cast<size_t>(i)]);
    whole_->gather(inside, drawn, out);
  }

 private:
  const std::shared_ptr<const Column> whole_;
  const Indices indices_;
};

}  // namespace

Columns chosen(const Columns& columns, std::vector<int64_t> indices) {
  check_indices(indices, samples_of(columns));
  const auto shared = std::make_shared<const std::vector<int64_t>>(std::move(indices));
  Columns result;
  for (const std::shared_ptr<const Column>& column : columns) {
    result.push_back(std::make_shared<const ChosenColumn>(column, shared));
  }
  return result;
}

}  // namespace flotilla::data
