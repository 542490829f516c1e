#include "flotilla/base/env.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"

namespace flotilla::env {

const std::vector<Known>& known_variables() {
  static const std::vector<Known> rows = {
      {"FLT_ATTEMPT", "how often the launcher has started this process again"},
      {"FLT_COMPARE_PARAMETERS",
       "0: ranks do not compare their parameters at the start and after each pass"},
      {"FLT_DOWNLOAD", "0 never downloads a data set; what is missing is generated"},
      {"FLT_DUMP", "names of passes: print the program after each of them; or all"},
      {"FLT_GROUP", "set for pipe commands and data workers: the mark by which they are ended"},
      {"FLT_JOB_TOKEN", "secret that every process of a job shows; set it on every host"},
      {"FLT_LISTEN_FD", "descriptor of the socket that the launcher listens on for this process"},
      {"FLT_LOG_LEVEL", "what is said on stderr at least: info (by default), warn, error or off"},
      {"FLT_MADE_TOKEN",
       "FLT_JOB_TOKEN as the launcher made it, which is no secret of a job that is started inside"},
      {"FLT_MAX_ISA", "cap on the instruction set that kernels use: sse41, avx2, avx512"},
      {"FLT_ONLY_FROM",
       "hosts that a server takes calls from; the launcher sets it where FLT_JOB_TOKEN is not set"},
      {"FLT_OUTAGE_LIMIT",
       "seconds of silence after which a host or process is taken for lost; 30 by default"},
      {"FLT_PS_DIR", "folder in which parameter servers keep logs and snapshots of their tables"},
      {"FLT_PS_SNAPSHOT_SECONDS", "how often servers snapshot their tables; 300, 0: by log size"},
      {"FLT_PS_SYNC",
       "when servers force their log to the disk: each push, interval (200 ms), off"},
      {"FLT_PYTHON", "interpreter that the launcher runs scripts with"},
      {"FLT_RANK", "number of this process among those of its role"},
      {"FLT_RECORD_CASES", "file to which tests append the programs they run, for the fuzzer"},
      {"FLT_REQUIRE_TOKEN",
       "1: a job that others could join, since FLT_JOB_TOKEN is not set, is refused"},
      {"FLT_ROLE", "worker, server or heter_worker"},
      {"FLT_SKIP_PASSES", "names of passes to leave out, separated by commas; all: those of plans"},
      {"FLT_STATUS_PORT", "port of a server's GET /metrics on 127.0.0.1; any by default"},
      {"FLT_STORE", "host:port of the job's store; the launcher sets it"},
      {"FLT_STORE_PORT", "port of the store on the first of several hosts; 6069 by default"},
      {"FLT_TEST_DATA", "folder with real data sets, for tests and the demo"},
      {"FLT_TEST_FULL", "1 makes tests of crashes and of long runs as long as they can be"},
      {"FLT_THREADS", "threads of a process; by default the number of cores"},
      {"FLT_TLS_CA", "PEM file with the authority that signed the certificates of the job"},
      {"FLT_TLS_CERT", "PEM file with this host's certificate: the job's connections use TLS"},
      {"FLT_TLS_KEY", "PEM file with the private key of FLT_TLS_CERT"},
      {"FLT_TLS_MUTUAL", "1: servers of the job ask for certificates too"},
      {"FLT_TLS_NAME", "a name that all certificates of the job carry, instead of their hosts'"},
      {"HOME", "where the cache of data sets lives, under .cache"},
      {"FLAGS_check_nan_inf",
       "1 refuses values that are NaN or infinite, with the op that made them"},
      {"FLAGS_START_PORT", "the first port of the processes that the launcher starts"},
      {"FLAGS_require_gpu", "1 makes a CUDAPlace without a GPU an error instead of a CPU run"},
      {"FLT_DATASET_LIMIT",
       "how many samples of a data set are used at most, to try a program out"},
      {"PADDLE_DATA_HOME", "where data sets are kept instead of $HOME/.cache/paddle/dataset"},
      {"FLAGS_selected_gpus", "the devices of this process, separated by commas"},
      {"FLAGS_communicator_max_merge_var_num",
       "1.8: how many steps of an asynchronous worker may become one push"},
      {"FLAGS_communicator_min_send_grad_num_before_recv",
       "1.8: with every how many pushes an asynchronous worker asks for dense parameters"},
      {"FLAGS_communicator_send_queue_size",
       "1.8: how many steps of an asynchronous worker may wait to be sent"},
      {"DISTRIBUTED_TRAINER_ENDPOINTS", "PaddleCloud's name for PADDLE_TRAINER_ENDPOINTS"},
      {"KUBERNETES_SERVICE_HOST", "Kubernetes: set in a pod; names of others may come late"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "Open MPI: number of this process on its machine"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "Open MPI: how many processes run on this machine"},
      {"OMPI_COMM_WORLD_RANK", "Open MPI: number of this process, from 0"},
      {"OMPI_COMM_WORLD_SIZE", "Open MPI: how many processes there are"},
      {"PADDLE_DEVICES", "the launcher's --gpus, where it is not said"},
      {"PADDLE_ELASTIC_LEVEL", "the launcher's --elastic_level, where it is not said"},
      {"PADDLE_ELASTIC_TIMEOUT", "the launcher's --elastic_timeout, where it is not said"},
      {"PADDLE_GLOO_PORT", "the launcher's --http_port, where it is not said"},
      {"PADDLE_IPS", "the launcher's --ips, where it is not said"},
      {"PADDLE_LOG_DIR", "the launcher's --log_dir, where it is not said"},
      {"PADDLE_MAX_RESTART", "the launcher's --max_restart, where it is not said"},
      {"PADDLE_NNODES", "the launcher's --nnodes, where it is not said"},
      {"PADDLE_NPROC_PER_NODE", "the launcher's --nproc_per_node, where it is not said"},
      {"PADDLE_RANK", "the launcher's --rank, where it is not said"},
      {"PADDLE_RUN_MODE", "the launcher's --run_mode, where it is not said"},
      {"PADDLE_SERVERS_ENDPOINTS", "the launcher's --servers, where it is not said"},
      {"PADDLE_SERVER_NUM", "the launcher's --server_num, where it is not said"},
      {"PADDLE_START_PORT", "the launcher's --start_port, where it is not said"},
      {"PADDLE_TRAINERS_ENDPOINTS", "the launcher's --workers, where it is not said"},
      {"PADDLE_TRAINER_NUM", "the launcher's --worker_num, where it is not said"},
      {"PADDLE_CURRENT_ENDPOINT", "host:port of this trainer"},
      {"PADDLE_CURRENT_IP", "this server, in the environment of 2018"},
      {"PADDLE_JOB_ID", "a name for the job"},
      {"PADDLE_LOCAL_DEVICE_IDS", "the devices of this process, separated by commas"},
      {"PADDLE_LOCAL_RANK", "number of this process on its machine, from 0"},
      {"PADDLE_MASTER", "host:port where the first process of the job hosts its store"},
      {"PADDLE_PORT", "port of this server; in PaddleCloud the first port of every trainer"},
      {"PADDLE_PSERVERS", "the hosts of all servers until 1.6, where PADDLE_PORT is their port"},
      {"PADDLE_PSERVERS_IP_PORT_LIST", "host:port of every server, separated by commas"},
      {"PADDLE_PSERVER_IPS", "every server, in the environment of 2018"},
      {"PADDLE_PSERVER_PORT", "the port of all servers, in the environment of 2018"},
      {"PADDLE_RANK_IN_NODE", "number of this process on its machine, from 0"},
      {"PADDLE_TRAINERS",
       "the hosts of the trainers; how many there are in the environment of 2018"},
      {"PADDLE_TRAINERS_NUM", "how many trainers there are"},
      {"PADDLE_TRAINER_ENDPOINTS", "host:port of every trainer, separated by commas"},
      {"PADDLE_TRAINER_ID", "number of this trainer, from 0"},
      {"PADDLE_TRAINING_ROLE", "TRAINER or PSERVER, in the environment of 2018"},
      {"PADDLE_WORLD_DEVICE_IDS", "the devices of all processes"},
      {"POD_IP", "this host"},
      {"SLURM_JOB_ID", "Slurm: the number of the job"},
      {"SLURM_JOB_NODELIST", "Slurm: the machines of the job, e.g. node[1-4]"},
      {"SLURM_LOCALID", "Slurm: number of this task on its machine"},
      {"SLURM_NNODES", "Slurm: how many machines the job has"},
      {"SLURM_NODEID", "Slurm: number of this machine, from 0"},
      {"SLURM_NTASKS", "Slurm: how many tasks there are"},
      {"SLURM_PROCID", "Slurm: number of this task, from 0"},
      {"SLURM_STEP_ID", "Slurm: set in what srun starts, and only there"},
      {"SLURM_STEP_NODELIST", "Slurm: the machines of this step"},
      {"SLURM_STEP_NUM_NODES", "Slurm: how many machines this step has"},
      {"SLURM_STEP_NUM_TASKS", "Slurm: how many tasks this step has"},
      {"TRAINER_PORTS_NUM", "PaddleCloud: how many ports each trainer may use"},
      {"TRAINING_ROLE", "TRAINER or PSERVER"},
      {"CUDA_VISIBLE_DEVICES", "the GPUs that a process sees, separated by commas"},
      {"GOMP_SPINCOUNT",
       "how long OpenMP's threads spin while they wait; 1000 in Python and in jobs"},
      {"GRPC_VERBOSITY", "lets gRPC write lines of its own; see its documentation"},
      {"OMP_NUM_THREADS", "threads of a process where FLT_THREADS is not set"},
      {"OMP_WAIT_POLICY", "how OpenMP's threads wait: active or passive"},
  };
  return rows;
}

std::optional<std::string> text(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string text_or(std::string_view name, std::string_view otherwise) {
  return text(name).value_or(std::string(otherwise));
}

int64_t number_or(std::string_view name, int64_t otherwise, int64_t least, int64_t most) {
  const std::optional<std::string> value = text(name);
  if (!value) return otherwise;
  int64_t number = 0;
  const char* end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, number);
  require(error == std::errc() && stop == end && least <= number && number <= most,
          "{} must be a number from {} to {}, but is \"{}\"", name, least, most, *value);
  return number;
}

bool flag_or(std::string_view name, bool otherwise) {
  std::optional<std::string> value = text(name);
  if (!value) return otherwise;
  std::transform(value->begin(), value->end(), value->begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (*value == "1" || *value == "true" || *value == "on" || *value == "yes") return true;
  if (*value == "0" || *value == "false" || *value == "off" || *value == "no") return false;
  refuse("{} must be 1 or 0, but is \"{}\"", name, *value);
}

std::vector<std::string> list(std::string_view name) {
  std::vector<std::string> entries = split_list(text_or(name, ""));
  std::erase(entries, "");
  return entries;
}

}  // namespace flotilla::env
