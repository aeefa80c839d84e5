// Names and types of generated OpenCL C. Room-private.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/stmt.h"

namespace rldb::codegen {

// Names of variables and buffers that are unique in a program, close to those of the text.
class CNames {
 public:
  const std::string& of(const ir::Node* n, std::string_view wanted);
  std::string fresh(std::string_view wanted);

 private:
  std::unordered_map<const ir::Node*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

// A type that values are computed in: `float` for float32 and the narrower formats that there are. Empty: there is
// none.
std::string_view value_type(ir::DType t);
// A type that elements of memory have. Halves are `ushort`, and read and written by functions of their own.
std::string_view memory_type(ir::DType t);
std::string_view unsigned_type(ir::DType t);  // of integers of 32 and 64 bits

bool is_half(ir::DType t);
// Whether each result has to be rounded to the format.
bool is_rounded(ir::DType t);

std::string int_literal(std::int64_t value, ir::DType t);
std::string float_literal(double value, ir::DType t);

// Without the parentheses around the whole.
std::string bare(std::string text);

}  // namespace rldb::codegen
