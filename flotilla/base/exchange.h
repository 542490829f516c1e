// flotilla/base/exchange.h
//
// "Agree on a value with my peers": how what is done on several processes at once comes to one
// answer, whoever carries the bytes. A process on its own is a group of one (Alone), so that code
// for one process and code for many are the same text.
//
// Every call is collective: all members make the same calls in the same order. A call waits for the
// others, and ends with ErrorKind::kUnavailable where a member is gone or somebody aborted.
//
// Thread safety: one thread makes the collective calls; abort() may come from any.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/mutex.h"

namespace flotilla {

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  // What every member gave, in the order of ranks.
  virtual std::vector<std::string> all_gather(std::string bytes) = 0;
  // parcels[i] goes to member i; the result holds what each member sent here, in the order of
  // ranks. REQUIRES: a parcel for each member, which may be empty.
  virtual std::vector<std::string> all_to_all(std::vector<std::string> parcels) = 0;
  // Ends the call that waits and all later ones, here and at the peers that can be reached, with
  // "<reason>". The first reason counts.
  virtual void abort(std::string reason) = 0;
};

// The group of one.
class Alone final : public Exchange {
 public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 1; }
  std::vector<std::string> all_gather(std::string bytes) override;
  std::vector<std::string> all_to_all(std::vector<std::string> parcels) override;
  void abort(std::string reason) override;

 private:
  void check();

  Mutex mutex_;
  std::string reason_ FLT_GUARDED_BY(mutex_);
};

// A number of every member, in the order of ranks.
std::vector<int64_t> gather_numbers(Exchange& exchange, int64_t number);
int64_t sum_of(Exchange& exchange, int64_t number);
// Whether it holds for every member: does each still have a batch?
bool all_of(Exchange& exchange, bool holds);

}  // namespace flotilla
