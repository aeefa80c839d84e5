// Helpers for writing a pass: functions of a module, dataflow blocks, calls and bindings.
//
// Nodes created by a pass record the node they come from (`origin`), so that the debugger finds the user's line.
// docs/building-on-rldb.md has a whole pass. Users: the passes, and programs that build on rldb.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/passes/pass.h"

namespace rldb::passes {

// ---- modules and functions ----
using FunctionFn = std::function<ir::Result<const ir::Function*>(std::string_view, const ir::Function*)>;
// Maps the Relax functions; shares the module when none changed.
ir::Result<const ir::Module*> map_functions(PassEnv& env, const ir::Module* module, const FunctionFn& f);
const ir::Function* with_body(ir::Context& ctx, const ir::Function* f, const ir::SeqExpr* body);

// ---- dataflow blocks (RFC 0089, 4.4) ----
// A block is pure and straight-line, so its contents may be rewritten regardless of effects and branches. The rest of
// the function sees a block by its definitions: the returned block must define the same variables that are
// visible outside it, and the same symbolic variables, or it is refused, naming them.
using DataflowBlockFn = std::function<ir::Result<const ir::BindingBlock*>(PassEnv& env, const ir::BindingBlock* block)>;
ir::Result<const ir::Module*> map_dataflow_blocks(PassEnv& env, const ir::Module* module, const DataflowBlockFn& f);

// ---- expressions ----
const ir::Call* as_call_of(const ir::Expr* e, std::string_view op);  // full operator name
// The same binding with another variable or value.
const ir::Binding* remake_binding(ir::Context& ctx, const ir::Binding* b, const ir::Var* var, const ir::Expr* value);
// A binding of a new variable with the value's type.
const ir::Binding* bind_new(ir::Context& ctx, std::string_view name, const ir::Expr* value, const ir::Node* origin);

}  // namespace rldb::passes
