#include "bind.h"
#include "flotilla/base/error.h"
#include "flotilla/data/shard.h"
#include "gil.h"
#include "owned_array.h"

namespace flotilla::python {
namespace {

nb::object to_array(std::vector<int64_t> numbers) {
  const size_t count = numbers.size();
  return owned_array(std::move(numbers), {count});
}

data::Tail to_tail(const std::string& word) {
  if (word == "drop") return data::Tail::kDrop;
  if (word == "pad") return data::Tail::kPad;
  if (word == "keep") return data::Tail::kKeep;
  refuse("tail must be \"drop\", \"pad\" or \"keep\", but is \"{}\"", word);
}

nb::tuple shard_samples(int64_t size, const data::ShardOptions& options) {
  data::SampleShard shard;
  {
    const GilReleased released;
    shard = data::shard_samples(size, options);
  }
  return nb::make_tuple(to_array(std::move(shard.indices)), std::move(shard.counts));
}

nb::tuple shard_files(const std::vector<int64_t>& samples_in_file,
                      const data::ShardOptions& options) {
  data::FileShard shard;
  {
    const GilReleased released;
    shard = data::shard_files(samples_in_file, options);
  }
  nb::list parts;
  for (const data::FilePart& part : shard.parts) {
    parts.append(nb::make_tuple(part.file, part.begin, part.count));
  }
  return nb::make_tuple(parts, std::move(shard.counts));
}

nb::object distributed_indices(int64_t size, int64_t rank, int64_t ranks, int64_t batch_size,
                               std::optional<uint32_t> shuffle_seed) {
  std::vector<int64_t> indices;
  {
    const GilReleased released;
    indices = data::distributed_indices(
        size,
        {.rank = rank, .ranks = ranks, .batch_size = batch_size, .shuffle_seed = shuffle_seed});
  }
  return to_array(std::move(indices));
}

void bind_options(nb::module_& m) {
  using data::ShardOptions;
  nb::class_<ShardOptions>(m, "ShardOptions", "How data is divided over the ranks of a job.")
      .def(
          "__init__",
          [](ShardOptions* made, int64_t rank, int64_t ranks, int64_t batch_size, bool drop_last,
             bool with_replacement, int64_t passes, bool shuffle, uint64_t seed, int64_t epoch,
             const std::string& tail, bool whole_files) {
            new (made) ShardOptions{.rank = rank,
                                    .ranks = ranks,
                                    .batch_size = batch_size,
                                    .drop_last = drop_last,
                                    .with_replacement = with_replacement,
                                    .passes = passes,
                                    .shuffle = shuffle,
                                    .seed = seed,
                                    .epoch = epoch,
                                    .tail = to_tail(tail),
                                    .whole_files = whole_files};
          },
          nb::kw_only(), nb::arg("rank"), nb::arg("ranks"), nb::arg("batch_size"),
          nb::arg("drop_last"), nb::arg("with_replacement"), nb::arg("passes"), nb::arg("shuffle"),
          nb::arg("seed"), nb::arg("epoch"), nb::arg("tail"), nb::arg("whole_files"))
      .def_ro("rank", &ShardOptions::rank)
      .def_ro("ranks", &ShardOptions::ranks)
      .def_rw("epoch", &ShardOptions::epoch);
}

void bind_counts(nb::module_& m) {
  using data::ShardCounts;
  nb::class_<ShardCounts>(m, "ShardCounts", "What every rank gets; the same value on every rank.")
      .def_ro("size", &ShardCounts::size, "Samples in the set.")
      .def_ro("passes", &ShardCounts::passes, "How many times the set is taken.")
      .def_ro("samples", &ShardCounts::samples, "Samples of each rank.")
      .def_ro("batches", &ShardCounts::batches, "Batches of each rank.")
      .def_ro("dropped", &ShardCounts::dropped, "Samples that no rank gets.")
      .def_ro("repeated", &ShardCounts::repeated, "Samples taken a second time to fill up.")
      .def("equal", &ShardCounts::equal, "Whether all ranks have the same counts.")
      .def("why_unequal", &ShardCounts::why_unequal, "One sentence, or nothing where equal.")
      .def("__str__", &ShardCounts::line)
      .def("__repr__", [](const ShardCounts& c) { return "ShardCounts(" + c.line() + ")"; });
}

}  // namespace

void bind_shard(nb::module_& m) {
  bind_options(m);
  bind_counts(m);
  m.def("shard_samples", &shard_samples, nb::arg("size"), nb::arg("options"),
        "Indices of this rank's samples and the counts of all ranks.");
  m.def("shard_files", &shard_files, nb::arg("samples_in_file"), nb::arg("options"),
        "(file, begin, count) for each part of a file that this rank reads, and the counts.");
  m.def("say_shard", &data::say_once, nb::arg("counts"), nb::arg("options"),
        "Says the counts in one line: on rank 0, in epoch 0.");
  m.def("file_block", &data::file_block, nb::arg("files"), nb::arg("rank"), nb::arg("ranks"),
        "Begin and end of this rank's block of a list of files.");
  m.def("distributed_indices", &distributed_indices, nb::arg("size"), nb::arg("rank"),
        nb::arg("ranks"), nb::arg("batch_size"), nb::arg("shuffle_seed") = nb::none(),
        "DistributedBatchSampler's samples of one rank; shuffled as numpy does with that seed.");
}

}  // namespace flotilla::python
