#include "flotilla/launch/job_store.h"

#include <fmt/format.h>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/launch/ports.h"
#include "flotilla/rpc/outage.h"

namespace flotilla::launch {

void JobStore::serve(const std::string& address, const Lose& lose) {
  using Happening = rpc::StoreServer::Happening;
  constexpr int64_t kDescriptors = 8;  // of a process that is started: its log, pipes, pidfd
  rpc::StoreServer::Options settings{.address = address,
                                     .token = options_.token,
                                     .reserve = 64 + kDescriptors * options_.processes};
  settings.only_from = options_.only_from;
  settings.stop = options_.stop;
  const double limit = std::chrono::duration<double>(rpc::Outage::from_environment().limit).count();
  settings.on_event = [this, lose, limit](Happening what, const rpc::Member& member) {
    members_.note(what, member);
    if (what == Happening::kLost && member.role == "launcher" && lose) {
      lose(member.silent ? fmt::format("nothing has been heard from host {} for {:g} s "
                                       "(--outage_limit): it is down, paused or cut off",
                                       member.host, limit)
                         : fmt::format("the launcher on host {} is gone", member.host));
    }
  };
  try {
    server_.emplace(std::move(settings));
  } catch (const Error& error) {
    const std::string holder = holder_of(find_endpoint(address).value_or(Endpoint()).port);
    refuse("{}{}", error.sentence(),
           holder.empty() ? "" : fmt::format("; it is used by {}", holder));
  }
  address_ = server_->address();
}

std::optional<std::string> JobStore::find(const std::string& key) {
  return server_ ? server_->find(key) : std::nullopt;
}

bool JobStore::has_other_launchers(int64_t self) {
  if (!server_) return false;
  for (const rpc::Member& member : server_->members()) {
    if (member.role == "launcher" && member.rank != self) return true;
  }
  return false;
}

void JobStore::stop(const std::string& reason) {
  if (server_) server_->stop(reason);
}

}  // namespace flotilla::launch
