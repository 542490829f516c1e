// tests/fuzz/predictor_fuzz.cc
//
// Whatever the files of a saved model hold, they are refused or predict.
//
// The input is such a model (corpus/predictor: "MODEL", the length of the program as 4 bytes, the
// program, its parameters), or says how one of them is bent: its bytes, fields of its program's
// wire format, its variables and attributes with parameters that fit them. What is read is given
// small inputs and runs. A program with a loop is only read: one that never ends is no mistake.
// With FLT_FUZZ_SHOW=1 what refuses a model is printed.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "flotilla/base/env.h"
#include "flotilla/device/allocator.h"
#include "flotilla/ir/proto.h"
#include "flotilla/runtime/model_io.h"
#include "flotilla/runtime/predictor.h"
#include "flotilla/tensor/stream.h"
#include "tests/fuzz/draws.h"

namespace flotilla {
namespace {

constexpr std::string_view kMagic = "MODEL";
constexpr int64_t kMemory = int64_t{48} << 20;
constexpr int64_t kMostElements = 4096;  // of a tensor that is fed or remade

struct Files {
  std::string program, params;
};

// What is counted, and printed when the fuzzer ends.
struct Report {
  int64_t models = 0, read = 0, ran = 0;

  ~Report() {
    if (models < 100) return;
    const auto share = [&](int64_t n) {
      return 100.0 * static_cast<double>(n) / static_cast<double>(models);
    };
    std::fprintf(stderr, "programs: %lld, of which %.1f%% were read and %.1f%% ran\n",
                 static_cast<long long>(models), share(read), share(ran));
  }
};

struct World {
  std::vector<Files> models;
  bool shows = env::text_or("FLT_FUZZ_SHOW", "") == "1";
  Report report;
};

World& world() {
  static World made;
  return made;
}

std::optional<Files> unpacked(std::string_view bytes) {
  uint32_t length = 0;
  const size_t head = kMagic.size() + sizeof length;
  if (!bytes.starts_with(kMagic) || bytes.size() < head) return {};
  std::memcpy(&length, bytes.data() + kMagic.size(), sizeof length);
  const std::string_view rest = bytes.substr(head);
  const size_t cut = std::min<size_t>(length, rest.size());
  return Files{std::string(rest.substr(0, cut)), std::string(rest.substr(cut))};
}

// A message of protobuf as its fields; a `value` is what follows the tag, or the length.
struct Field {
  uint64_t tag = 0;
  std::string value;

  bool counted() const { return (tag & 7) == 2; }
};

std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return number;
  }
  return {};
}

std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 128; number >>= 7) bytes.push_back(static_cast<char>(number | 128));
  bytes.push_back(static_cast<char>(number));
  return bytes;
}

std::optional<std::vector<Field>> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    const std::optional<uint64_t> tag = take_varint(bytes);
    if (!tag || *tag < 8) return {};
    std::optional<uint64_t> size;
    switch (*tag & 7) {
      case 0: {
        const auto number = take_varint(bytes);
        if (!number) return {};
        fields.push_back({*tag, varint(*number)});
        continue;
      }
      case 1:
        size = 8;
        break;
      case 2:
        size = take_varint(bytes);
        break;
      case 5:
        size = 4;
        break;
      default:
        return {};
    }
    if (!size || *size > bytes.size()) return {};
    fields.push_back({*tag, std::string(bytes.substr(0, *size))});
    bytes.remove_prefix(*size);
  }
  return fields;
}

std::string joined(const std::vector<Field>& fields) {
  std::string bytes;
  for (const Field& field : fields) {
    bytes += varint(field.tag);
    if (field.counted()) bytes += varint(field.value.size());
    bytes += field.value;
  }
  return bytes;
}

void bend_bytes(Bytes& in, std::string& bytes) {
  if (bytes.empty()) return;
  // What says how long something is stands in front.
  const size_t at = in.below(in.coin() ? std::min<size_t>(bytes.size(), 64) : bytes.size());
  switch (in.below(6)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.insert(at, bytes, in.below(bytes.size()), in.below(64));
      break;
    case 2:
      bytes.erase(at, 1 + in.below(8));
      break;
    case 3: {
      const int64_t number = in.whole();
      const size_t size = std::min<size_t>(in.coin() ? 4 : 8, bytes.size() - at);
      std::memcpy(bytes.data() + at, &number, size);
      break;
    }
    default:
      bytes[at] = static_cast<char>(in.byte());
  }
}

void bend_message(Bytes& in, std::string& bytes) {
  std::optional<std::vector<Field>> fields = fields_of(bytes);
  if (!fields || fields->empty() || in.below(16) == 15) return bend_bytes(in, bytes);
  const size_t at = in.below(fields->size());
  Field& field = (*fields)[at];
  switch (in.below(12)) {
    case 0:
      fields->erase(fields->begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      fields->push_back(Field(field));
      break;
    case 2:
      std::swap(field, fields->front());
      break;
    case 3:
      std::swap(field.value, (*fields)[in.below(fields->size())].value);
      break;
    default:
      if (field.counted()) {
        bend_message(in, field.value);
      } else if ((field.tag & 7) == 0) {
        field.value = varint(static_cast<uint64_t>(in.whole()));
      } else {
        bend_bytes(in, field.value);
      }
  }
  bytes = joined(*fields);
}

bool small(const Shape& shape) {
  int64_t left = kMostElements;
  for (const int64_t extent : shape) {
    if (extent < 0 || extent > left) return false;
    if (extent > 0) left /= extent;
  }
  return true;
}

void fill(Bytes& in, Tensor& tensor) {
  const double first = in.number();
  visit_dtype(tensor.dtype(), [&](auto type) {
    using T = decltype(type);
    int64_t next = 0;
    for (T& element : tensor.span<T>()) {
      element = static_cast<T>(static_cast<float>(next++ % 3));
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (tensor.numel() > 0) tensor.span<T>()[0] = static_cast<T>(first);
    }
  });
}

// Another shape, attribute or type of the program, and parameters as it declares them.
void bend_program(Bytes& in, Files& files) {
  static const std::vector<int64_t> kExtents = {1, 2, 0, 3, 4, 5, 8, 17, -1, 1 << 20, 1LL << 40};
  const std::shared_ptr<Program> program = deserialize(files.program);
  Block& block =
      program->block(static_cast<int32_t>(in.below(static_cast<size_t>(program->num_blocks()))));
  if (in.coin() && !block.vars().empty()) {
    Var& var = *block.vars()[in.below(block.vars().size())];
    std::vector<int64_t> dims = var.shape.dims();
    if (dims.empty() || in.below(8) == 7) dims.push_back(1);
    dims[in.below(dims.size())] = in.pick(kExtents);
    if (in.below(8) == 7) dims.pop_back();
    var.shape = Shape(dims);
    if (in.below(8) == 7) var.dtype = some_dtype(in);
  } else if (block.size() > 0) {
    Op& op = block.op(in.below(block.size()));
    if (op.attrs().empty()) return;
    const auto found =
        std::next(op.attrs().begin(), static_cast<std::ptrdiff_t>(in.below(op.attrs().size())));
    Attr value = found->second;
    bend_attr(in, value);
    op.set_attr(std::string(found->first), std::move(value));
  }
  files.program = serialize(*program);
  TensorReader reader(files.params, "the parameters");
  std::string params;
  for (const std::string& name : persistable_names(*program)) {
    Tensor tensor = reader.at_end() ? Tensor(f32, {1}) : reader.next();
    const Var* var = program->global_block().find_var(name);
    const bool other = var != nullptr && tensor.shape() != var->shape;
    if (other && small(var->shape)) {
      tensor = Tensor(var->dtype, var->shape);
      fill(in, tensor);
    }
    params += serialize(tensor);
  }
  files.params = params;
}

void bend(Bytes& in, Files& files) {
  for (size_t bends = in.below(4) == 3 ? 3 : 1; bends > 0; --bends) {
    switch (in.below(8)) {
      case 0:
        bend_bytes(in, files.program);
        break;
      case 1:
        bend_bytes(in, files.params);
        break;
      case 2:
      case 3:
        bend_message(in, files.program);
        break;
      default:
        bend_program(in, files);
    }
  }
}

Tensor some_input(Bytes& in, DType dtype, const Var& var) {
  static const std::vector<int64_t> kExtents = {2, 1, 3, 4, 0};
  std::vector<int64_t> dims = var.shape.dims();
  for (int64_t& extent : dims) {
    if (extent < 0 || in.below(16) == 15) extent = in.pick(kExtents);
  }
  if (!small(Shape(dims))) {
    for (int64_t& extent : dims) extent = std::min<int64_t>(extent, 2);
  }
  require(small(Shape(dims)), "the fuzzer makes no input of shape {}", Shape(dims));
  Tensor tensor(dtype, Shape(dims));
  fill(in, tensor);
  const int64_t rows = dims.empty() ? 1 : dims.front();
  if (var.lod_level > 0) tensor.set_lod({{0, rows / 2, rows}});
  return tensor;
}

void predict(Bytes& in, Predictor& predictor, const Program& program) {
  for (const std::string& name : predictor.input_names()) {
    const Var& var = program.global_block().var(name);
    predictor.set_input(name, some_input(in, predictor.input_dtype(name), var));
  }
  predictor.run();
  for (const std::string& name : predictor.output_names()) {
    const Tensor& output = predictor.output(name);
    if (output.defined()) serialize(output);  // reads all of it
  }
}

bool has_loop(const Program& program) {
  return std::any_of(program.blocks().begin(), program.blocks().end(), [](const auto& block) {
    return std::any_of(block->ops().begin(), block->ops().end(),
                       [](const auto& op) { return op->type() == "while"; });
  });
}

void run(Bytes& in, const Files& files) {
  Report& report = world().report;
  ++report.models;
  const std::shared_ptr<Model> model = Model::parse(files.program, files.params);
  ++report.read;
  Predictor predictor(model, 1);
  if (has_loop(model->program())) return;
  predict(in, predictor, model->program());
  ++report.ran;
  predict(in, predictor, model->program());
  predict(in, *predictor.clone(), model->program());
}

void run_input(const uint8_t* data, size_t size) {
  Bytes in(data, size);
  if (const auto whole = unpacked({reinterpret_cast<const char*>(data), size})) {
    Bytes zeros(data, 0);
    return run(zeros, *whole);
  }
  Files files = in.pick(world().models);
  bend(in, files);
  run(in, files);
}

}  // namespace
}  // namespace flotilla

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  using namespace flotilla;
  run_quietly_on_one_thread();
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/predictor")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    if (auto files = unpacked(bytes)) world().models.push_back(*std::move(files));
  }
  set_memory_limit(kMemory);
  return world().models.empty() ? 1 : 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    flotilla::run_input(data, size);
  } catch (const flotilla::Error& error) {
    if (flotilla::world().shows) std::fprintf(stderr, "%s\n", error.what());
    // Our own mistakes are no answer.
    if (error.kind() == flotilla::ErrorKind::kInternal) {
      std::fprintf(stderr, "%s\n", error.what());
      __builtin_trap();
    }
  }
  return 0;
}
