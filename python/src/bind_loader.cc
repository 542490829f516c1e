#include <unistd.h>

#include <cstring>

#include "bind.h"
#include "bind_job.h"
#include "flotilla/base/process_group.h"
#include "flotilla/base/thread.h"
#include "flotilla/data/batch_queue.h"
#include "flotilla/data/column.h"
#include "flotilla/data/end_of_pass.h"
#include "flotilla/data/gather.h"
#include "flotilla/data/join.h"
#include "flotilla/data/shared_blocks.h"
#include "flotilla/kernel/random.h"
#include "flotilla/layers/reader.h"
#include "flotilla/runtime/scope.h"
#include "gil.h"
#include "interruptibly.h"

namespace flotilla::python {
namespace {

// An exception of the thread that runs a user's code, for the one that trains.
struct Raised {
  Held error = {};
};

template <typename T>
void fail(data::Channel<T>& channel, nb::handle error) {
  const std::exception_ptr thrown = std::make_exception_ptr(Raised{hold(error)});
  const GilReleased released;
  channel.fail(thrown);
}

nb::list to_list(data::Batch batch) {
  nb::list list;
  for (Tensor& tensor : batch) list.append(nb::cast(std::move(tensor)));
  return list;
}

Tensor to_tensor(nb::handle value) {
  if (!nb::isinstance<Tensor>(value)) return from_numpy(value);
  const Tensor& tensor = nb::cast<Tensor&>(value);
  Tensor plain = tensor.plain();
  plain.set_lod(tensor.lod());
  return plain;
}

// ---- what a batch must be

// The fields that a loader's feed_list declares.
struct BatchFields {
  struct Field {
    std::string name = {};
    DType dtype = f32;
    Shape shape = {};
    int32_t lod_level = 0;
    bool checked = false;
  };
  std::vector<Field> fields = {};
  nb::list names = {};

  // The fields of a batch as tensors.
  data::Batch check(nb::handle batch) const {
    require(nb::isinstance<nb::list>(batch) || nb::isinstance<nb::tuple>(batch),
            "a batch must be a list or a tuple with a field for each of {}, but is of type {}",
            fmt::join(name_list(), ", "), nb::cast<std::string>(nb::type_name(batch.type())));
    const size_t count = nb::len(batch);
    require(count == fields.size(),
            "a batch must have {} fields, one for each variable of feed_list ({}), but has {}",
            fields.size(), fmt::join(name_list(), ", "), count);
    data::Batch tensors;
    for (size_t i = 0; i < count; ++i) tensors.push_back(check(fields[i], batch[i]));
    return tensors;
  }

  Tensor check(const Field& field, nb::handle value) const {
    Tensor tensor = to_tensor(value);
    if (!field.checked) return tensor;
    const Shape& have = tensor.shape();
    bool fits = have.rank() == field.shape.rank();
    for (int64_t a = 0; fits && a < have.rank(); ++a) {
      fits = field.shape[a] < 0 || field.shape[a] == have[a];
    }
    require(fits && tensor.dtype() == field.dtype,
            "field \"{}\" of a batch must be {}{}, as its variable is declared, but is {}{}",
            field.name, field.dtype, field.shape, tensor.dtype(), have);
    return tensor;
  }

  std::vector<std::string> name_list() const {
    std::vector<std::string> list;
    for (const Field& field : fields) list.push_back(field.name);
    return list;
  }
};

nb::dict to_feed_dict(const BatchFields& fields, nb::handle batch) {
  data::Batch tensors = fields.check(batch);
  nb::dict feed;
  for (size_t i = 0; i < tensors.size(); ++i) {
    feed[fields.names[i]] = nb::cast(std::move(tensors[i]));
  }
  return feed;
}

BatchFields to_fields(nb::list vars) {
  BatchFields made;
  for (nb::handle var : vars) {
    made.fields.push_back({.name = nb::cast<std::string>(var.attr("name")),
                           .dtype = to_dtype(var.attr("dtype")),
                           .shape = to_shape(var.attr("shape")),
                           .lod_level = nb::cast<int32_t>(var.attr("lod_level")),
                           .checked = nb::cast<bool>(var.attr("need_check_feed"))});
    made.names.append(var.attr("name"));
  }
  return made;
}

// One feed of the feeds of several places.
nb::dict join_feeds(nb::list feeds) {
  nb::dict joined;
  for (auto [name, value] : nb::cast<nb::dict>(feeds[0])) {
    std::vector<Tensor> parts;
    for (nb::handle feed : feeds) {
      require(nb::cast<nb::dict>(feed).contains(name),
              "the feeds of all places must have the same variables, but one has no \"{}\"",
              nb::cast<std::string>(nb::str(name)));
      parts.push_back(to_tensor(feed[name]));
    }
    joined[name] = nb::cast(data::join_rows(parts));
  }
  return joined;
}

void bind_fields(nb::module_& m) {
  m.def("join_feeds", &join_feeds, nb::arg("feeds"), "The feeds of several places as one.");
  nb::class_<BatchFields>(m, "BatchFields", "What the variables of a feed_list expect of a batch.")
      .def(nb::new_([](nb::list vars) { return to_fields(vars); }), nb::arg("feed_list"))
      .def_ro("names", &BatchFields::names)
      .def("__len__", [](const BatchFields& f) { return f.fields.size(); })
      .def("feed", &to_feed_dict, nb::arg("batch"), "A batch as a feed, checked.")
      .def(
          "tensors", [](const BatchFields& f, nb::handle batch) { return to_list(f.check(batch)); },
          nb::arg("batch"), "The fields of a batch as tensors, checked.");
}

// ---- stacking samples

struct View {
  Py_buffer buffer = {};
  bool taken = false;

  bool take(PyObject* object) {
    taken = PyObject_GetBuffer(object, &buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0;
    if (!taken) PyErr_Clear();
    return taken;
  }
  bool is_like(const Py_buffer& other) const {
    return buffer.len == other.len && buffer.ndim == other.ndim &&
           std::equal(buffer.shape, buffer.shape + buffer.ndim, other.shape) &&
           std::strcmp(buffer.format, other.format) == 0;
  }
  ~View() {
    if (taken) PyBuffer_Release(&buffer);
  }
};

// Where stacked samples lie. Never freed: the interpreter may end before the last tensor.
data::BatchBuffers& stack_buffers() {
  static data::BatchBuffers& buffers = *new data::BatchBuffers;
  return buffers;
}

// The arrays one behind the other, or None where they are not all arrays of one shape and dtype.
nb::object stack(nb::list samples) {
  const size_t count = nb::len(samples);
  if (count == 0) return nb::none();
  View first;
  if (!first.take(samples[0].ptr())) return nb::none();
  Tensor one;
  try {
    one = from_numpy(samples[0]);
  } catch (const Error&) {
    return nb::none();
  }
  std::vector<int64_t> extents = {static_cast<int64_t>(count)};
  extents.insert(extents.end(), one.shape().begin(), one.shape().end());
  Tensor made = stack_buffers().make(one.dtype(), Shape(std::move(extents)));
  const auto bytes = static_cast<size_t>(first.buffer.len);
  char* to = static_cast<char*>(made.raw());
  for (size_t i = 0; i < count; ++i, to += bytes) {
    View view;
    if (!view.take(PyList_GET_ITEM(samples.ptr(), i)) || !view.is_like(first.buffer)) {
      return nb::none();
    }
    std::memcpy(to, view.buffer.buf, bytes);
  }
  return nb::cast(std::move(made));
}

// ---- gathering

std::vector<int64_t> to_indices(nb::handle indices) {
  const Tensor tensor = from_numpy(indices, i64);
  require(tensor.dtype() == i64, "indices must be whole numbers, but are {}", tensor.dtype());
  const auto span = tensor.span<int64_t>();
  return {span.begin(), span.end()};
}

std::vector<std::vector<int32_t>> to_drawn(nb::object drawn) {
  std::vector<std::vector<int32_t>> made;
  if (drawn.is_none()) return made;
  for (nb::handle field : drawn) {
    std::vector<int32_t>& numbers = made.emplace_back();
    if (field.is_none()) continue;
    const Tensor tensor = from_numpy(field);
    const auto span = tensor.span<int32_t>();
    numbers.assign(span.begin(), span.end());
  }
  return made;
}

void bind_gather(nb::module_& m, Progress& progress) {
  nb::class_<data::Column>(m, "Column", "One value of every sample of a data set in memory.");
  m.def(
      "rows", [](nb::handle array) { return data::rows_of(from_numpy(array)); }, nb::arg("array"));
  m.def(
      "scaled_rows",
      [](nb::handle array, float scale, float shift) {
        return data::scaled_rows_of(from_numpy(array), scale, shift);
      },
      nb::arg("array"), nb::arg("scale"), nb::arg("shift"));
  nb::class_<data::Gatherer>(m, "Gatherer", "Gathers batches ahead, in a thread of its own.")
      .def(
          "__init__",
          [](data::Gatherer* self, const data::Columns& columns, int64_t ahead) {
            new (self) data::Gatherer(columns, ahead);
          },
          nb::arg("columns"), nb::arg("ahead"))
      .def(
          "submit",
          [](data::Gatherer& g, nb::handle indices, nb::object drawn) {
            g.submit(to_indices(indices), to_drawn(std::move(drawn)));
          },
          nb::arg("indices"), nb::arg("drawn") = nb::none())
      .def("next",
           [&progress](data::Gatherer& g) {
             data::Batch batch;
             {
               const GilReleased released;
               const Progress::Span span(&progress, Progress::Kind::kInput, kWaitsForBatch);
               batch = g.next();
             }
             return to_list(std::move(batch));
           })
      .def_prop_ro("under_way", &data::Gatherer::under_way);
  m.def(
      "to_lod_tensor", [](nb::handle array) { return from_numpy(array); }, nb::arg("array"),
      "An array as a tensor that shares its memory.");
  m.def(
      "draw_seed", [](Generator& generator) { return generator.next().at(0)[0]; },
      nb::arg("generator"), "A number of 32 bits from the generator of the process.");
  m.def("stack", &stack, nb::arg("samples"),
        "Arrays of one shape and dtype stacked into a tensor; None for anything else.");
}

// ---- batches from a thread that runs a user's generator

using Pass = data::Channel<data::Batch>;

void bind_queue(nb::module_& m, Progress& progress) {
  nb::class_<Pass>(m, "BatchChannel", "Batches between two threads, up to a capacity.")
      .def(nb::new_([](size_t capacity) { return std::make_shared<Pass>(capacity); }),
           nb::arg("capacity"))
      .def(
          "push",
          [](Pass& pass, nb::list tensors) {
            data::Batch batch;
            for (nb::handle tensor : tensors) batch.push_back(to_tensor(tensor));
            const GilReleased released;
            return pass.push(std::move(batch));
          },
          nb::arg("tensors"), "Waits while it is full. False: nobody reads any more.")
      .def("pop",
           [](Pass& pass) -> nb::object {
             std::optional<data::Batch> batch;
             {
               const GilReleased released;
               wait_for_batch(pass);
               batch = pass.pop();
             }
             return batch ? nb::object(to_list(*std::move(batch))) : nb::none();
           })
      .def("close", &Pass::close, nb::call_guard<GilReleased>())
      .def("cancel", &Pass::cancel, nb::call_guard<GilReleased>())
      .def("fail", &fail<data::Batch>, nb::arg("error"),
           "The reader gets this exception after what was pushed before.");

  using Handoff = data::Channel<Held>;
  nb::class_<Handoff>(m, "Handoff", "Any objects between two threads, up to a capacity.")
      .def(nb::init<size_t>(), nb::arg("capacity"))
      .def(
          "push",
          [](Handoff& channel, nb::handle object) {
            Held held = hold(object);
            const GilReleased released;
            return channel.push(std::move(held));
          },
          nb::arg("object").none(), "Waits while it is full. False: nobody reads any more.")
      .def("pop",
           [&progress](Handoff& channel) {
             std::optional<Held> held;
             {
               const GilReleased released;
               const Progress::Span span(&progress, Progress::Kind::kInput, kWaitsForBatch);
               wait_for_batch(channel);
               held = channel.pop();
             }
             if (!held) throw nb::stop_iteration();
             return nb::borrow(held->get());
           })
      .def("close", &Handoff::close, nb::call_guard<GilReleased>())
      .def("cancel", &Handoff::cancel, nb::call_guard<GilReleased>())
      .def("fail", &fail<Held>, nb::arg("error"),
           "The reader gets this exception after what was pushed before.");

  using data::BatchQueue;
  nb::class_<BatchQueue>(m, "BatchQueue", "What programs read from; see flotilla/data.")
      .def(
          nb::new_([](int64_t capacity) { return std::make_shared<BatchQueue>(capacity, listen); }),
          nb::arg("capacity"))
      .def("start",
           [](BatchQueue& queue) {
             const GilReleased released;
             return queue.start();
           })
      .def("reset", &BatchQueue::reset, nb::call_guard<GilReleased>())
      .def("size", &BatchQueue::size, "How many batches wait to be read.")
      .def("capacity", &BatchQueue::capacity, "How many batches may wait.");
  m.def(
      "set_reader",
      [](Scope& scope, std::string name, std::shared_ptr<BatchQueue> queue) {
        scope.set_reader(std::move(name), std::move(queue));
      },
      nb::arg("scope"), nb::arg("name"), nb::arg("queue"),
      "Programs that run in the scope read from the queue by this name.");
}

// ---- reader ops

void bind_readers(nb::module_& m) {
  m.def(
      "read_from_loader",
      [](nb::object vars, bool double_buffered) {
        mark_user_line();
        return layers::read_from_loader(to_names(vars), double_buffered);
      },
      nb::arg("vars"), nb::arg("double_buffered"));
  m.def(
      "create_py_reader",
      [](Block& block, const std::string& queue, const std::string& reader, nb::list slots) {
        mark_user_line(block.program());
        std::vector<ReaderSlot> made;
        std::vector<bool> checked;
        for (nb::handle slot : slots) {
          made.push_back(
              {to_dtype(slot[1]), to_shape(slot[0]), nb::cast<int32_t>(nb::object(slot[2]))});
          checked.push_back(nb::cast<bool>(nb::object(slot[3])));
        }
        layers::create_py_reader(block, queue, reader, made, checked);
      },
      nb::arg("block"), nb::arg("queue"), nb::arg("reader"), nb::arg("slots"),
      "Slots are (shape, dtype, lod_level, checked).");
  m.def("declare_reader", &layers::declare_reader, nb::arg("block"), nb::arg("var"));
  m.def(
      "double_buffer",
      [](Block& block, const std::string& under, const std::string& name) {
        mark_user_line(block.program());
        layers::double_buffer(block, under, name);
      },
      nb::arg("block"), nb::arg("under"), nb::arg("name"));
  m.def(
      "read",
      [](Block& block, const std::string& reader, nb::object outputs) {
        mark_user_line(block.program());
        layers::read(block, reader, to_names(outputs));
      },
      nb::arg("block"), nb::arg("reader"), nb::arg("outputs"));
  m.def(
      "reader_slots",
      [](const Var& var) {
        nb::list slots;
        for (const ReaderSlot& slot : var.reader) {
          slots.append(nb::make_tuple(from_shape(slot.shape), std::string(long_name_of(slot.dtype)),
                                      slot.lod_level));
        }
        return slots;
      },
      nb::arg("var"), "(shape, dtype, lod_level) of each slot of a reader.");
}

// ---- worker processes

void bind_workers(nb::module_& m) {
  using data::SharedBlocks;
  nb::class_<SharedBlocks>(m, "SharedBlocks", "Batches that worker processes wrote, in place.")
      .def(nb::init<>())
      .def("map", &SharedBlocks::map, nb::arg("block"), nb::arg("fd"), nb::arg("bytes"))
      .def(
          "take",
          [](SharedBlocks& blocks, int64_t block, nb::list arrays) {
            std::vector<SharedBlocks::Array> made;
            for (nb::handle array : arrays) {
              made.push_back({to_dtype(array[0]), to_shape(array[1]),
                              nb::cast<int64_t>(nb::object(array[2]))});
            }
            return to_list(blocks.take(block, made));
          },
          nb::arg("block"), nb::arg("arrays"), "Arrays are (dtype, shape, offset).")
      .def("returned", &SharedBlocks::returned);
  m.def("thread_limits", &thread_limits, "A sentence with the limits of threads and processes.");
  nb::class_<ProcessGroup>(m, "ProcessGroup", "Processes that end with this one.")
      .def(nb::init<>())
      .def_prop_ro("id", &ProcessGroup::id)
      .def_prop_ro("mark", &ProcessGroup::mark, "NAME=value, for the environment of the members.")
      .def_prop_ro("entrance", &ProcessGroup::entrance,
                   "The file to which members write \"0\" before they start anything, or \"\".")
      .def("end", &ProcessGroup::end, nb::call_guard<GilReleased>());
}

}  // namespace

void bind_loader(nb::module_& m, Progress& progress) {
  nb::exception<data::EndOfPass>(m, "EOFException", PyExc_Exception);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      PyObject* error = raised.error.get();
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
    }
  });
  bind_fields(m);
  bind_gather(m, progress);
  bind_queue(m, progress);
  bind_readers(m);
  bind_workers(m);
}

}  // namespace flotilla::python
