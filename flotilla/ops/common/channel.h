// flotilla/ops/common/channel.h
//
// How the Step of a collective operator talks to the other processes of its ring. Every call goes
// through the queue of the world, so that all ranks make them in the same order whether they wait
// for them or not.

#pragma once

#include <utility>

#include "flotilla/base/progress.h"
#include "flotilla/comm/world.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/build.h"

namespace flotilla::ops {

inline const AttrSpec kRingId = {"ring_id", 0, "which group of processes; 0: all"};
inline const AttrSpec kUseCalcStream = {
    "use_calc_stream", false,
    "false: may go on beside the program until somebody needs the result"};
inline const AttrSpec kAtOnce = {"use_calc_stream", true, "false: may go on beside the program"};
inline const AttrSpec kModelParallel = {"use_model_parallel", true, "a hint of Paddle's"};

class Channel {
 public:
  // Of an op with the attribute ring_id; what it does while it waits lives for ever, and is
  // followed by the number of a ring other than that of all ranks.
  explicit Channel(const PrepareContext& c, const char* doing = nullptr,
                   Progress::Kind kind = Progress::Kind::kCommunication)
      : world_(c.around().world),
        progress_(c.around().progress),
        op_(&c.op()),
        ring_(c.attr<int64_t>("ring_id")),
        doing_(doing != nullptr ? doing
               : ring_ == 0     ? "waits for other ranks"
                                : "waits for other ranks of ring"),
        kind_(kind) {}

  // There are no other processes: every collective is the identity.
  bool alone() const { return world_ == nullptr || world_->size() == 1; }

  // Calls work(group) here and now, after all that was started before. REQUIRES: !alone()
  template <typename F>
  void run(F&& work) const {
    const Progress::Span span(progress_, kind_, doing_, ring_ == 0 ? -1 : ring_);
    world_->queue().run([&] { work(world_->ring(ring_)); });
  }
  // Calls it beside the program; an error comes out of wait().
  template <typename F>
  void start(F work) const {
    world_->queue().start([*this, work = std::move(work)] {
      try {
        work(world_->ring(ring_));
      } catch (Error& error) {
        note_op(error, *op_);
        throw;
      }
    });
  }
  // Ends all that was started.
  Step wait() const {
    return [*this] {
      const Progress::Span span(progress_, kind_, doing_, ring_ == 0 ? -1 : ring_);
      world_->queue().finish();
    };
  }

 private:
  comm::World* world_;
  Progress* progress_;
  const Op* op_;
  int64_t ring_;
  const char* doing_;
  Progress::Kind kind_;
};

// The Step of an op that is allowed to go on beside the program: work(group) is started where it is
// worth it, and done in place where not. REQUIRES: !channel.alone(), the attribute use_calc_stream
template <typename F>
Step here_or_beside(PrepareContext& c, const Channel& channel, int64_t bytes, F work) {
  // The hand-over to the other thread and back costs some 8 us, and 1 MiB between two ranks of a
  // host 80: below that there is little to hide. The same on all ranks.
  constexpr int64_t kWorthAThread = 1 << 20;
  if (!c.attr<bool>("use_calc_stream") && bytes >= kWorthAThread && c.run_async(channel.wait())) {
    return [channel, work] { channel.start(work); };
  }
  return [channel, work] { channel.run(work); };
}

}  // namespace flotilla::ops
