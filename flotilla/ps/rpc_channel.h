// flotilla/ps/rpc_channel.h
//
// Parameter servers over the network of the job: channel.h over rpc/data_client.h and
// rpc/data_server.h.

#pragma once

#include <functional>
#include <memory>

#include "flotilla/ps/channel.h"
#include "flotilla/ps/service.h"
#include "flotilla/rpc/data_client.h"
#include "flotilla/rpc/data_server.h"

namespace flotilla::ps {

// Refuses a server that does not answer in time (Options::patience).
std::shared_ptr<Channel> make_rpc_channel(rpc::DataClient::Options options);

// What a DataServer calls so that `service`, which outlives it, answers.
std::function<void(std::shared_ptr<rpc::DataCall>)> answer_with(Service& service);

}  // namespace flotilla::ps
