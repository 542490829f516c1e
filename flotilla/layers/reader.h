// flotilla/layers/reader.h
//
// The ops by which a program takes its batches from a loader (ops/io/reader.cc). A run finds the
// loader in its scope, by the reader's name: Scope::set_reader().

#pragma once

#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::layers {

// Declares the reader `reader` of these slots in `block`, and appends what creates it from `queue`.
// `checked`: whether a batch must be as the slots say, for each of them.
void create_py_reader(Block& block, const std::string& queue, const std::string& reader,
                      const std::vector<ReaderSlot>& slots, const std::vector<bool>& checked);

// Declares a reader of the same slots as `var`, a reader of another program or block.
void declare_reader(Block& block, const Var& var);

// Appends a reader that is one batch ahead of `under`.
void double_buffer(Block& block, const std::string& under, const std::string& name);

// Appends the read into `outputs`, which exist.
void read(Block& block, const std::string& reader, const std::vector<std::string>& outputs);

// All of it at the end of the main program, for variables that are there, as
// DataLoader.from_generator(iterable=False) does; returns the reader's name, which no other reader
// of the process has.
std::string read_from_loader(const std::vector<std::string>& outputs, bool double_buffered = true);

}  // namespace flotilla::layers
