// ConvertSSA: each variable of PrimFuncs is defined once. A variable or buffer that is defined again gets a copy, which
// is used to the end of the scope of that definition. Threads may be launched several times with one variable.
#include "tir_passes/convert_ssa.h"

#include <unordered_set>

#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

class SingleDefinitions : public Rewriter {
 public:
  SingleDefinitions(Context& ctx, std::unordered_set<const Var*>& defined) : Rewriter(ctx), defined_(defined) {}

  void parameters(const PrimFunc* f) {
    for (const PrimParam& p : f->params) {
      defined_.insert(p.var);
      if (p.buffer) defined_.insert(p.buffer->data);
    }
  }

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* let = as<LetExpr>(e);
    if (!let) return default_expr(e);
    const Expr* value = rewrite(let->value);
    const std::size_t outer = undo_.size();
    const Var* var = defined(let->var);
    const Expr* body = rewrite(let->body);
    leave(outer);
    return var == let->var && value == let->value && body == let->body ? e : ctx_.let(var, value, body);
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    switch (s->stmt_kind()) {
      case StmtKind::Bind: {
        const auto* b = static_cast<const BindStmt*>(s);
        const Expr* value = rewrite(b->value);
        const Var* var = defined(b->var);
        return value == b->value && var == b->var ? s : ctx_.bind(var, value);
      }
      case StmtKind::AllocBuffer: {
        const auto* a = static_cast<const AllocBuffer*>(s);
        const Buffer* buffer = defined(a->buffer);
        return buffer == a->buffer ? s : ctx_.alloc_buffer(buffer, a->annotations);
      }
      case StmtKind::DeclBuffer: {
        const auto* d = static_cast<const DeclBuffer*>(s);
        return d->data ? default_stmt(s) : declared(d);
      }
      case StmtKind::Allocate: {
        const auto* a = static_cast<const AllocateStmt*>(s);
        const Var* var = defined(a->var);
        return default_stmt(var == a->var ? s : ctx_.allocate(var, a->dtype, a->extents, a->scope, a->annotations));
      }
      case StmtKind::For: {
        const auto* f = static_cast<const ForStmt*>(s);
        const Expr *min = rewrite(f->min), *extent = rewrite(f->extent);
        const std::size_t outer = undo_.size();
        const Var* var = defined(f->var);
        const Stmt* body = rewrite(f->body);
        leave(outer);
        if (var == f->var && min == f->min && extent == f->extent && body == f->body) return s;
        return ctx_.for_stmt(var, min, extent, f->for_kind, body ? body : no_op(ctx_), f->annotations, f->thread_tag,
                             f->step);
      }
      case StmtKind::SBlock:
        return block(static_cast<const SBlock*>(s));
      case StmtKind::Attr:
      case StmtKind::Seq:
      case StmtKind::While:
      case StmtKind::IfThenElse:
      case StmtKind::SBlockRealize: {
        const std::size_t outer = undo_.size();
        const Stmt* made = default_stmt(s);
        leave(outer);
        return made;
      }
      case StmtKind::Assert:
      case StmtKind::BufferStore:
      case StmtKind::AllocateConst:
      case StmtKind::Evaluate:
        return default_stmt(s);
    }
    return s;
  }

 private:
  // The variable itself at its first definition, else a copy.
  const Var* defined(const Var* v) {
    if (defined_.insert(v).second) return v;
    const Var* copy = ctx_.var(v->name, rewrite_type(v->type));
    ctx_.set_origin(copy, v);
    const auto known = vars_.find(v);
    undo_.push_back({v, known == vars_.end() ? nullptr : known->second, nullptr, nullptr});
    remap(v, copy);
    return copy;
  }

  const Buffer* defined(const Buffer* b) {
    const Var* data = defined(b->data);
    if (data == b->data) return visit_buffer(b);
    Buffer fields = *b;
    fields.data = data;
    const Buffer* copy = ctx_.buffer(fields);
    ctx_.set_origin(copy, b);
    const auto known = buffers_.find(b);
    undo_.push_back({nullptr, nullptr, b, known == buffers_.end() ? nullptr : known->second});
    remap_buffer(b, visit_buffer(copy));
    return buffers_.at(b);
  }

  const Stmt* declared(const DeclBuffer* d) {
    const Buffer* buffer = defined(d->buffer);
    return buffer == d->buffer ? d : ctx_.decl_buffer(buffer, nullptr);
  }

  const Stmt* block(const SBlock* b) {
    const std::size_t outer = undo_.size();
    SBlock fields = *b;
    std::vector<IterVar> axes;
    std::vector<const Buffer*> allocated;
    bool changed = false;
    for (const IterVar& v : b->iter_vars) {
      axes.push_back({defined(v.var), v.dom, v.kind});
      changed = changed || axes.back().var != v.var;
    }
    for (const Buffer* buffer : b->alloc_buffers) {
      allocated.push_back(defined(buffer));
      changed = changed || allocated.back() != buffer;
    }
    const Stmt* made = b;
    if (changed) {
      fields.iter_vars = ctx_.list(axes);
      fields.alloc_buffers = ctx_.list(allocated);
      made = ctx_.sblock(fields);
      ctx_.set_origin(made, b);
    }
    made = default_stmt(made);
    leave(outer);
    return made;
  }

  void leave(std::size_t outer) {
    for (; undo_.size() > outer; undo_.pop_back()) {
      const Undo& u = undo_.back();
      if (u.buffer) {
        if (u.known_buffer)
          buffers_[u.buffer] = u.known_buffer;
        else
          buffers_.erase(u.buffer);
      } else if (u.known) {
        vars_[u.var] = u.known;
      } else {
        vars_.erase(u.var);
      }
    }
  }

  struct Undo {
    const Var* var;
    const Expr* known;
    const Buffer* buffer;
    const Buffer* known_buffer;
  };
  std::unordered_set<const Var*>& defined_;
  std::vector<Undo> undo_;
};

bool defines_twice(const Stmt* body, std::unordered_set<const Var*> defined) {
  bool twice = false;
  const auto define = [&](const Var* v) { twice = !defined.insert(v).second || twice; };
  walk(body, [&](const Node* n) {
    if (const auto* b = as<BindStmt>(n)) define(b->var);
    if (const auto* f = as<ForStmt>(n)) define(f->var);
    if (const auto* l = as<LetExpr>(n)) define(l->var);
    if (const auto* a = as<AllocBuffer>(n)) define(a->buffer->data);
    if (const auto* a = as<AllocateStmt>(n)) define(a->var);
    if (const auto* d = as<DeclBuffer>(n); d && !d->data) define(d->buffer->data);
    if (const auto* b = as<SBlock>(n)) {
      for (const IterVar& v : b->iter_vars) define(v.var);
      for (const Buffer* buffer : b->alloc_buffers) define(buffer->data);
    }
    return !twice;
  });
  return twice;
}

}  // namespace

const Stmt* single_definitions(Context& ctx, const PrimFunc* f, const Stmt* body) {
  std::unordered_set<const Var*> defined;
  SingleDefinitions ssa(ctx, defined);
  ssa.parameters(f);
  return body && defines_twice(body, defined) ? ssa.rewrite(body) : body;
}

Result<const Module*> convert_ssa(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, single_definitions(env.ctx, f, f->body));
  });
}

}  // namespace rldb::passes
