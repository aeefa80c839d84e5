// What the passes over TensorIR share: the PrimFuncs of a module, and copies of one with another body or attributes.
#pragma once

#include <functional>

#include "passes/common.h"
#include "rldb/ir/stmt.h"

namespace rldb::passes {

using PrimFuncFn = std::function<ir::Result<const ir::PrimFunc*>(std::string_view, const ir::PrimFunc*)>;
// Maps the PrimFuncs; shares the module when none changed.
ir::Result<const ir::Module*> map_prim_funcs(PassEnv& env, const ir::Module* module, const PrimFuncFn& f);
const ir::PrimFunc* with_body(ir::Context& ctx, const ir::PrimFunc* f, const ir::Stmt* body);
const ir::PrimFunc* with_attrs(ir::Context& ctx, const ir::PrimFunc* f, ir::Span<ir::NamedAttr> attrs);
const ir::PrimFunc* with_attr(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name, const ir::Attr* value);

// The statement that does nothing, as TVM writes it: T.evaluate(0).
const ir::Stmt* no_op(ir::Context& ctx);
bool is_no_op(const ir::Stmt* s);
// A statement below which threads run: a thread-bound loop, `thread_extent` or `virtual_thread`.
bool opens_threads(const ir::Stmt* s);
// Computing the expression twice, earlier or never makes no difference to anything but its value: no effect and no
// memory read.
bool is_pure_value(const ir::Expr* e);
// Leaving it out makes no difference but its value: no effect.
bool has_no_effect(const ir::Expr* e);

}  // namespace rldb::passes
