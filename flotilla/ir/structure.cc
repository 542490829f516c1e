#include "flotilla/ir/structure.h"

#include <algorithm>

#include "flotilla/base/element_count.h"
#include "flotilla/ir/quote.h"

namespace flotilla {
namespace {

void append_sub_blocks(const Attr& attr, std::vector<int32_t>& found) {
  if (const auto* one = std::get_if<BlockRef>(&attr)) found.push_back(one->index);
  if (const auto* many = std::get_if<std::vector<BlockRef>>(&attr)) {
    for (const BlockRef& ref : *many) found.push_back(ref.index);
  }
}

void check_depth(const Program& program) {
  std::vector<int32_t> depth(static_cast<size_t>(program.num_blocks()), 0);
  for (size_t i = 1; i < depth.size(); ++i) {
    const Block& block = program.block(static_cast<int32_t>(i));
    depth[i] = depth[static_cast<size_t>(block.parent())] + 1;
    require(depth[i] <= kMaxBlockDepth, "block {} lies more than {} blocks deep", i,
            kMaxBlockDepth);
  }
}

void check_references(const Block& block) {
  const int32_t blocks = block.program().num_blocks();
  const int32_t forward = block.forward_block();
  require(-1 <= forward && forward < blocks && forward != block.index(),
          "block {} names block {} as its forward block, but the program has {} blocks",
          block.index(), forward, blocks);
  require(block.index() != 0 || forward == -1,
          "the global block names block {} as its forward block", forward);
  for (size_t i = 0; i < block.size(); ++i) {
    for (const auto& [name, attr] : block.op(i).attrs()) {
      std::vector<int32_t> found;
      append_sub_blocks(attr, found);
      for (const int32_t index : found) {
        require(0 <= index && index < blocks,
                "{}: attribute {} names block {}, but the program has {} blocks",
                place_of(block, i), bare_or_quoted(name), index, blocks);
      }
    }
  }
}

// Which blocks each block runs.
using Graph = std::vector<std::vector<int32_t>>;

Graph graph_of(const Program& program) {
  Graph graph(static_cast<size_t>(program.num_blocks()));
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      const std::vector<int32_t> found = sub_blocks(*op);
      std::vector<int32_t>& runs = graph[static_cast<size_t>(block->index())];
      runs.insert(runs.end(), found.begin(), found.end());
    }
  }
  return graph;
}

// Walks depth first without recursion, and measures each block after all those it runs.
class RunsCheck {
 public:
  explicit RunsCheck(const Graph& graph) : graph_(graph), blocks_(graph.size()) {}

  void run() {
    for (size_t root = 0; root < graph_.size(); ++root) {
      if (blocks_[root].state == kNew) walk_from(root);
    }
  }

 private:
  enum State { kNew, kOpen, kDone };
  struct Measure {
    State state = kNew;
    size_t next = 0;  // which of the blocks it runs comes next
    int32_t height = 0;
    int64_t visits = 1;
  };

  void walk_from(size_t root) {
    std::vector<size_t> open = {root};
    blocks_[root].state = kOpen;
    while (!open.empty()) {
      Measure& block = blocks_[open.back()];
      const std::vector<int32_t>& runs = graph_[open.back()];
      if (block.next == runs.size()) {
        close(open.back());
        open.pop_back();
        continue;
      }
      const auto child = static_cast<size_t>(runs[block.next++]);
      require(blocks_[child].state != kOpen, "block {} runs itself, through the ops of block {}",
              child, open.back());
      if (blocks_[child].state == kNew) {
        blocks_[child].state = kOpen;
        open.push_back(child);
      }
    }
  }

  void close(size_t index) {
    Measure& block = blocks_[index];
    for (const int32_t child : graph_[index]) {
      const Measure& inner = blocks_[static_cast<size_t>(child)];
      block.height = std::max(block.height, inner.height + 1);
      block.visits += inner.visits;
      require(block.height <= kMaxBlockDepth && block.visits <= kMaxBlockVisits,
              "the ops of block {} run blocks nested more than {} deep, or more than {} of them",
              index, kMaxBlockDepth, kMaxBlockVisits);
    }
    block.state = kDone;
  }

  const Graph& graph_;
  std::vector<Measure> blocks_;
};

}  // namespace

std::vector<int32_t> sub_blocks(const Op& op) {
  std::vector<int32_t> found;
  for (const auto& [name, attr] : op.attrs()) append_sub_blocks(attr, found);
  return found;
}

Block& sub_block(const Op& op) {
  return op.block()->program().block(op.attr<BlockRef>("sub_block").index);
}

NamesInside names_inside(const Block& block) {
  NamesInside names;
  for (const auto& op : block.ops()) {
    for (const std::string& name : names_in(op->inputs())) names.read.insert(name);
    for (const std::string& name : names_in(op->outputs())) names.written.insert(name);
    NamesInside deeper = names_inside(*op);
    names.read.merge(deeper.read);
    names.written.merge(deeper.written);
  }
  return names;
}

NamesInside names_inside(const Op& op) {
  NamesInside names;
  for (const int32_t index : sub_blocks(op)) {
    NamesInside one = names_inside(op.block()->program().block(index));
    names.read.merge(one.read);
    names.written.merge(one.written);
  }
  return names;
}

void check_blocks(const Program& program) {
  check_depth(program);
  for (const auto& block : program.blocks()) check_references(*block);
  const Graph graph = graph_of(program);
  RunsCheck(graph).run();
}

void check_extents(const Shape& shape, std::string_view what) {
  int64_t left = kMaxElements;
  for (const int64_t extent : shape) {
    require(extent >= -1, "{}: an extent must be -1 or more, but is {}", what, extent);
    if (extent > 1) left /= extent;
    require(left > 0, "{}: it can have 2^55 elements at most, but has shape {}", what, shape);
  }
}

std::string place_of(const Block& block, size_t position) {
  return fmt::format("block {}, op #{} ({})", block.index(), position,
                     bare_or_quoted(block.op(position).type()));
}

}  // namespace flotilla
