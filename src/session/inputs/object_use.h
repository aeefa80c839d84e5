// The uses of a parameter of an open type in the body of its function. Room-private.
#pragma once

#include <vector>

#include "rldb/ir/context.h"

namespace rldb::session {

// A call that is given the parameter, or what a cast or an in-place call made of it.
struct ObjectCall {
  std::string_view name;  // of a packed function
  std::size_t place = 0;  // the argument
  std::vector<const ir::Expr*> args;
};

struct ObjectUse {
  const ir::Type* cast = nullptr;  // the first match_cast, or the declared result that it becomes; null: none
  std::vector<ObjectCall> calls;   // in the order of the text, also in the functions that it is passed to
  bool only_passed_on = true;      // it goes into tuples and results, and nowhere else
};

// The type by which a value is generated if the annotation says less; null: it needs none, or there is none.
const ir::Type* type_it_is_used_as(const ir::Module* module, const ir::Function* f, const ir::Var* parameter);

ObjectUse use_of_object(const ir::Module* module, const ir::Function* f, const ir::Var* parameter);

}  // namespace rldb::session
