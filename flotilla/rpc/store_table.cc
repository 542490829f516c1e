#include "flotilla/rpc/store_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace flotilla::rpc {
namespace {

// All keys that begin with `prefix`: [first, last).
template <typename Map>
auto range_of(Map& map, const std::string& prefix) {
  auto first = map.lower_bound(prefix);
  auto last = first;
  while (last != map.end() && last->first.starts_with(prefix)) ++last;
  return std::pair(first, last);
}

std::optional<int64_t> number_in(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

Report report_of(const Progress& said) {
  return {.step = said.step(),
          .doing = said.doing(),
          .doing_seconds = said.doing_seconds(),
          .for_others = said.for_others(),
          .age = said.age(),
          .seconds = {said.seconds().begin(), said.seconds().end()},
          .reached = {said.reached().begin(), said.reached().end()}};
}

// Why a request cannot be taken, or nothing.
std::string objection(const Request& request) {
  const auto long_key = [](const std::string& key) {
    return key.size() <= StoreTable::kMaxKey
               ? std::string()
               : fmt::format("a key of the store may have at most {} bytes, but has {}",
                             StoreTable::kMaxKey, key.size());
  };
  switch (request.what_case()) {
    case Request::kSet:
      if (request.set().key().empty()) return "a key of the store must not be empty";
      if (request.set().value().size() > StoreTable::kMaxValue) {
        return fmt::format(
            "a value of the store may have at most {} bytes, but that of \"{}\" has {}",
            StoreTable::kMaxValue, request.set().key().substr(0, 100),
            request.set().value().size());
      }
      return long_key(request.set().key());
    case Request::kGet:
      return long_key(request.get().key());
    case Request::kAdd:
      return long_key(request.add().key());
    case Request::kWatch:
      return long_key(request.watch().prefix());
    case Request::kBarrier:
      return long_key(request.barrier().name());
    case Request::WHAT_NOT_SET:
      return "the store does not know this request; do both sides run the same version?";
    default:
      return "";
  }
}

}  // namespace

std::string name_of(const Member& member) {
  return fmt::format("{} {} (pid {} on {})", member.role, member.rank, member.pid, member.host);
}

bool StoreTable::handle(ClientId from, const Request& request, std::vector<Outgoing>& out) {
  Reply reply;
  reply.set_id(request.id());
  if (request.what_case() == Request::kHello) {
    const bool welcome = hello(from, request, reply);
    out.push_back({from, std::move(reply)});
    return welcome;
  }
  if (!clients_.contains(from)) {
    reply.set_error("the first request to the store must identify its sender");
    out.push_back({from, std::move(reply)});
    return false;
  }
  if (std::string why = objection(request); !why.empty()) {
    reply.set_error(std::move(why));
    out.push_back({from, std::move(reply)});
    return true;
  }
  switch (request.what_case()) {
    case Request::kSet:
      set(from, request.set(), reply, out);
      break;
    case Request::kGet:
      if (!get(from, request, reply)) return true;
      break;
    case Request::kAdd:
      add(request.add(), reply, out);
      break;
    case Request::kErase:
      erase(request.erase().prefix(), out);
      break;
    case Request::kWatch:
      watch(from, request, out);
      return true;
    case Request::kBarrier:
      barrier(from, request, out);
      return true;
    case Request::kProgress:
      clients_.at(from).member.last = report_of(request.progress());
      clients_.at(from).member.reported = std::chrono::steady_clock::now();
      return true;
    default:  // kLeave
      clients_.at(from).left = true;
      break;
  }
  out.push_back({from, std::move(reply)});
  return true;
}

bool StoreTable::hello(ClientId from, const Request& request, Reply& reply) {
  const Hello& hello = request.hello();
  Member member{.role = hello.role(),
                .rank = hello.rank(),
                .host = hello.host(),
                .pid = hello.pid(),
                .attempt = hello.attempt()};
  for (const auto& [id, client] : clients_) {
    const Member& there = client.member;
    if (client.left || there.role != member.role || there.rank != member.rank) continue;
    // A process that was started again may come before the end of the old one is seen.
    if (member.attempt > there.attempt) continue;
    reply.set_error(
        fmt::format("{} has already joined this job as {}; each rank may run only once, so check "
                    "whether the job was started twice or two processes share a PADDLE_TRAINER_ID",
                    name_of(member), name_of(there)));
    return false;
  }
  reply.set_stop(stopped_);
  clients_[from] = {std::move(member)};
  return true;
}

void StoreTable::set(ClientId from, const Set& set, Reply& reply, std::vector<Outgoing>& out) {
  const auto found = entries_.find(set.key());
  if (set.only_if_absent() && found != entries_.end()) {
    reply.set_found(true);
    reply.set_value(found->second.value);
    return;
  }
  put(set.key(), {set.value(), set.leased() ? from : 0}, out);
  if (set.only_if_absent()) reply.set_value(set.value());
}

bool StoreTable::get(ClientId from, const Request& request, Reply& reply) {
  const auto found = entries_.find(request.get().key());
  if (found == entries_.end() && request.get().wait()) {
    waits_[request.get().key()].push_back({from, request.id()});
    return false;
  }
  reply.set_found(found != entries_.end());
  if (reply.found()) reply.set_value(found->second.value);
  return true;
}

void StoreTable::add(const Add& add, Reply& reply, std::vector<Outgoing>& out) {
  const auto found = entries_.find(add.key());
  const std::optional<int64_t> before =
      found == entries_.end() ? 0 : number_in(found->second.value);
  int64_t after = 0;
  if (!before || __builtin_add_overflow(*before, add.amount(), &after)) {
    reply.set_error(fmt::format("\"{}\" does not hold a number, so {} cannot be added to it",
                                add.key(), add.amount()));
    return;
  }
  put(add.key(), {fmt::to_string(after), found == entries_.end() ? 0 : found->second.lease}, out);
  reply.set_number(after);
}

void StoreTable::erase(const std::string& prefix, std::vector<Outgoing>& out) {
  const auto [first, last] = range_of(entries_, prefix);
  for (auto it = first; it != last; ++it) changed(it->first, nullptr, out);
  entries_.erase(first, last);
}

void StoreTable::watch(ClientId from, const Request& request, std::vector<Outgoing>& out) {
  const std::string& prefix = request.watch().prefix();
  watches_.push_back({prefix, {from, request.id()}});
  Outgoing& answer = out.emplace_back();
  answer.to = from;
  answer.reply.set_id(request.id());
  const auto [first, last] = range_of(entries_, prefix);
  for (auto it = first; it != last; ++it) {
    Outgoing& event = out.emplace_back();
    event.to = from;
    event.reply.set_id(request.id());
    event.reply.set_key(it->first);
    event.reply.set_value(it->second.value);
  }
}

void StoreTable::barrier(ClientId from, const Request& request, std::vector<Outgoing>& out) {
  const Barrier& wanted = request.barrier();
  Gate& gate = gates_[wanted.name()];
  if (gate.arrived.empty()) gate.members = wanted.members();
  if (wanted.members() < 1 || wanted.members() != gate.members) {
    Outgoing& answer = out.emplace_back();
    answer.to = from;
    answer.reply.set_id(request.id());
    answer.reply.set_error(fmt::format(
        "{} expects {} members at the barrier \"{}\", but others expect {}",
        name_of(clients_.at(from).member), wanted.members(), wanted.name(), gate.members));
    return;
  }
  gate.arrived.push_back({from, request.id()});
  if (static_cast<int64_t>(gate.arrived.size()) < gate.members) return;
  for (const Waiting& waiting : gate.arrived) {
    Outgoing& answer = out.emplace_back();
    answer.to = waiting.client;
    answer.reply.set_id(waiting.id);
  }
  gates_.erase(wanted.name());
}

void StoreTable::put(const std::string& key, Entry entry, std::vector<Outgoing>& out) {
  const std::string& value = (entries_[key] = std::move(entry)).value;
  if (const auto found = waits_.find(key); found != waits_.end()) {
    for (const Waiting& waiting : found->second) {
      Outgoing& answer = out.emplace_back();
      answer.to = waiting.client;
      answer.reply.set_id(waiting.id);
      answer.reply.set_found(true);
      answer.reply.set_value(value);
    }
    waits_.erase(found);
  }
  changed(key, &value, out);
}

void StoreTable::changed(const std::string& key, const std::string* value,
                         std::vector<Outgoing>& out) const {
  for (const auto& [prefix, watcher] : watches_) {
    if (!key.starts_with(prefix)) continue;
    Outgoing& event = out.emplace_back();
    event.to = watcher.client;
    event.reply.set_id(watcher.id);
    event.reply.set_key(key);
    event.reply.set_erased(value == nullptr);
    if (value != nullptr) event.reply.set_value(*value);
  }
}

std::vector<Member> StoreTable::gone(ClientId client, std::vector<Outgoing>& out) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return {};
  const Client ended = std::move(found->second);
  clients_.erase(found);
  const auto is_theirs = [&](const Waiting& waiting) { return waiting.client == client; };
  std::erase_if(watches_, [&](const auto& watch) { return is_theirs(watch.second); });
  for (auto& [key, waiting] : waits_) std::erase_if(waiting, is_theirs);
  std::erase_if(waits_, [](const auto& wait) { return wait.second.empty(); });
  for (auto it = gates_.begin(); it != gates_.end();) {
    auto& [name, gate] = *it;
    if (std::none_of(gate.arrived.begin(), gate.arrived.end(), is_theirs)) {
      ++it;
      continue;
    }
    for (const Waiting& waiting : gate.arrived) {
      if (is_theirs(waiting)) continue;
      Outgoing& answer = out.emplace_back();
      answer.to = waiting.client;
      answer.reply.set_id(waiting.id);
      answer.reply.set_error(fmt::format("{} left while it waited at the barrier \"{}\"",
                                         name_of(ended.member), name));
    }
    it = gates_.erase(it);
  }
  std::vector<std::string> leased;
  for (const auto& [key, entry] : entries_) {
    if (entry.lease == client) leased.push_back(key);
  }
  for (const std::string& key : leased) {
    entries_.erase(key);
    changed(key, nullptr, out);
  }
  return ended.left ? std::vector<Member>() : std::vector{ended.member};
}

void StoreTable::stop(const std::string& reason, std::vector<Outgoing>& out) {
  if (!stopped_.empty()) return;
  stopped_ = reason;
  for (const auto& [id, client] : clients_) {
    Outgoing& message = out.emplace_back();
    message.to = id;
    message.reply.set_stop(reason);
  }
}

std::vector<Member> StoreTable::members() const {
  std::vector<Member> found;
  for (const auto& [id, client] : clients_) found.push_back(client.member);
  return found;
}

}  // namespace flotilla::rpc
