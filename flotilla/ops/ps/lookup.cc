// flotilla/ops/ps/lookup.cc
//
// distributed_lookup_table: Outputs[i] = rows of a table of the servers, one for each of Ids[i]; an
// id equal to padding_idx gives zeros. All slots, also those of several tables, are one request to
// each server.
// distributed_push_sparse:  the gradients of such rows, to be sent when the step ends.

#include <algorithm>

#include "flotilla/ops/ps/servers.h"
#include "flotilla/ops/tensor/move.h"

namespace flotilla::ops {
namespace {

// lookup_table drops the last extent of its ids, which is 1.
Shape rows_of(const InferContext& c, const Shape& ids) {
  if (c.attr<std::string>("lookup_table_version") != "lookup_table") return ids;
  require(ids.rank() >= 1 && (ids[ids.rank() - 1] == 1 || ids[ids.rank() - 1] == -1),
          "the last extent of Ids must be 1, but Ids has shape {}", ids);
  return Shape(std::vector<int64_t>(ids.begin(), ids.end() - 1));
}

void check_ids(const InferContext& c, size_t i) {
  const DType dtype = c.dtype("Ids", i);
  require(dtype == i64 || dtype == i32, "Ids must hold i64 or i32, but \"{}\" holds {}",
          c.op().input_list("Ids")[i], dtype);
}

// Which of the ids are for a table.
struct Part {
  uint32_t table = 0;
  int64_t padding = ps::Worker::kNoPadding;
  size_t begin = 0, end = 0;  // in Ids
};

template <typename Context>
std::vector<Part> parts_of(const Context& c, size_t slots) {
  const Ints tables = c.template attr<Ints>("table_ids");
  if (tables.empty()) {
    return {{.table = static_cast<uint32_t>(c.template attr<int64_t>("table_id")),
             .padding = c.template attr<int64_t>("padding_idx"),
             .end = slots}};
  }
  const Ints paddings = c.template attr<Ints>("padding_idxs");
  const Ints counts = c.template attr<Ints>("slots");
  require(paddings.size() == tables.size() && counts.size() == tables.size(),
          "distributed_lookup_table has {} tables, but {} paddings and {} numbers of slots",
          tables.size(), paddings.size(), counts.size());
  std::vector<Part> parts;
  size_t begin = 0;
  for (size_t t = 0; t < tables.size(); ++t) {
    const size_t end = begin + static_cast<size_t>(std::max<int64_t>(counts[t], 0));
    parts.push_back({static_cast<uint32_t>(tables[t]), paddings[t], begin, end});
    begin = end;
  }
  require(begin == slots,
          "distributed_lookup_table has {} variables with ids, but its tables have {}", slots,
          begin);
  return parts;
}

void infer_lookup(InferContext& c) {
  require(c.in_count("Ids") == c.out_count("Outputs"),
          "distributed_lookup_table has {} variables with ids, but {} outputs", c.in_count("Ids"),
          c.out_count("Outputs"));
  const std::vector<Part> parts = parts_of(c, c.in_count("Ids"));
  require(c.in_count("W") == parts.size(), "distributed_lookup_table has {} tables, but W holds {}",
          parts.size(), c.in_count("W"));
  for (size_t t = 0; t < parts.size(); ++t) {
    const VarMeta& table = c.in("W", t);
    require(table.shape.rank() == 2, "W must have rank 2, but has shape {}", table.shape);
    for (size_t i = parts[t].begin; i < parts[t].end; ++i) {
      check_ids(c, i);
      VarMeta out = c.in("Ids", i);
      out.dtype = table.dtype;
      out.shape = rows_of(c, out.shape);
      out.shape.push_back(table.shape[1]);
      out.value = {};
      c.out("Outputs", i) = std::move(out);
    }
  }
}

std::vector<ps::TableIds> ids_of(const std::vector<Part>& parts,
                                 const std::vector<ps::Lookup>& lookups) {
  std::vector<ps::TableIds> tables;
  for (const Part& part : parts) {
    ps::TableIds& table = tables.emplace_back();
    table.table = part.table;
    table.padding = part.padding;
    for (size_t i = part.begin; i < part.end; ++i) table.slots.push_back(lookups[i].ids);
  }
  return tables;
}

Step lookup(PrepareContext& c) {
  struct Rows {
    IdsIn ids;
    Out<float> to = {};
  };
  std::vector<Rows> slots;
  for (size_t i = 0; i < c.count("Ids"); ++i) {
    slots.push_back({IdsIn(c, i), c.out<float>("Outputs", i)});
  }
  return [&worker = servers_of(c), parts = parts_of(c, slots.size()),
          test = c.attr<bool>("is_test"), slots] {
    std::vector<ps::Lookup> lookups;
    lookups.reserve(slots.size());
    for (const Rows& slot : slots) lookups.push_back({slot.ids.get(), slot.to.data()});
    if (parts.size() > 1) worker.prefetch(ids_of(parts, lookups), test);
    for (const Part& part : parts) {
      worker.lookup(part.table, std::span(lookups).subspan(part.begin, part.end - part.begin),
                    part.padding, test);
    }
  };
}

void infer_push(InferContext& c) {
  require(c.in_count("Ids") == c.in_count("Grads"),
          "distributed_push_sparse has {} variables with ids, but {} gradients", c.in_count("Ids"),
          c.in_count("Grads"));
  const int64_t width = c.attr<int64_t>("size");
  for (size_t i = 0; i < c.in_count("Ids"); ++i) {
    check_ids(c, i);
    const Shape& ids = c.in("Ids", i).shape;
    const Shape& rows = c.in("Grads", i).shape;
    require(!ids.known() || !rows.known() || ids.numel() * width == rows.numel(),
            "ids of shape {} have rows of {} elements, but their gradient has shape {}", ids, width,
            rows);
  }
}

// What a step notes lasts until send_barrier, which reads all of it.
Step push(PrepareContext& c) {
  struct Dense {
    IdsIn ids;
    In<float> rows = {};
  };
  std::vector<Dense> dense;
  for (size_t i = 0; i < c.count("Ids"); ++i) {
    dense.push_back({IdsIn(c, i), c.in<float>("Grads", i)});
  }
  std::vector<SparseIn<float>> sparse;
  for (size_t i = 0; i < c.count("Rows"); ++i) sparse.push_back(c.sparse_in<float>("Rows", i));
  return [&worker = servers_of(c), table = table_of(c), padding = c.attr<int64_t>("padding_idx"),
          dense = std::move(dense), sparse = std::move(sparse), lr = c.in<float>("LearningRate")] {
    std::vector<ps::RowGradients> slots;
    slots.reserve(dense.size() + sparse.size());
    for (const Dense& slot : dense) slots.push_back({slot.ids.get(), slot.rows.data()});
    for (const SparseIn<float>& rows : sparse) {
      slots.push_back({{rows.rows.data(), static_cast<size_t>(rows.count)}, rows.value.data()});
    }
    worker.push_rows(table, std::move(slots), padding, *lr.data());
  };
}

const AttrSpec kPadding = {"padding_idx", int64_t{-1}, "the id that stands for nothing; -1: none"};
const Slot kIds = {.name = "Ids", .doc = "keys of rows", .list = true, .no_grad = true};

const OpDef& distributed_lookup_table = define_op({
    .type = "distributed_lookup_table",
    .doc = "Looks up rows of a table that parameter servers hold.",
    .inputs = {kIds,
               {.name = "W",
                .doc = "the tables: give the width of a row",
                .list = true,
                .shape_only = true}},
    .outputs = {{.name = "Outputs", .doc = "a row for each id", .list = true}},
    .attrs = {kTableId,
              kPadding,
              {"table_ids", std::vector<int32_t>{}, "instead of table_id, for several tables"},
              {"padding_idxs", std::vector<int64_t>{}, "instead of padding_idx, one for each"},
              {"slots", std::vector<int32_t>{}, "how many of Ids are for each"},
              {"is_test", false, "whether ids that are new are left without a row"},
              {"is_distributed", true, "of no effect"},
              {"lookup_table_version", "lookup_table",
               "lookup_table: the last extent of Ids is 1 and is dropped; lookup_table_v2: not"}},
    .infer = infer_lookup,
    .kernels = {{kCpu, f32, lookup}},
    .dtype_slot = "W",
    .side_effect = true,
});

const OpDef& distributed_push_sparse = define_op({
    .type = "distributed_push_sparse",
    .doc = "Notes gradients of rows, to be sent to their parameter servers when the step ends.",
    .inputs =
        {{.name = "Ids", .doc = "keys of rows", .optional = true, .list = true},
         {.name = "Grads", .doc = "a row for each id", .optional = true, .list = true},
         {.name = "Rows", .doc = "sparse rows, with their ids", .optional = true, .list = true},
         {.name = "LearningRate", .doc = "one number", .one = true}},
    .attrs = {kTableId, kPadding, {"size", 0, "elements of a row"}},
    .infer = infer_push,
    .kernels = {{kCpu, f32, push}},
    .dtype_slot = "LearningRate",
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops
