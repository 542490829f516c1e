// flotilla/comm/world.h
//
// A process among those of its job: the groups it is in, the thread that talks to them, and memory
// that peers of the same host can see.
//
// Thread safety: one thread uses it; abort() may come from any.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/exchange.h"
#include "flotilla/base/mutex.h"
#include "flotilla/comm/group.h"
#include "flotilla/comm/queue.h"
#include "flotilla/device/allocator.h"

namespace flotilla::comm {

class World {
 public:
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // A group by its number, which programs call ring_id; 0 is everybody. Refuses an unknown one.
  Group& ring(int64_t id);
  bool has_ring(int64_t id) const;
  // A group of some ranks, in the order given. Every member of it calls this, with the same words.
  void make_ring(int64_t id, const std::vector<int>& ranks);

  // Every collective call goes through it.
  Queue& queue() { return queue_; }
  // Agreement of everybody, for loaders and data sets. Goes through the queue.
  Exchange& exchange() { return *exchange_; }

  // Zeroed memory that peers of this host can see: what lies there is exchanged without a copy.
  virtual std::shared_ptr<Buffer> allocate(int64_t bytes) = 0;

  // Whether what this rank computes counts: a rank whose data has ended may go on with the others,
  // without weight (weigh_by_samples). True until somebody says otherwise.
  bool has_data() const { return has_data_; }
  void set_has_data(bool has_data) { has_data_ = has_data; }

  // Ends all waits, here, now and later; the first reason counts.
  void abort(const std::string& reason);

 protected:
  World(int rank, int size);
  // What subclasses call when they can make groups: makes ring 0.
  void begin();
  // Waits for what was started; subclasses call it first in their destructors.
  void end();
  // This process is ranks[rank]; there are at least two.
  virtual std::unique_ptr<Group> make_group(int64_t id, const std::vector<int>& ranks,
                                            int rank) = 0;
  virtual void on_abort(const std::string& /*reason*/) {}

 private:
  const int rank_;
  const int size_;
  bool has_data_ = true;
  std::map<int64_t, std::shared_ptr<Group>> rings_ FLT_GUARDED_BY(mutex_);
  mutable Mutex mutex_;
  std::string aborted_ FLT_GUARDED_BY(mutex_);
  std::unique_ptr<Exchange> exchange_;
  Queue queue_;  // the first to go: it uses the rings
};

// A world of one.
std::unique_ptr<World> make_alone();

// What every member gave, in the order of ranks; of any length. To be called as the calls of a
// group are.
std::vector<std::string> all_gather(Group& group, std::string bytes);

// "" where all ranks hold the same lines, e.g. the collective ops of a program; otherwise one
// sentence with the first line that differs and who has it. `what` names the list.
std::string find_difference(Exchange& exchange, const std::string& what,
                            const std::vector<std::string>& lines);
// Refuses a difference, on every rank.
void agree_on(Exchange& exchange, const std::string& what, const std::vector<std::string>& lines);

}  // namespace flotilla::comm
