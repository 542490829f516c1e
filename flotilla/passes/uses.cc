#include "flotilla/passes/uses.h"

#include <algorithm>

#include "flotilla/ir/structure.h"
#include "flotilla/op/op_def.h"

namespace flotilla::passes {
namespace {

bool meet(const Names& a, const Names& b) {
  const Names& small = a.size() < b.size() ? a : b;
  const Names& large = a.size() < b.size() ? b : a;
  return std::any_of(small.begin(), small.end(),
                     [&](const std::string& name) { return large.contains(name); });
}

const std::vector<size_t> kNone;

}  // namespace

Touched::Touched(const Op& op) {
  for (const std::string& name : names_in(op.inputs())) reads.insert(name);
  for (const std::string& name : names_in(op.outputs())) writes.insert(name);
  const NamesInside inside = names_inside(op);
  for (const Names* names : {&inside.read, &inside.written}) {
    reads.insert(names->begin(), names->end());
    writes.insert(names->begin(), names->end());
  }
  reads.erase(std::string(kEmptyVar));
  writes.erase(std::string(kEmptyVar));
}

bool Touched::depends_on(const Touched& earlier) const {
  return meet(reads, earlier.writes) || meet(writes, earlier.writes) || meet(writes, earlier.reads);
}

Uses::Uses(const Block& block, const PassContext& context) : block_(block), context_(context) {
  touched_.reserve(block.size());
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    const Touched& touched = touched_.emplace_back(op);
    for (const std::string& name : touched.writes) writers_[name].push_back(i);
    Names measured;
    const OpDef* def = find_op(op.type());
    for (const auto& [slot, vars] : op.inputs()) {
      const Slot* spec = def == nullptr ? nullptr : def->find_input(slot);
      if (spec != nullptr && spec->shape_only) measured.insert(vars.begin(), vars.end());
    }
    for (const auto& [slot, vars] : op.inputs()) {
      const Slot* spec = def == nullptr ? nullptr : def->find_input(slot);
      if (spec == nullptr || !spec->shape_only) {
        for (const std::string& name : vars) measured.erase(name);
      }
    }
    for (const std::string& name : touched.reads) {
      Readers& readers = readers_[name];
      readers.all.push_back(i);
      if (!measured.contains(name)) readers.of_elements.push_back(i);
    }
  }
}

const std::vector<size_t>& Uses::readers(std::string_view var) const {
  const auto found = readers_.find(var);
  return found == readers_.end() ? kNone : found->second.all;
}

const std::vector<size_t>& Uses::writers(std::string_view var) const {
  const auto found = writers_.find(var);
  return found == writers_.end() ? kNone : found->second;
}

std::optional<size_t> Uses::only_reader(std::string_view var) const {
  const auto found = readers_.find(var);
  if (found == readers_.end() || found->second.of_elements.size() != 1) return std::nullopt;
  return found->second.of_elements.front();
}

bool Uses::is_temporary(std::string_view var) const {
  const Var* found = block_.find_var(var);
  return found != nullptr && !found->persistable && !found->is_data && !context_.is_fetched(var) &&
         writers(var).size() == 1;
}

bool Uses::is_measured(std::string_view var, std::span<const size_t> positions) const {
  const std::vector<size_t>& all = readers(var);
  return std::any_of(all.begin(), all.end(), [&](size_t reader) {
    return std::find(positions.begin(), positions.end(), reader) == positions.end();
  });
}

bool Uses::may_sink(std::span<const size_t> positions) const {
  for (size_t i = positions.front(); i < positions.back(); ++i) {
    if (std::find(positions.begin(), positions.end(), i) != positions.end()) continue;
    for (const size_t member : positions) {
      if (member < i && touched_[i].depends_on(touched_[member])) return false;
    }
  }
  return true;
}

bool Uses::may_rise(std::span<const size_t> positions) const {
  for (size_t i = positions.front(); i < positions.back(); ++i) {
    if (std::find(positions.begin(), positions.end(), i) != positions.end()) continue;
    for (const size_t member : positions) {
      if (member > i && touched_[member].depends_on(touched_[i])) return false;
    }
  }
  return true;
}

void apply(Block& block, std::vector<Fusion> fusions) {
  std::sort(fusions.begin(), fusions.end(), [](const Fusion& a, const Fusion& b) {
    return std::pair(a.target(), a.positions.back()) < std::pair(b.target(), b.positions.back());
  });
  std::vector<size_t> erased;
  for (const Fusion& fusion : fusions) {
    for (const size_t position : fusion.positions) {
      // How many fused ops will stand in front of it by then.
      const auto before = std::count_if(fusions.begin(), fusions.end(), [&](const Fusion& other) {
        return other.target() <= position;
      });
      erased.push_back(position + static_cast<size_t>(before));
    }
  }
  // Back to front, so that the positions of the earlier ones stay valid.
  for (size_t i = fusions.size(); i-- > 0;) {
    block.insert(fusions[i].target(), std::move(fusions[i].op));
  }
  std::sort(erased.begin(), erased.end());
  block.erase(erased);
}

Attrs marks_of(const Op& op) {
  Attrs marks;
  for (const std::string_view name : {"op_role", "op_callstack", "op_namescope", "op_device"}) {
    if (const Attr* found = op.find_attr(name)) marks.emplace(name, *found);
  }
  return marks;
}

}  // namespace flotilla::passes
