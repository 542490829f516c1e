// flotilla/ops/ps/distributed_lookup_table.cc
//
// distributed_lookup_table: Outputs[i] = rows of a table of the servers, one for each of Ids[i]; an
// id equal to padding_idx gives zeros. All slots, also those of several tables, are one request to
// each server.

#include <algorithm>

#include "flotilla/ops/common/move.h"
#include "flotilla/ops/ps/servers.h"

namespace flotilla::ops {
namespace {

// lookup_table drops the last extent of its ids, which is 1.
Shape rows_of(const InferContext& c, const Shape& ids) {
  if (c.attr<std::string>("lookup_table_version") != "lookup_table") return ids;
  require(ids.rank() >= 1 && (ids[ids.rank() - 1] == 1 || ids[ids.rank() - 1] == -1),
          "the last extent of Ids must be 1, but Ids has shape {}", ids);
  return Shape(std::vector<int64_t>(ids.begin(), ids.end() - 1));
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

const OpDef& distributed_lookup_table = define_op({
    .type = "distributed_lookup_table",
    .doc = "Looks up rows of a table that parameter servers hold.",
    .inputs = {{.name = "Ids", .doc = "keys of rows", .list = true, .no_grad = true},
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

}  // namespace
}  // namespace flotilla::ops
