// Objects that a stopped run holds: values of data types, tuples and closures, reachable from the registers of its
// frames through fields and captured values. For either machine. User: `heap objects`.
#pragma once

#include <string>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

struct HeapObject {
  int id = 0;                        // `o0`: in the order of discovery, innermost frame first
  std::string text;                  // `[1, 2, 3]`, `Node(...)`, a closure's function: on one line, cut short
  std::vector<std::string> fields;   // values; objects by id
  std::vector<std::string> held_by;  // registers (`xs`, `xs of #1`) and objects
};

struct HeapObjects {
  std::vector<HeapObject> list;
  bool complete = true;  // false: there are more than requested, or frames were left out
};

// At most `most` of them.
HeapObjects objects_of(const Debugger& debugger, std::size_t most);

}  // namespace rldb::debug
