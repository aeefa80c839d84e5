// Helpers shared by the passes over TensorIR: the PrimFuncs of a module, and copies with another body or attributes.
#pragma once

#include <functional>

#include "rldb/ir/stmt.h"
#include "rldb/tir_passes/helpers.h"
#include "rldb/tir_passes/pass_env.h"

namespace rldb::passes {

using PrimFuncFn = std::function<ir::Result<const ir::PrimFunc*>(std::string_view, const ir::PrimFunc*)>;
// Maps the PrimFuncs; shares the module when none changed.
ir::Result<const ir::Module*> map_prim_funcs(PassEnv& env, const ir::Module* module, const PrimFuncFn& f);
const ir::PrimFunc* with_body(ir::Context& ctx, const ir::PrimFunc* f, const ir::Stmt* body);
const ir::PrimFunc* with_attrs(ir::Context& ctx, const ir::PrimFunc* f, ir::Span<ir::NamedAttr> attrs);
const ir::PrimFunc* with_attr(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name, const ir::Attr* value);

// A statement that does nothing, as TVM writes it: T.evaluate(0).
const ir::Stmt* no_op(ir::Context& ctx);
bool is_no_op(const ir::Stmt* s);
// Whether the allocation has no annotations but those that LowerOpaqueBlock gives every one.
bool is_plain_allocation(const ir::AllocBuffer* a);
// Whether threads run below the statement: a thread-bound loop, `thread_extent` or `virtual_thread`.
bool opens_threads(const ir::Stmt* s);
// Whether computing the expression twice, earlier or never affects nothing but its value: it has no effect and reads no
// memory.
bool is_pure_value(const ir::Expr* e);
// Whether leaving it out affects nothing but its value: it has no effect.
bool has_no_effect(const ir::Expr* e);

}  // namespace rldb::passes
