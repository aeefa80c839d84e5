// Rules about PrimFuncs: definitions and scopes (19, 20), blocks and loops (21), accesses (22).
#include <fmt/format.h>

#include "ir/verify/verifier_impl.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_verify.h"
#include "rldb/support/cancel.h"

namespace rldb::ir::verify_detail {

bool TirVerifier::deep() {
  if (depth_ < kMaxDepth) return false;
  if (!reported_deep_) report_.add(nullptr, diag::VerifyTooDeep, kMaxDepth);
  reported_deep_ = true;
  return true;
}

void TirVerifier::define(const Node* n, std::string_view name, bool again_ok) {
  if (!defined_.insert(n->id).second) {
    if (!again_ok) report_.add_var(n, diag::VerifyTirRedefined, name);
    return;
  }
  stack_.push_back(n->id);
}

void TirVerifier::leave(std::size_t mark) {
  while (stack_.size() > mark) {
    defined_.erase(stack_.back());
    stack_.pop_back();
  }
}

void TirVerifier::define_buffer(const Buffer* b) {
  define(b, b->name);
  if (b->data != nullptr) define(b->data, b->name, true);
}

// Parameters and match_buffer targets define the variables of their shapes.
void TirVerifier::define_free_vars(const Buffer* b) {
  std::vector<const Var*> vars;
  for (const Expr* e : b->shape) collect_vars(e, vars);
  for (const Expr* e : b->strides) collect_vars(e, vars);
  if (b->elem_offset != nullptr) collect_vars(b->elem_offset, vars);
  for (const Var* v : vars) define(v, v->name, true);
}

void TirVerifier::use_buffer(const Buffer* b) {
  if (defined(b)) return;
  report_.add_var(b, diag::VerifyTirUndefinedBuffer, b->name);
}

void TirVerifier::access(const Buffer* b, Span<const Expr*> indices, const Node* at) {
  use_buffer(b);
  if (indices.size() != b->shape.size())
    report_.add(at, diag::VerifyTirIndices, b->name, b->shape.size(), indices.size());
  for (const Expr* e : indices) expr(e);
}

void TirVerifier::region(const BufferRegion& r) {
  use_buffer(r.buffer);
  if (r.region.size() != r.buffer->shape.size())
    report_.add(nullptr, diag::VerifyTirIndices, r.buffer->name, r.buffer->shape.size(), r.region.size());
  for (const Range& range : r.region) {
    expr(range.min);
    expr(range.extent);
  }
}

void TirVerifier::expr(const Expr* e) {
  support::poll();
  if (e == nullptr || deep()) return;
  ++depth_;
  while (const auto* b = as<BinaryExpr>(e)) {  // left-deep chains are the deep ones
    expr(b->b);
    e = b->a;
  }
  std::size_t mark = stack_.size();
  if (const auto* v = as<Var>(e)) {
    if (!defined(v)) report_.add_var(v, diag::VerifyTirUndefinedVar, v->name);
  } else if (const auto* l = as<BufferLoad>(e)) {
    access(l->buffer, l->indices, e);
    expr(l->predicate);
  } else if (const auto* let = as<LetExpr>(e)) {
    expr(let->value);
    define(let->var, let->var->name, true);
    expr(let->body);
  } else if (const auto* r = as<CommReducer>(e)) {
    for (const Var* v : r->lhs) define(v, v->name);
    for (const Var* v : r->rhs) define(v, v->name);
    for (const Expr* x : r->results) expr(x);
    for (const Expr* x : r->identities) expr(x);
  } else if (const auto* fn = as<Lambda>(e)) {
    for (const Var* v : fn->params) define(v, v->name);
    for (const Expr* x : fn->results) expr(x);
  } else {
    for_each_use(e, [this](const Node* n) {
      if (const auto* x = as<Expr>(n)) expr(x);
    });
  }
  leave(mark);
  --depth_;
}

void TirVerifier::scoped(const Stmt* s) {
  support::poll();
  if (s == nullptr) return;
  std::size_t mark = stack_.size();
  stmt(s);
  leave(mark);
}

void TirVerifier::loop(const ForStmt* s) {
  expr(s->min);
  expr(s->extent);
  expr(s->step);
  if (s->min->dtype() != s->extent->dtype() || s->var->dtype() != s->extent->dtype())
    report_.add(
        s, diag::VerifyTirDomain,
        fmt::format("loop `{}` is {} but runs from {} over {}", s->var->name, runtime::to_string(s->var->dtype()),
                    runtime::to_string(s->min->dtype()), runtime::to_string(s->extent->dtype())));
  if (const auto* n = as<IntImm>(s->step); n != nullptr && n->value == 0)
    report_.add(s, diag::VerifyTirDomain, fmt::format("loop `{}` has the step {}", s->var->name, n->value));
  std::size_t mark = stack_.size();
  define(s->var, s->var->name);
  stmt(s->body);
  leave(mark);
}

void TirVerifier::block(const SBlock* b, const SBlockRealize* realize) {
  report_.at(realize != nullptr ? static_cast<const Node*>(realize) : b);
  if (realize != nullptr) {
    if (realize->iter_values.size() != b->iter_vars.size())
      report_.add(nullptr, diag::VerifyTirBlockValues, b->name, b->iter_vars.size(), realize->iter_values.size());
    for (const Expr* e : realize->iter_values) expr(e);
  }
  for (const IterVar& v : b->iter_vars) {
    expr(v.dom.min);
    expr(v.dom.extent);
    const auto* extent = as<IntImm>(v.dom.extent);
    if (extent != nullptr && extent->value < 0)
      report_.add(nullptr, diag::VerifyTirDomain,
                  fmt::format("axis `{}` of block `{}` has the extent {}", v.var->name, b->name, extent->value));
    if (!v.dom.extent->dtype().is_integral())
      report_.add(nullptr, diag::VerifyTirDomain,
                  fmt::format("axis `{}` of block `{}` runs over a {}", v.var->name, b->name,
                              runtime::to_string(v.dom.extent->dtype())));
  }
  std::size_t mark = stack_.size();
  for (const IterVar& v : b->iter_vars) define(v.var, v.var->name);
  if (realize != nullptr && realize->predicate != nullptr) {
    expr(realize->predicate);
    if (!realize->predicate->dtype().is_bool())
      report_.add(
          nullptr, diag::VerifyTirDomain,
          fmt::format("the predicate of block `{}` is {}", b->name, runtime::to_string(realize->predicate->dtype())));
  }
  for (const Buffer* x : b->alloc_buffers) {
    for (const Expr* e : x->shape) expr(e);
    define_buffer(x);
  }
  for (const MatchBufferRegion& m : b->match_buffers) {
    region(m.source);
    define_free_vars(m.buffer);
    define_buffer(m.buffer);
  }
  for (const BufferRegion& r : b->reads) region(r);
  for (const BufferRegion& r : b->writes) region(r);
  scoped(b->init);
  scoped(b->body);
  leave(mark);
}

void TirVerifier::stmt(const Stmt* s) {
  if (s == nullptr || deep()) return;
  ++depth_;
  const Node* outer = report_.here();
  report_.at(s);
  if (const auto* seq = as<SeqStmt>(s)) {
    for (const Stmt* x : seq->stmts) stmt(x);
  } else if (const auto* b = as<BindStmt>(s)) {
    expr(b->value);
    define(b->var, b->var->name);
  } else if (const auto* a = as<AttrStmt>(s)) {
    expr(a->value);
    std::size_t mark = stack_.size();
    if (a->thread_var != nullptr) define(a->thread_var, a->thread_var->name, true);
    stmt(a->body);
    leave(mark);
  } else if (const auto* a = as<AssertStmt>(s)) {
    expr(a->cond);
  } else if (const auto* x = as<BufferStore>(s)) {
    access(x->buffer, x->indices, s);
    expr(x->value);
    expr(x->predicate);
  } else if (const auto* x = as<AllocBuffer>(s)) {
    for (const Expr* e : x->buffer->shape) expr(e);
    define_buffer(x->buffer);
  } else if (const auto* x = as<DeclBuffer>(s)) {
    expr(x->data);
    for (const Expr* e : x->buffer->shape) expr(e);
    define_buffer(x->buffer);
  } else if (const auto* x = as<AllocateStmt>(s)) {
    for (const Expr* e : x->extents) expr(e);
    define(x->var, x->var->name);
  } else if (const auto* x = as<AllocateConstStmt>(s)) {
    define(x->var, x->var->name);
  } else if (const auto* x = as<ForStmt>(s)) {
    loop(x);
  } else if (const auto* x = as<WhileStmt>(s)) {
    expr(x->cond);
    scoped(x->body);
  } else if (const auto* x = as<IfThenElse>(s)) {
    expr(x->cond);
    scoped(x->then_case);
    scoped(x->else_case);
  } else if (const auto* x = as<Evaluate>(s)) {
    expr(x->value);
  } else if (const auto* x = as<SBlock>(s)) {
    block(x, nullptr);
  } else if (const auto* x = as<SBlockRealize>(s)) {
    block(x->block, x);
  }
  report_.at(outer);
  --depth_;
}

void TirVerifier::function(std::string_view name, const PrimFunc* f) {
  report_.at(f);
  if (f->type == nullptr) report_.add(f, diag::VerifyUntyped, fmt::format("function `{}`", name));
  for (const PrimParam& p : f->params)
    if (p.var != nullptr) define(p.var, p.var->name);
  for (const PrimParam& p : f->params) {
    if (p.buffer == nullptr) continue;
    define_free_vars(p.buffer);
    define_buffer(p.buffer);
  }
  stmt(f->body);
}

}  // namespace rldb::ir::verify_detail
