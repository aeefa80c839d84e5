// Helpers for the bodies of externs: loops, cells, calls of packed functions.
#pragma once

#include "ops/legal/util.h"

namespace rldb::ops::legal {

using Buffers = std::span<const ir::Buffer* const>;

// The indices of element `flat` of a tensor, counted row by row.
ExprList unravel(ir::Context& ctx, const Expr* flat, std::span<const Expr* const> shape);
// A serial loop nest over a shape.
const ir::Stmt* nest(ir::Context& ctx, std::span<const Expr* const> shape,
                     const std::function<const ir::Stmt*(const ExprList&)>& body);

inline constexpr std::string_view kScopePragma = "pragma_scope";

class Writer {
 public:
  explicit Writer(ir::Context& ctx) : ctx(ctx) {}
  ir::Context& ctx;

  // TVM's mark that statements are in order, parallel loops among them.
  const ir::Stmt* in_order(const ir::Stmt* body) {
    return ctx.attr_stmt(ctx.attr(0), kScopePragma, ctx.string("seq"), body);
  }
  using Body = std::function<const ir::Stmt*(const Expr* i)>;
  const ir::Stmt* loop(std::string_view name, const Expr* extent, const Body& body,
                       ir::ForKind kind = ir::ForKind::Serial);
  const ir::Stmt* when(const Expr* cond, const ir::Stmt* then_case, const ir::Stmt* else_case = nullptr) {
    return ctx.if_stmt(cond, then_case, else_case);
  }
  const ir::Stmt* seq(std::initializer_list<const ir::Stmt*> parts) {
    return ctx.seq_stmt(std::span<const ir::Stmt* const>(parts.begin(), parts.size()));
  }
  const Expr* load(const ir::Buffer* b, std::initializer_list<const Expr*> at) {
    return ctx.load(b, std::span<const Expr* const>(at.begin(), at.size()));
  }
  // The value is converted to the dtype of the buffer.
  const ir::Stmt* store(const ir::Buffer* b, const Expr* value, std::initializer_list<const Expr*> at) {
    return ctx.store(b, ir::cast_to(ctx, b->dtype, value), std::span<const Expr* const>(at.begin(), at.size()));
  }
  // A cell: a local variable of one element. `declare` goes before its uses.
  const ir::Buffer* cell(std::string_view name, DType t);
  const ir::Stmt* declare(const ir::Buffer* cell) { return ctx.alloc_buffer(cell); }
  const Expr* get(const ir::Buffer* cell) { return load(cell, {ctx.i64(0)}); }
  const ir::Stmt* set(const ir::Buffer* cell, const Expr* value) { return store(cell, value, {ctx.i64(0)}); }

  // A packed function on whole buffers and scalars.
  const ir::Stmt* call_packed(std::string_view name, std::span<const Expr* const> args);
  const Expr* whole(const ir::Buffer* b) { return whole(b, b->shape); }
  const Expr* whole(const ir::Buffer* b, std::span<const Expr* const> shape);
};

// Externs whose buffers are passed to a packed function are aligned as in TVM.
inline constexpr te::ExternMemory kPackedMemory{.alignment = 8};
// Inputs of externs that declare no buffers for them may begin anywhere in their memory.
inline constexpr te::ExternMemory kOpenInputs{.any_offset = true};

}  // namespace rldb::ops::legal
