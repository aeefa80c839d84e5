// The parts of two versions of a function that compute one variable from the same others.
//
// Each part is the variable's binding, and the bindings before it as far back as variables that both versions have
// under one name and type. Where they read different ones of these (one was replaced by an equal one, or fused away),
// the parts reach further back, to the parameters at last. Room-private.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "rldb/ir/module.h"

namespace rldb::repro {

// A part of a function: the last binding has its value.
struct CutPart {
  std::vector<const ir::Binding*> bindings;
  std::vector<const ir::Var*> values, symbols;  // that it reads; in both parts in the same order
};

struct CutAt {
  const ir::Module* module = nullptr;
  const ir::Function* function = nullptr;
  const ir::Binding* binding = nullptr;
};

enum class CutReach : std::uint8_t { Near, Parameters };
std::optional<std::pair<CutPart, CutPart>> common_cut(const CutAt& good, const CutAt& bad, CutReach reach);

// A function of values only: a call with effects or of something outside may not be repeated.
bool is_pure_call(const ir::Module* module, const ir::Expr* value);
// The functions of the module that a call names, itself or as the kernel of an indirect call.
std::vector<const ir::Expr*> called_functions(const ir::Module* module, const ir::Expr* value);

}  // namespace rldb::repro
