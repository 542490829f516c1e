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
      {"FLT_ATTEMPT", "how many times the launcher has restarted this process"},
      {"FLT_COMPARE_PARAMETERS",
       "0: ranks do not compare their parameters at the start and after each pass"},
      {"FLT_DOWNLOAD", "0: never download data sets; generate those that are missing"},
      {"FLT_DUMP", "passes after which the program is printed, separated by commas; or all"},
      {"FLT_GROUP", "set for pipe commands and data workers, to find and end them"},
      {"FLT_JOB_TOKEN", "secret shared by all processes of a job; set it on every host"},
      {"FLT_LISTEN_FD",
       "file descriptor of the listening socket that the launcher opened for this process"},
      {"FLT_LOG_LEVEL", "lowest level to log on stderr: info (default), warn, error or off"},
      {"FLT_MADE_TOKEN",
       "FLT_JOB_TOKEN if the launcher made it; a job started inside this one does not use it"},
      {"FLT_MAX_ISA", "highest instruction set that kernels may use: sse41, avx2, avx512"},
      {"FLT_ONLY_FROM",
       "hosts from which a server accepts calls; the launcher sets it if FLT_JOB_TOKEN is not set"},
      {"FLT_OUTAGE_LIMIT",
       "seconds of silence after which a host or process is considered lost; default 30"},
      {"FLT_PS_DIR", "folder in which parameter servers keep logs and snapshots of their tables"},
      {"FLT_PS_SNAPSHOT_SECONDS",
       "seconds between snapshots of the servers' tables; default 300; 0: by log size"},
      {"FLT_PS_SYNC",
       "when servers flush their log to disk: each (push), interval (200 ms) or off"},
      {"FLT_PYTHON", "Python interpreter with which the launcher runs scripts"},
      {"FLT_RANK", "index of this process among those of its role, from 0"},
      {"FLT_RECORD_CASES", "file to which tests append the programs they run, for the fuzzer"},
      {"FLT_REQUIRE_TOKEN",
       "1: refuse a job that others could join because FLT_JOB_TOKEN is not set"},
      {"FLT_ROLE", "worker, server or heter_worker"},
      {"FLT_SKIP_PASSES", "passes to skip, separated by commas; all: every pass of the planner"},
      {"FLT_STATUS_PORT", "port of a server's GET /metrics on 127.0.0.1; default: any free port"},
      {"FLT_STORE", "host:port of the job's store; set by the launcher"},
      {"FLT_STORE_PORT", "port of the store on the first of several hosts; default 6069"},
      {"FLT_TEST_DATA", "folder with real data sets, for tests and the demo"},
      {"FLT_TEST_FULL", "1: run crash tests and long tests at full length"},
      {"FLT_TF32", "0: a GPU multiplies f32 with all its digits; by default with 10 bits of them"},
      {"FLT_THREADS", "threads of a process; default: the number of cores"},
      {"FLT_TLS_CA", "PEM file of the authority that signed the job's certificates"},
      {"FLT_TLS_CERT", "PEM file of this host's certificate; makes the job's connections use TLS"},
      {"FLT_TLS_KEY", "PEM file of the private key of FLT_TLS_CERT"},
      {"FLT_TLS_MUTUAL", "1: servers of the job require certificates from their clients, too"},
      {"FLT_TLS_NAME", "name that all certificates of the job contain instead of host names"},
      {"HOME", "home folder; data sets are cached in its .cache"},
      {"FLAGS_check_nan_inf", "1: report NaN and infinite values as errors that name the op"},
      {"FLAGS_START_PORT", "first port of the processes that the launcher starts"},
      {"FLAGS_require_gpu",
       "1: a CUDAPlace without a GPU is an error; by default the program runs on the CPU"},
      {"FLT_DATASET_LIMIT",
       "maximum number of samples to use of each data set, for trying a program out"},
      {"PADDLE_DATA_HOME", "folder of data sets; default $HOME/.cache/paddle/dataset"},
      {"FLAGS_selected_gpus", "devices of this process, separated by commas"},
      {"FLAGS_communicator_max_merge_var_num",
       "1.8: maximum number of steps that an asynchronous worker merges into one push"},
      {"FLAGS_communicator_min_send_grad_num_before_recv",
       "1.8: number of pushes after which an asynchronous worker pulls the dense parameters"},
      {"FLAGS_communicator_send_queue_size",
       "1.8: maximum number of steps that an asynchronous worker queues for sending"},
      {"DISTRIBUTED_TRAINER_ENDPOINTS", "PaddleCloud's name for PADDLE_TRAINER_ENDPOINTS"},
      {"KUBERNETES_SERVICE_HOST",
       "Kubernetes: set in a pod, where names of other pods may take time to resolve"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "Open MPI: local rank of this process"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "Open MPI: number of processes on this machine"},
      {"OMPI_COMM_WORLD_RANK", "Open MPI: rank of this process"},
      {"OMPI_COMM_WORLD_SIZE", "Open MPI: number of processes"},
      {"PADDLE_DEVICES", "default for --gpus"},
      {"PADDLE_ELASTIC_LEVEL", "default for --elastic_level"},
      {"PADDLE_ELASTIC_TIMEOUT", "default for --elastic_timeout"},
      {"PADDLE_GLOO_PORT", "default for --http_port"},
      {"PADDLE_IPS", "default for --ips"},
      {"PADDLE_LOG_DIR", "default for --log_dir"},
      {"PADDLE_MAX_RESTART", "default for --max_restart"},
      {"PADDLE_NNODES", "default for --nnodes"},
      {"PADDLE_NPROC_PER_NODE", "default for --nproc_per_node"},
      {"PADDLE_RANK", "default for --rank"},
      {"PADDLE_RUN_MODE", "default for --run_mode"},
      {"PADDLE_SERVERS_ENDPOINTS", "default for --servers"},
      {"PADDLE_SERVER_NUM", "default for --server_num"},
      {"PADDLE_START_PORT", "default for --start_port"},
      {"PADDLE_TRAINERS_ENDPOINTS", "default for --workers"},
      {"PADDLE_TRAINER_NUM", "default for --worker_num"},
      {"PADDLE_CURRENT_ENDPOINT", "host:port of this trainer"},
      {"PADDLE_CURRENT_IP", "IP address of this server, in the environment of 2018"},
      {"PADDLE_JOB_ID", "name of the job"},
      {"PADDLE_LOCAL_DEVICE_IDS", "devices of this process, separated by commas"},
      {"PADDLE_LOCAL_RANK", "local rank of this process"},
      {"PADDLE_MASTER", "host:port at which the first process of the job hosts its store"},
      {"PADDLE_PORT", "port of this server; in PaddleCloud, the first port of every trainer"},
      {"PADDLE_PSERVERS", "hosts of all servers up to 1.6, where PADDLE_PORT is their port"},
      {"PADDLE_PSERVERS_IP_PORT_LIST", "host:port of every server, separated by commas"},
      {"PADDLE_PSERVER_IPS", "IP addresses of all servers, in the environment of 2018"},
      {"PADDLE_PSERVER_PORT", "port of all servers, in the environment of 2018"},
      {"PADDLE_RANK_IN_NODE", "local rank of this process"},
      {"PADDLE_TRAINERS", "hosts of the trainers; in the environment of 2018, their number"},
      {"PADDLE_TRAINERS_NUM", "number of trainers"},
      {"PADDLE_TRAINER_ENDPOINTS", "host:port of every trainer, separated by commas"},
      {"PADDLE_TRAINER_ID", "rank of this trainer, from 0"},
      {"PADDLE_TRAINING_ROLE", "TRAINER or PSERVER, in the environment of 2018"},
      {"PADDLE_WORLD_DEVICE_IDS", "devices of all processes"},
      {"POD_IP", "this host"},
      {"SLURM_JOB_ID", "Slurm: id of the job"},
      {"SLURM_JOB_NODELIST", "Slurm: machines of the job, e.g. node[1-4]"},
      {"SLURM_LOCALID", "Slurm: local rank of this task"},
      {"SLURM_NNODES", "Slurm: number of machines in the job"},
      {"SLURM_NODEID", "Slurm: index of this machine, from 0"},
      {"SLURM_NTASKS", "Slurm: number of tasks"},
      {"SLURM_PROCID", "Slurm: rank of this task"},
      {"SLURM_STEP_ID", "Slurm: set only in processes that srun starts"},
      {"SLURM_STEP_NODELIST", "Slurm: machines of this step"},
      {"SLURM_STEP_NUM_NODES", "Slurm: number of machines in this step"},
      {"SLURM_STEP_NUM_TASKS", "Slurm: number of tasks in this step"},
      {"TRAINER_PORTS_NUM", "PaddleCloud: number of ports that each trainer may use"},
      {"TRAINING_ROLE", "TRAINER or PSERVER"},
      {"CUDA_VISIBLE_DEVICES", "GPUs that a process sees, separated by commas"},
      {"GOMP_SPINCOUNT",
       "how long OpenMP's threads spin while they wait; default in Python and in jobs: 1000"},
      {"GRPC_VERBOSITY", "makes gRPC log; see its documentation"},
      {"NVIDIA_TF32_OVERRIDE", "0: as FLT_TF32=0, for all programs that use NVIDIA's libraries"},
      {"OMP_NUM_THREADS", "threads of a process if FLT_THREADS is not set"},
      {"OMP_WAIT_POLICY", "how OpenMP's threads wait: active or passive"},
  };
  return rows;
}

bool is_set(std::string_view name) { return std::getenv(std::string(name).c_str()) != nullptr; }

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
