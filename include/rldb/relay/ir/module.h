// A Relay module: definitions of types and functions, each sorted by name, as TVM prints them. Immutable.
#pragma once

#include <string_view>

#include "rldb/relay/ir/expr.h"

namespace rldb::relay {

struct TypeDefinition {
  std::string_view name;
  Span<const TypeVar*> params;
  Span<const Constructor*> constructors;
};

struct Definition {
  const GlobalVar* name;
  const Function* function;
};

struct Module {
  Span<const TypeDefinition*> types;
  Span<Definition> functions;
  const Expr* body = nullptr;  // a text that is one expression has this and no definitions

  const TypeDefinition* find_type(std::string_view name) const;
  const Function* find(std::string_view name) const;
};

}  // namespace rldb::relay
