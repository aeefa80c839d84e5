// Places inside a kernel: from the user's notation to probes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "debug/kernel/instrument.h"
#include "debug/kernel/text.h"
#include "rldb/source/diagnostic.h"

namespace rldb::debug {

struct KernelPlace {
  std::string kernel;
  const ir::PrimFunc* function = nullptr;
  std::vector<Probe> probes;
  std::string text;                  // where it stops, for listings
  std::string file;                  // the user's file, to which the lines refer; empty: the printed kernel
  std::vector<std::uint32_t> lines;  // of the statements with probes, each once
  std::vector<bytecode::Pc> calls;   // the instructions that call the kernel
};

// In a kernel: a line of its text, a block axis or loop variable (each new value), a buffer (before each write), a
// block (each entry). Null: `problem` explains why.
std::shared_ptr<KernelPlace> find_place(const KernelText& text, std::string_view said,
                                        std::optional<source::Message>& problem);

}  // namespace rldb::debug
