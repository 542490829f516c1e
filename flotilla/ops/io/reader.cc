// flotilla/ops/io/reader.cc
//
// create_py_reader, create_double_buffer_reader, read: how a program says that it takes its batches
// from a loader instead of a feed.
//
//     queue --create_py_reader--> r --create_double_buffer_reader--> b --read--> x, y
//
// They have no kernels. Before a run the executor takes a batch from the reader of that name
// (runtime/reads.h) and feeds what `read` writes; reading ahead is the loader's affair.

#include "flotilla/op/op_def.h"

namespace flotilla::ops {
namespace {

using Numbers = std::vector<int32_t>;

const OpDef& create_py_reader = define_op({
    .type = "create_py_reader",
    .doc = "A reader of the batches that a loader puts into a queue.",
    .inputs = {{"blocking_queue", "name of the queue", false, false, true}},
    .outputs = {{"Out", "the reader"}},
    .attrs = {{"shape_concat", Numbers{}, "extents of all slots, concatenated"},
              {"ranks", Numbers{}, "how many of them belong to each slot"},
              {"lod_levels", Numbers{}, "of each slot"},
              {"dtypes", Numbers{}, "of each slot, Paddle's codes"},
              {"need_check_feed", Numbers{}, "whether a slot must be as declared"},
              {"use_data_config", true, "the attributes describe the slots"},
              {"device_index", int32_t{0}, "which device reads"},
              {"device_count", int32_t{1}, "how many devices read"}},
});

const OpDef& create_double_buffer_reader = define_op({
    .type = "create_double_buffer_reader",
    .doc = "A reader that is one batch ahead of another.",
    .inputs = {{"UnderlyingReader", "the other reader", false, false, true}},
    .outputs = {{"Out", "the reader"}},
    .attrs = {{"place", std::string("AUTO"), "where batches are kept"}},
});

const OpDef& read = define_op({
    .type = "read",
    .doc = "The next batch of a reader; at the end of a pass the run ends with EOFException.",
    .inputs = {{"Reader", "the reader", false, false, true}},
    .outputs = {{"Out", "a variable for each slot", false, true}},
    .attrs = {{"throw_eof_exp", true, "report the end of a pass"},
              {"infer_out", true, "the outputs are as the reader's slots"},
              {"drop_last", true, "leave out batches that do not go round all devices"}},
});

}  // namespace
}  // namespace flotilla::ops
