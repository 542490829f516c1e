#include "flotilla/testing/exchange.h"

#include <exception>
#include <thread>

#include "flotilla/base/error.h"

namespace flotilla {

// Where the members lay their parcels: a round is over when all have laid theirs and taken those
// for them.
struct ThreadGroup::Table {
  explicit Table(int64_t members) : size(members), parcels(static_cast<size_t>(members)) {}

  std::vector<std::string> meet(int64_t rank, std::vector<std::string> given) {
    const auto me = static_cast<size_t>(rank);
    MutexLock lock(mutex);
    while (reason.empty() && taking) changed.wait(lock);  // the round before is not over
    parcels[me] = std::move(given);
    if (++laid == size) taking = true;
    changed.notify_all();
    while (reason.empty() && !taking) changed.wait(lock);
    if (!reason.empty()) throw Error(ErrorKind::kUnavailable, reason);
    std::vector<std::string> mine;
    for (std::vector<std::string>& from : parcels) mine.push_back(std::move(from[me]));
    if (--laid == 0) taking = false;
    changed.notify_all();
    return mine;
  }

  void abort(std::string why) {
    MutexLock lock(mutex);
    if (reason.empty()) reason = std::move(why);
    changed.notify_all();
  }

  const int64_t size;
  Mutex mutex;
  Condition changed;
  std::vector<std::vector<std::string>> parcels FLT_GUARDED_BY(mutex);
  int64_t laid FLT_GUARDED_BY(mutex) = 0;
  bool taking FLT_GUARDED_BY(mutex) = false;
  std::string reason FLT_GUARDED_BY(mutex);
};

class ThreadGroup::Member final : public Exchange {
 public:
  Member(std::shared_ptr<Table> table, int64_t rank) : table_(std::move(table)), rank_(rank) {}

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return table_->size; }
  std::vector<std::string> all_gather(std::string bytes) override {
    return table_->meet(rank_, std::vector<std::string>(static_cast<size_t>(size()), bytes));
  }
  std::vector<std::string> all_to_all(std::vector<std::string> parcels) override {
    require(static_cast<int64_t>(parcels.size()) == size(), "a group of {} takes {} parcels",
            size(), size());
    return table_->meet(rank_, std::move(parcels));
  }
  void abort(std::string reason) override { table_->abort(std::move(reason)); }

 private:
  const std::shared_ptr<Table> table_;
  const int64_t rank_;
};

ThreadGroup::ThreadGroup(int64_t size) : table_(std::make_shared<Table>(size)) {
  for (int64_t r = 0; r < size; ++r) members_.push_back(std::make_unique<Member>(table_, r));
}

ThreadGroup::~ThreadGroup() = default;

void ThreadGroup::run(const std::function<void(Exchange&)>& f) {
  std::vector<std::exception_ptr> thrown(members_.size());
  {
    std::vector<std::jthread> threads;
    for (size_t r = 0; r < members_.size(); ++r) {
      threads.emplace_back([&, r] {
        try {
          f(*members_[r]);
        } catch (...) {
          thrown[r] = std::current_exception();
          members_[r]->abort("a member of the group failed");
        }
      });
    }
  }
  std::exception_ptr heard;
  for (const std::exception_ptr& error : thrown) {
    if (error == nullptr) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kUnavailable) throw;
      heard = error;
    }
  }
  if (heard != nullptr) std::rethrow_exception(heard);
}

}  // namespace flotilla
