// flotilla/plan/draft_host.h
//
// Prepares ops for the first time: each becomes a node of the draft, with what it reads, writes and
// shares, between the moves that its kernel's layouts and its device need.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "flotilla/plan/host.h"

namespace flotilla::plan {

class DraftHost final : public Host {
 public:
  using Host::Host;

  // Appends `node`, for whose step `prepare` asks this host, with what must come before and after.
  // Returns its index.
  size_t add_node(Node node, const std::function<Step()>& prepare);
  // Appends a node that belongs to no op.
  void add_node(Step step, std::vector<int32_t> reads, std::vector<int32_t> writes);
  // Plans what `plan_body` plans as the body of the node at `head`.
  void add_body(size_t head, const std::function<void()>& plan_body);
  // The value that holds the elements of `value` on a device, in `layout`: itself, or a copy that
  // is made once for all readers.
  int32_t moved(int32_t value, int32_t device, const Layout& layout);
  // Appends a node that takes the elements of one value over to another one, which may lie on
  // another device or in another layout, but not both.
  void add_move(int32_t from, int32_t to) { add_move(draft_.nodes, from, to); }
  // Appends the nodes that draw for kernels of the device.
  DeviceDraws& add_draws();
  // The value is written again: copies hold what it was.
  void forget_copies_of(int32_t value);

  const Cell* read(int32_t value, const Layout& layout) override;
  const Cell* write(int32_t value, const Layout& layout) override;
  const Cell* read_rows(int32_t value) override;
  const Cell* lod_of(int32_t value) override;
  void share(int32_t from, int32_t to, bool view) override;
  void keep_together(const std::vector<int32_t>& values) override;
  const Cell* workspace(int64_t bytes) override;
  std::vector<Exchanged> exchange(const std::vector<int32_t>& ins,
                                  const std::vector<int32_t>& outs) override;
  bool run_async(Step wait) override;
  const Cell* random_stream(int64_t op_seed) override;

 private:
  void place_together(int32_t from, int32_t to, Bundle& bundle);
  void add_move(std::vector<Node>& nodes, int32_t from, int32_t to);
  Node copy_between(int32_t from, int32_t to);
  Node reorder(int32_t from, int32_t to);

  Node* node_ = nullptr;     // that is being prepared
  std::vector<Node> after_;  // the moves that follow it
  // By value, device and layout.
  std::map<std::tuple<int32_t, int32_t, std::string>, int32_t> copies_;
  int depth_ = 0;  // of bodies
};

}  // namespace flotilla::plan
