#include "flotilla/rpc/store_client.h"

#include <utility>

#include "flotilla/rpc/store_session.h"

namespace flotilla::rpc {

StoreClient::StoreClient(Options options)
    : session_(std::make_unique<Session>(std::move(options))) {}
StoreClient::~StoreClient() = default;

void StoreClient::set(const std::string& key, const std::string& value) {
  Request request;
  request.mutable_set()->set_key(key);
  request.mutable_set()->set_value(value);
  session_->ask(std::move(request));
}

void StoreClient::set_leased(const std::string& key, const std::string& value) {
  Request request;
  request.mutable_set()->set_key(key);
  request.mutable_set()->set_value(value);
  request.mutable_set()->set_leased(true);
  session_->ask(std::move(request));
}

std::string StoreClient::set_if_absent(const std::string& key, const std::string& value) {
  Request request;
  request.mutable_set()->set_key(key);
  request.mutable_set()->set_value(value);
  request.mutable_set()->set_only_if_absent(true);
  return session_->ask(std::move(request)).value();
}

std::optional<std::string> StoreClient::find(const std::string& key) {
  Request request;
  request.mutable_get()->set_key(key);
  const Reply reply = session_->ask(std::move(request));
  return reply.found() ? std::optional(reply.value()) : std::nullopt;
}

std::string StoreClient::get(const std::string& key) {
  Request request;
  request.mutable_get()->set_key(key);
  request.mutable_get()->set_wait(true);
  return session_->ask(std::move(request)).value();
}

int64_t StoreClient::add(const std::string& key, int64_t amount) {
  Request request;
  request.mutable_add()->set_key(key);
  request.mutable_add()->set_amount(amount);
  return session_->ask(std::move(request)).number();
}

void StoreClient::erase(const std::string& prefix) {
  Request request;
  request.mutable_erase()->set_prefix(prefix);
  session_->ask(std::move(request));
}

void StoreClient::barrier(const std::string& name, int64_t members) {
  Request request;
  request.mutable_barrier()->set_name(name);
  request.mutable_barrier()->set_members(members);
  session_->ask(std::move(request));
}

void StoreClient::watch(const std::string& prefix, Changed changed) {
  Request request;
  request.mutable_watch()->set_prefix(prefix);
  session_->ask(std::move(request), std::move(changed));
}

void StoreClient::report(const Report& report) {
  Request request;
  Progress& progress = *request.mutable_progress();
  progress.set_step(report.step);
  progress.set_doing(report.doing);
  progress.set_doing_seconds(report.doing_seconds);
  progress.set_for_others(report.for_others);
  progress.set_age(report.age);
  progress.mutable_seconds()->insert(report.seconds.begin(), report.seconds.end());
  progress.mutable_reached()->insert(report.reached.begin(), report.reached.end());
  session_->tell(std::move(request));
}

bool StoreClient::post(const std::string& key, const std::string& value, bool only_if_absent) {
  Request request;
  request.mutable_set()->set_key(key);
  request.mutable_set()->set_value(value);
  request.mutable_set()->set_only_if_absent(only_if_absent);
  return session_->tell(std::move(request));
}

void StoreClient::expect_end() { session_->expect_end(); }
void StoreClient::leave() { session_->leave(); }
void StoreClient::cancel(const std::string& reason) { session_->end(reason, false); }

}  // namespace flotilla::rpc
