// Rewriter over TensorIR statements and buffers.
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {

const Stmt* Rewriter::rewrite(const Stmt* s) {
  if (s == nullptr) return nullptr;
  support::poll();
  const std::uint32_t first_new = ctx_.node_count() + 1;
  const Stmt* made = visit_stmt(s);
  record(made, s, first_new);
  return made;
}

const Stmt* Rewriter::visit_stmt(const Stmt* s) { return default_stmt(s); }

namespace {

// The body of something whose body was deleted.
const Stmt* or_nothing(Context& ctx, const Stmt* s) { return s ? s : ctx.evaluate(ctx.i32(0)); }

}  // namespace

const Stmt* Rewriter::rebuild_seq(const SeqStmt* s) {
  std::vector<const Stmt*> out;
  out.reserve(s->stmts.size());
  bool changed = false;
  for (const Stmt* inner : s->stmts) {
    const Stmt* made = rewrite(inner);
    changed = changed || made != inner;
    if (made) out.push_back(made);
  }
  return changed ? ctx_.seq_stmt(out) : s;
}

const Stmt* Rewriter::rebuild_for(const ForStmt* s) {
  const Expr *min = rewrite(s->min), *extent = rewrite(s->extent), *step = rewrite(s->step);
  const Span<NamedAttr> annotations = rewrite_attrs(s->annotations);
  const Var* var = define_var(s->var);
  const Stmt* body = rewrite(s->body);
  if (min == s->min && extent == s->extent && step == s->step && var == s->var && body == s->body &&
      annotations.data() == s->annotations.data())
    return s;
  return ctx_.for_stmt(var, min, extent, s->for_kind, or_nothing(ctx_, body), annotations, s->thread_tag, step);
}

BufferRegion Rewriter::rewrite_region(const BufferRegion& r, bool& changed) {
  const Buffer* buffer = visit_buffer(r.buffer);
  bool here = buffer != r.buffer;
  std::vector<Range> ranges;
  ranges.reserve(r.region.size());
  for (const Range& x : r.region) {
    ranges.push_back({rewrite(x.min), rewrite(x.extent)});
    here = here || ranges.back().min != x.min || ranges.back().extent != x.extent;
  }
  if (!here) return r;
  changed = true;
  return {buffer, ctx_.list(ranges)};
}

bool Rewriter::rewrite_regions(Span<BufferRegion> from, std::vector<BufferRegion>& to) {
  bool changed = false;
  to.reserve(from.size());
  for (const BufferRegion& r : from) to.push_back(rewrite_region(r, changed));
  return changed;
}

// Definitions first: axes, allocations and matches are visible in the regions, the init and the body.
const Stmt* Rewriter::rebuild_block(const SBlock* s) {
  bool changed = false;
  std::vector<IterVar> axes;
  for (const IterVar& v : s->iter_vars) {
    IterVar made{nullptr, {rewrite(v.dom.min), rewrite(v.dom.extent)}, v.kind};
    made.var = define_var(v.var);
    changed = changed || made.var != v.var || made.dom.min != v.dom.min || made.dom.extent != v.dom.extent;
    axes.push_back(made);
  }
  std::vector<const Buffer*> allocs;
  for (const Buffer* b : s->alloc_buffers) {
    allocs.push_back(visit_buffer(b));
    changed = changed || allocs.back() != b;
  }
  std::vector<MatchBufferRegion> matches;
  for (const MatchBufferRegion& m : s->match_buffers) {
    MatchBufferRegion made{nullptr, rewrite_region(m.source, changed)};
    made.buffer = visit_buffer(m.buffer);
    changed = changed || made.buffer != m.buffer;
    matches.push_back(made);
  }
  std::vector<BufferRegion> reads, writes;
  changed = rewrite_regions(s->reads, reads) || changed;
  changed = rewrite_regions(s->writes, writes) || changed;
  const Span<NamedAttr> annotations = rewrite_attrs(s->annotations);
  const Stmt* init = rewrite(s->init);
  const Stmt* body = rewrite(s->body);
  if (!changed && annotations.data() == s->annotations.data() && init == s->init && body == s->body) return s;
  SBlock made = *s;
  made.iter_vars = axes;
  made.alloc_buffers = allocs;
  made.match_buffers = matches;
  made.reads = reads;
  made.writes = writes;
  made.annotations = annotations;
  made.init = init;
  made.body = or_nothing(ctx_, body);
  return ctx_.sblock(made);
}

const Stmt* Rewriter::default_stmt(const Stmt* stmt) {
  std::vector<const Expr*> items;
  switch (stmt->stmt_kind()) {
    case StmtKind::Bind: {
      const auto* s = static_cast<const BindStmt*>(stmt);
      const Expr* value = rewrite(s->value);
      const Var* var = define_var(s->var);
      return value == s->value && var == s->var ? s : ctx_.bind(var, value);
    }
    case StmtKind::Attr: {
      const auto* s = static_cast<const AttrStmt*>(stmt);
      const Expr* value = rewrite(s->value);
      const Var* thread = s->thread_var ? define_var(s->thread_var) : nullptr;
      const Attr* node = rewrite_attr(s->node);
      const Stmt* body = rewrite(s->body);
      if (value == s->value && thread == s->thread_var && node == s->node && body == s->body) return s;
      return ctx_.attr_stmt(node, s->key, value, or_nothing(ctx_, body), thread);
    }
    case StmtKind::Assert: {
      const auto* s = static_cast<const AssertStmt*>(stmt);
      const Expr* cond = rewrite(s->cond);
      return cond == s->cond ? s : ctx_.assert_stmt(cond, s->error_kind, s->message_parts);
    }
    case StmtKind::BufferStore: {
      const auto* s = static_cast<const BufferStore*>(stmt);
      const Buffer* buffer = visit_buffer(s->buffer);
      const Expr* value = rewrite(s->value);
      const bool changed = rewrite_list(s->indices, items);
      const Expr* predicate = rewrite(s->predicate);
      if (!changed && buffer == s->buffer && value == s->value && predicate == s->predicate) return s;
      return ctx_.store(buffer, value, items, predicate);
    }
    case StmtKind::AllocBuffer: {
      const auto* s = static_cast<const AllocBuffer*>(stmt);
      const Buffer* buffer = visit_buffer(s->buffer);
      const Span<NamedAttr> annotations = rewrite_attrs(s->annotations);
      if (buffer == s->buffer && annotations.data() == s->annotations.data()) return s;
      return ctx_.alloc_buffer(buffer, annotations);
    }
    case StmtKind::DeclBuffer: {
      const auto* s = static_cast<const DeclBuffer*>(stmt);
      const Expr* data = rewrite(s->data);
      const Buffer* buffer = visit_buffer(s->buffer);
      return data == s->data && buffer == s->buffer ? s : ctx_.decl_buffer(buffer, data);
    }
    case StmtKind::Allocate: {
      const auto* s = static_cast<const AllocateStmt*>(stmt);
      const bool changed = rewrite_list(s->extents, items);
      const Var* var = define_var(s->var);
      const Span<NamedAttr> annotations = rewrite_attrs(s->annotations);
      if (!changed && var == s->var && annotations.data() == s->annotations.data()) return s;
      return ctx_.allocate(var, s->dtype, items, s->scope, annotations);
    }
    case StmtKind::AllocateConst: {
      const auto* s = static_cast<const AllocateConstStmt*>(stmt);
      const Var* var = define_var(s->var);
      return var == s->var ? s : ctx_.allocate_const(var, *s->value);
    }
    case StmtKind::For:
      return rebuild_for(static_cast<const ForStmt*>(stmt));
    case StmtKind::While: {
      const auto* s = static_cast<const WhileStmt*>(stmt);
      const Expr* cond = rewrite(s->cond);
      const Stmt* body = rewrite(s->body);
      return cond == s->cond && body == s->body ? s : ctx_.while_stmt(cond, or_nothing(ctx_, body));
    }
    case StmtKind::IfThenElse: {
      const auto* s = static_cast<const IfThenElse*>(stmt);
      const Expr* cond = rewrite(s->cond);
      const Stmt *then_case = rewrite(s->then_case), *else_case = rewrite(s->else_case);
      if (cond == s->cond && then_case == s->then_case && else_case == s->else_case) return s;
      return ctx_.if_stmt(cond, or_nothing(ctx_, then_case), else_case);
    }
    case StmtKind::Seq:
      return rebuild_seq(static_cast<const SeqStmt*>(stmt));
    case StmtKind::Evaluate: {
      const auto* s = static_cast<const Evaluate*>(stmt);
      const Expr* value = rewrite(s->value);
      return value == s->value ? s : ctx_.evaluate(value);
    }
    case StmtKind::SBlock:
      return rebuild_block(static_cast<const SBlock*>(stmt));
    case StmtKind::SBlockRealize: {
      const auto* s = static_cast<const SBlockRealize*>(stmt);
      const bool changed = rewrite_list(s->iter_values, items);
      const Expr* predicate = rewrite(s->predicate);
      const Stmt* block = rewrite(static_cast<const Stmt*>(s->block));
      if (!changed && predicate == s->predicate && block == s->block) return s;
      // A hook may put other statements in the block's place.
      const auto* b = as<SBlock>(block);
      return b ? ctx_.realize(items, predicate, b) : block;
    }
  }
  RLDB_UNREACHABLE("not a statement: " + std::string(to_string(stmt->kind)));
}

// A buffer whose shape, offset or data changed becomes a new one, once; its accesses follow.
const Buffer* Rewriter::visit_buffer(const Buffer* b) {
  if (b == nullptr) return nullptr;
  if (const auto found = buffers_.find(b); found != buffers_.end()) return found->second;
  std::vector<const Expr*> shape, strides, separators;
  bool changed = type_dims(b->shape, shape);
  changed = type_dims(b->strides, strides) || changed;
  changed = type_dims(b->axis_separators, separators) || changed;
  const Expr* offset = b->elem_offset ? type_expr(b->elem_offset) : nullptr;
  const auto* data = as<Var>(visit_var(b->data));
  if (data == nullptr) data = b->data;  // a pointer expression in its place is left to whoever put it there
  if (!changed && offset == b->elem_offset && data == b->data) return b;
  Buffer made = *b;
  made.shape = shape;
  made.strides = strides;
  made.axis_separators = separators;
  made.elem_offset = offset;
  made.data = data;
  const Buffer* result = ctx_.buffer(made);
  record(result, b, 0);
  remap_buffer(b, result);
  return result;
}

const PrimFunc* Rewriter::rewrite_prim_func(const PrimFunc* f) {
  const std::uint32_t first_new = ctx_.node_count() + 1;
  std::vector<PrimParam> params;
  params.reserve(f->params.size());
  bool changed = false;
  for (const PrimParam& p : f->params) {
    params.push_back({define_var(p.var), nullptr});
    changed = changed || params.back().var != p.var;
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    params[i].buffer = visit_buffer(f->params[i].buffer);
    changed = changed || params[i].buffer != f->params[i].buffer;
  }
  const Type* ret_type = rewrite_type(f->ret_type);
  const Span<NamedAttr> attrs = rewrite_attrs(f->attrs);
  const Stmt* body = rewrite(f->body);
  if (!changed && ret_type == f->ret_type && attrs.data() == f->attrs.data() && body == f->body) return f;
  const PrimFunc* made = ctx_.prim_func(params, ret_type, or_nothing(ctx_, body), attrs, f->s_tir);
  record(made, f, first_new);
  return made;
}

}  // namespace rldb::ir
