// KernelInliner: a PrimFunc's body with fresh buffers, variables and names.
#include "rldb/tir_passes/inline_kernel.h"

#include <algorithm>

namespace rldb::passes {

using namespace ir;

std::string UniqueNames::take(std::string_view wanted) {
  if (wanted.empty()) return {};
  const std::string base(wanted);
  int& next = next_[base];
  if (next++ == 0) return base;
  for (;; ++next) {
    const std::string name = base + separator_ + std::to_string(next - 1);
    if (next_.try_emplace(name, 1).second) return name;
  }
}

void KernelInliner::put_buffer(const Buffer* from, const Buffer* to) {
  remap_buffer(from, to);
  remap(from->data, to->data);
}

const Var* KernelInliner::renew(const Var* v) {
  const Var* made = ctx_.var(v->name, rewrite_type(v->type));
  ctx_.set_origin(made, v);
  remap(v, made);
  return made;
}

const Buffer* KernelInliner::renew(const Buffer* b, std::string_view name) {
  Buffer made = *b;
  made.name = ctx_.str(name);
  made.data = renew(b->data);
  const Buffer* copy = ctx_.buffer(made);
  ctx_.set_origin(copy, b);
  const Buffer* result = visit_buffer(copy);  // its shape in terms of the caller
  remap_buffer(b, result);
  return result;
}

// A declaration of memory that has a variable of its own elsewhere defines the buffer alone.
const Buffer* KernelInliner::renewed_view(const Buffer* b) {
  const Buffer* copy = ctx_.buffer(*b);
  ctx_.set_origin(copy, b);
  const Buffer* result = visit_buffer(copy);
  remap_buffer(b, result);
  return result;
}

// A node with fresh definitions, still over the old operands: the rewriter rewrites those afterwards.
const Stmt* KernelInliner::renewed(const Stmt* s) {
  switch (s->stmt_kind()) {
    case StmtKind::Bind: {
      const auto* b = static_cast<const BindStmt*>(s);
      const Expr* value = rewrite(b->value);  // before the name refers to the new variable
      return ctx_.bind(renew(b->var), value);
    }
    case StmtKind::Attr: {
      const auto* a = static_cast<const AttrStmt*>(s);
      return a->thread_var ? ctx_.attr_stmt(a->node, a->key, a->value, a->body, renew(a->thread_var)) : s;
    }
    case StmtKind::AllocBuffer: {
      const auto* a = static_cast<const AllocBuffer*>(s);
      return ctx_.alloc_buffer(renew(a->buffer, a->buffer->name), a->annotations);
    }
    case StmtKind::DeclBuffer: {
      const auto* d = static_cast<const DeclBuffer*>(s);
      const bool has_own_memory = !d->data || d->data != d->buffer->data;
      return ctx_.decl_buffer(has_own_memory ? renew(d->buffer, d->buffer->name) : renewed_view(d->buffer), d->data);
    }
    case StmtKind::Allocate: {
      const auto* a = static_cast<const AllocateStmt*>(s);
      return ctx_.allocate(renew(a->var), a->dtype, a->extents, a->scope, a->annotations);
    }
    case StmtKind::AllocateConst: {
      const auto* a = static_cast<const AllocateConstStmt*>(s);
      return ctx_.allocate_const(renew(a->var), *a->value);
    }
    case StmtKind::For: {
      const auto* f = static_cast<const ForStmt*>(s);
      return ctx_.for_stmt(renew(f->var), f->min, f->extent, f->for_kind, f->body, f->annotations, f->thread_tag,
                           f->step);
    }
    case StmtKind::SBlock:
      return renewed_block(static_cast<const SBlock*>(s));
    case StmtKind::Assert:
    case StmtKind::BufferStore:
    case StmtKind::While:
    case StmtKind::IfThenElse:
    case StmtKind::Seq:
    case StmtKind::Evaluate:
    case StmtKind::SBlockRealize:
      return s;  // defines nothing
  }
  RLDB_UNREACHABLE("not a statement: " + std::string(to_string(s->kind)));
}

const SBlock* KernelInliner::renewed_block(const SBlock* s) {
  SBlock made = *s;
  const std::string name = block_names_.take(s->name);
  made.name = ctx_.str(name);
  std::vector<IterVar> axes;
  for (const IterVar& v : s->iter_vars) axes.push_back({renew(v.var), v.dom, v.kind});
  made.iter_vars = axes;
  std::vector<const Buffer*> allocs;
  for (const Buffer* b : s->alloc_buffers) allocs.push_back(renew(b, b->name));
  made.alloc_buffers = allocs;
  std::vector<MatchBufferRegion> matches;
  for (const MatchBufferRegion& m : s->match_buffers) {
    // Its shape may define variables of its own.
    for (const Expr* d : m.buffer->shape)
      if (const auto* v = as<Var>(d); v && !has_scalar(v)) renew(v);
    matches.push_back({renew(m.buffer, m.buffer->name), m.source});
  }
  made.match_buffers = matches;
  return ctx_.sblock(made);
}

namespace {

// Two parameters may have become one buffer: the first region of each remains.
std::vector<BufferRegion> one_per_buffer(Span<BufferRegion> regions) {
  std::vector<BufferRegion> out;
  for (const BufferRegion& r : regions)
    if (std::none_of(out.begin(), out.end(), [&](const BufferRegion& o) { return o.buffer == r.buffer; }))
      out.push_back(r);
  return out;
}

}  // namespace

const Stmt* KernelInliner::visit_stmt(const Stmt* s) {
  const Stmt* made = default_stmt(renewed(s));
  const auto* block = as<SBlock>(made);
  if (!block) return made;
  const std::vector<BufferRegion> reads = one_per_buffer(block->reads);
  const std::vector<BufferRegion> writes = one_per_buffer(block->writes);
  if (reads.size() == block->reads.size() && writes.size() == block->writes.size()) return made;
  SBlock shorter = *block;
  shorter.reads = reads;
  shorter.writes = writes;
  return ctx_.sblock(shorter);
}

const Expr* KernelInliner::visit_expr(const Expr* e) {
  const auto* let = as<LetExpr>(e);
  if (!let) return Rewriter::visit_expr(e);
  const Expr* value = rewrite(let->value);
  const Var* var = renew(let->var);
  return ctx_.let(var, value, rewrite(let->body));
}

}  // namespace rldb::passes
