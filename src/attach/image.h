// The libraries of `rldb build` in a process: found by their marks in the memory that their files have in it.
#pragma once

#include <memory>

#include "attach/layout.h"
#include "rldb/bytecode/executable.h"

namespace rldb::attach {

struct Image {
  Address at = 0;  // of its struct Library
  Address watched = 0;
  std::string path;
  std::shared_ptr<const bytecode::Executable> program;
};

// `problem`: of the last library that could not be read; empty: none.
std::vector<Image> find_images(const Memory& memory, const Mappings& mappings, std::string& problem);

}  // namespace rldb::attach
