#include "flotilla/runtime/reads.h"

#include <algorithm>
#include <map>

#include "flotilla/base/error.h"
#include "flotilla/data/end_of_pass.h"
#include "flotilla/runtime/executor.h"

namespace flotilla {
namespace {

bool fed(const std::vector<Feed>& feeds, const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::any_of(feeds.begin(), feeds.end(), [&](const Feed& f) { return f.name == name; });
  });
}

}  // namespace

std::vector<Read> reads_of(const Program& program) {
  std::vector<Read> reads;
  std::map<std::string, std::string> below;  // a double buffer -> the reader under it
  for (const auto& op : program.global_block().ops()) {
    if (op->type() == "create_double_buffer_reader") {
      below[op->output("Out")] = op->input("UnderlyingReader");
    } else if (op->type() == "read") {
      Read read{.reader = op->input("Reader"), .outputs = op->outputs().at("Out")};
      for (auto found = below.find(read.reader); found != below.end();
           found = below.find(read.reader)) {
        read.reader = found->second;
      }
      reads.push_back(std::move(read));
    }
  }
  return reads;
}

void take_batches(const std::vector<Read>& reads, Scope& scope, std::vector<Feed>& feeds) {
  for (const Read& read : reads) {
    if (fed(feeds, read.outputs)) continue;
    data::BatchSource* source = scope.find_reader(read.reader);
    require(source != nullptr,
            "the program reads from \"{}\", but this scope has no loader of that name; create the "
            "loader in the process that runs the program, or feed its variables",
            read.reader);
    std::optional<data::Batch> batch = source->next();
    if (!batch) throw data::EndOfPass();
    require(batch->size() == read.outputs.size(),
            "the reader \"{}\" gave {} fields, but the program reads {}", read.reader,
            batch->size(), read.outputs.size());
    for (size_t i = 0; i < batch->size(); ++i) {
      feeds.push_back({.name = read.outputs[i], .tensor = std::move((*batch)[i])});
    }
  }
}

std::vector<Feed> coming_batches(const std::vector<Read>& reads, Scope& scope) {
  std::vector<Feed> feeds;
  for (const Read& read : reads) {
    data::BatchSource* source = scope.find_reader(read.reader);
    std::optional<data::Batch> batch = source == nullptr ? std::nullopt : source->peek();
    if (!batch || batch->size() != read.outputs.size()) continue;
    for (size_t i = 0; i < batch->size(); ++i) {
      feeds.push_back({.name = read.outputs[i], .tensor = std::move((*batch)[i])});
    }
  }
  return feeds;
}

void announce_rows(ps::Worker& servers, const std::vector<Feed>& now,
                   const std::vector<Feed>& next) {
  std::vector<ps::ComingIds> coming;
  for (const Feed& feed : now) {
    const auto found = std::find_if(next.begin(), next.end(),
                                    [&](const Feed& other) { return other.name == feed.name; });
    if (found == next.end() || feed.tensor.dtype() != i64 || found->tensor.dtype() != i64) continue;
    coming.push_back({.now = feed.tensor.span<int64_t>().data(),
                      .next = found->tensor.span<int64_t>(),
                      .holder = std::make_shared<Tensor>(found->tensor)});
  }
  servers.expect(std::move(coming));
}

Feed blank_feed(const Program& program, const std::string& name) {
  const Var& var = program.global_block().var(name);
  Shape shape = var.shape;
  for (int64_t a = 0; a < shape.rank(); ++a) {
    if (shape[a] < 0) shape[a] = 1;
  }
  Tensor tensor(var.dtype, shape);
  if (var.lod_level > 0) {
    LoD lod(static_cast<size_t>(var.lod_level), {0, 1});
    lod.back().back() = shape[0];
    tensor.set_lod(std::move(lod));
  }
  return {.name = name, .tensor = std::move(tensor)};
}

std::vector<Feed> blank_batch(const Program& program, const std::vector<Read>& reads,
                              const std::vector<Feed>& feeds) {
  std::vector<Feed> all = feeds;
  for (const Read& read : reads) {
    if (fed(feeds, read.outputs)) continue;
    for (const std::string& name : read.outputs) all.push_back(blank_feed(program, name));
  }
  return all;
}

}  // namespace flotilla
