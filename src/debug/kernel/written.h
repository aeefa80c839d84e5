// Which of its parameters a kernel writes, directly or through match_buffer. Users: catchpoints, costs.
#pragma once

#include <unordered_map>
#include <vector>

#include "rldb/ir/expr.h"
#include "rldb/ir/stmt.h"

namespace rldb::debug {

// The buffers that blocks match to parts of others, by their pointers.
class MatchedParts {
 public:
  explicit MatchedParts(const ir::Stmt* body);
  const ir::Var* whole(const ir::Var* data) const;  // itself, if it is no part

 private:
  std::unordered_map<const ir::Var*, const ir::Var*> wholes_;
};

std::vector<bool> written_parameters(const ir::PrimFunc* f);

}  // namespace rldb::debug
