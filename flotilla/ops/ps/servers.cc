#include "flotilla/ops/ps/servers.h"

#include <algorithm>

namespace flotilla::ops {

ps::Worker& servers_of(const PrepareContext& c) {
  ps::Worker* worker = c.around().servers;
  require(worker != nullptr,
          "{} is for a worker of parameter servers, but this process knows none: run the program "
          "under fleetrun, and call fleet.init_worker() first",
          c.op().type());
  return *worker;
}

uint32_t table_of(const PrepareContext& c) {
  return static_cast<uint32_t>(c.attr<int64_t>("table_id"));
}

void check_ids(const InferContext& c, size_t i) {
  const DType dtype = c.dtype("Ids", i);
  require(dtype == i64 || dtype == i32, "Ids must hold i64 or i32, but \"{}\" holds {}",
          c.op().input_list("Ids")[i], dtype);
}

IdsIn::IdsIn(PrepareContext& c, size_t i) : count_(static_cast<size_t>(c.shape("Ids", i).numel())) {
  if (c.dtype("Ids", i) == i64) {
    wide_ = c.in<int64_t>("Ids", i);
  } else {
    narrow_ = c.in<int32_t>("Ids", i);
    widened_ = std::make_shared<std::vector<int64_t>>(count_);
  }
}

std::span<const int64_t> IdsIn::get() const {
  if (wide_) return {wide_.data(), count_};
  std::copy_n(narrow_.data(), count_, widened_->begin());
  return *widened_;
}

Parameters::Parameters(PrepareContext& c) {
  for (size_t i = 0; i < c.count("X"); ++i) {
    parts_.push_back({c.in<float>("X", i), c.out<float>("Out", i),
                      static_cast<size_t>(c.shape("X", i).numel())});
  }
}

// A parameter that lives in a blocked layout comes as a plain copy and goes back from another.
std::vector<std::span<float>> Parameters::get() const {
  std::vector<std::span<float>> spans;
  for (const Part& part : parts_) {
    float* to = part.after.data();
    if (to != part.before.data()) std::copy_n(part.before.data(), part.count, to);
    spans.emplace_back(to, part.count);
  }
  return spans;
}

void infer_parameters(InferContext& c) {
  require(c.in_count("X") == c.out_count("Out"), "X of {} holds {} parameters, but Out holds {}",
          c.op().type(), c.in_count("X"), c.out_count("Out"));
  for (size_t i = 0; i < c.in_count("X"); ++i) c.out("Out", i) = c.in("X", i);
}

}  // namespace flotilla::ops
