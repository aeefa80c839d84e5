// Moves of the reducer that simplify kernels: drop statements and annotations, decide conditionals, run loops of
// reductions once, replace expressions by an operand or by a small number.
#include <algorithm>
#include <unordered_set>

#include "repro/reduce/moves.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;

namespace {

// Replaces one statement or expression by another; a statement without a substitute is dropped.
class Swap : public ir::Rewriter {
 public:
  Swap(ir::Context& ctx, const ir::Node* from, const ir::Node* to) : Rewriter(ctx), from_(from), to_(to) {}

 private:
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    if (s == from_) return to_ ? rewrite(as<ir::Stmt>(to_)) : nullptr;
    return default_stmt(s);
  }
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    if (e == from_ && to_) return rewrite(as<ir::Expr>(to_));
    return default_expr(e);
  }
  const ir::Node* from_;
  const ir::Node* to_;
};

// Reads one buffer in place of another, whose only writer is dropped with its memory.
class Bypass : public ir::Rewriter {
 public:
  Bypass(ir::Context& ctx, const ir::Stmt* writer, const ir::Buffer* from, const ir::Buffer* to)
      : Rewriter(ctx), writer_(writer), from_(from) {
    remap_buffer(from, to);
  }

 private:
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    const auto* made = as<ir::AllocBuffer>(s);
    if (s == writer_ || (made && made->buffer == from_)) return nullptr;
    const auto* block = as<ir::SBlock>(s);
    if (!block) return default_stmt(s);
    std::vector<const ir::Buffer*> kept;
    for (const ir::Buffer* b : block->alloc_buffers)
      if (b != from_) kept.push_back(b);
    if (kept.size() == block->alloc_buffers.size()) return default_stmt(s);
    ir::SBlock fields = *block;
    fields.alloc_buffers = ctx_.list(std::span<const ir::Buffer* const>(kept));
    return default_stmt(ctx_.sblock(fields));
  }
  const ir::Stmt* writer_;
  const ir::Buffer* from_;
};

using Buffers = std::unordered_set<const ir::Var*>;

Buffers written(const ir::Stmt* body) {
  Buffers out;
  ir::walk(body, [&](const ir::Node* n) {
    if (const auto* store = as<ir::BufferStore>(n)) out.insert(store->buffer->data);
    return true;
  });
  return out;
}

// Buffers that are read, or returned, must still be written: a kernel must not leave its memory unwritten.
bool writes_what_is_needed(const ir::PrimFunc* before, const ir::PrimFunc* after) {
  const Buffers old = written(before->body), now = written(after->body);
  Buffers needed;
  for (const ir::PrimParam& p : after->params)
    if (p.buffer) needed.insert(p.buffer->data);
  ir::walk(after->body, [&](const ir::Node* n) {
    if (const auto* load = as<ir::BufferLoad>(n)) needed.insert(load->buffer->data);
    return true;
  });
  return std::all_of(needed.begin(), needed.end(),
                     [&](const ir::Var* v) { return !old.contains(v) || now.contains(v); });
}

// A loop variable that only counts the steps of a reduction: no element's position depends on it.
bool only_reduces(const ir::ForStmt* loop) {
  bool fine = true, used = false;
  const auto mentions = [&](const ir::Expr* e) {
    std::vector<const ir::Var*> vars;
    ir::collect_vars(e, vars);
    return std::find(vars.begin(), vars.end(), loop->var) != vars.end();
  };
  ir::walk(loop->body, [&](const ir::Node* n) {
    if (const auto* r = as<ir::SBlockRealize>(n))
      for (std::size_t i = 0; i < r->iter_values.size(); ++i)
        if (mentions(r->iter_values[i])) {
          used = true;
          fine = fine && r->block->iter_vars[i].kind == ir::IterKind::Reduce;
        }
    if (const auto* store = as<ir::BufferStore>(n))
      for (const ir::Expr* index : store->indices) fine = fine && !mentions(index);
    return fine;
  });
  return fine && used;
}

class Moves {
 public:
  Moves(ir::Context& ctx, const ir::Module* module) : ctx_(ctx), module_(module) {}

  std::vector<Candidate> run() {
    for (const ir::ModuleEntry& e : module_->entries)
      if (const auto* f = as<ir::PrimFunc>(e.function)) {
        name_ = e.name;
        f_ = f;
        ir::walk(f->body, [&](const ir::Node* n) {
          visit(n);
          return true;
        });
      }
    return std::move(out_);
  }

 private:
  void visit(const ir::Node* n) {
    if (const auto* seq = as<ir::SeqStmt>(n))
      for (const ir::Stmt* s : seq->stmts) {
        add("statement", s, nullptr);
        add_bypasses(s);
      }
    if (const auto* branch = as<ir::IfThenElse>(n)) {
      add("condition", branch, branch->then_case);
      if (branch->else_case) add("condition", branch, branch->else_case);
    }
    if (const auto* loop = as<ir::ForStmt>(n)) visit_loop(loop);
    if (const auto* store = as<ir::BufferStore>(n)) visit_value(store->value);
  }

  // Reads a parameter of the same rank in place of a buffer that a statement computes.
  void add_bypasses(const ir::Stmt* s) {
    std::vector<const ir::Buffer*> buffers;
    ir::walk(s, [&](const ir::Node* n) {
      const auto* store = as<ir::BufferStore>(n);
      if (store && std::find(buffers.begin(), buffers.end(), store->buffer) == buffers.end())
        buffers.push_back(store->buffer);
      return true;
    });
    const auto is_parameter = [&](const ir::Buffer* b) {
      return std::any_of(f_->params.begin(), f_->params.end(), [&](const ir::PrimParam& p) { return p.buffer == b; });
    };
    if (buffers.size() != 1 || is_parameter(buffers[0])) return;
    const Buffers changed = written(f_->body);
    for (const ir::PrimParam& p : f_->params) {
      const ir::Buffer *from = buffers[0], *to = p.buffer;
      if (!to || to->dtype != from->dtype || to->shape.size() != from->shape.size() || changed.contains(to->data))
        continue;
      out_.push_back(
          {"buffer", [&ctx = ctx_, module = module_, name = name_, f = f_, s, from, to]() -> const ir::Module* {
             Bypass bypass(ctx, s, from, to);
             const ir::PrimFunc* made = bypass.rewrite_prim_func(f);
             if (!made || !made->body || !writes_what_is_needed(f, made)) return nullptr;
             ir::ModuleBuilder builder(ctx, *module);
             builder.set(name, made);
             return builder.build();
           }});
    }
  }

  void visit_loop(const ir::ForStmt* loop) {
    if (loop->for_kind != ir::ForKind::Serial && loop->for_kind != ir::ForKind::ThreadBinding)
      add("loop", loop, ctx_.for_stmt(loop->var, loop->min, loop->extent, ir::ForKind::Serial, loop->body));
    if (only_reduces(loop)) add("loop", loop, ir::substitute(ctx_, loop->body, {{loop->var, loop->min}}));
  }

  void visit_value(const ir::Expr* value) {
    ir::walk(value, [&](const ir::Node* n) {
      const auto* e = as<ir::Expr>(n);
      if (!e || as<ir::BufferLoad>(n)) return false;  // the indices do not matter here
      add_operands(e);
      return true;
    });
  }

  void add_operands(const ir::Expr* e) {
    ir::for_each_use(e, [&](const ir::Node* n) {
      const auto* operand = as<ir::Expr>(n);
      if (operand && operand->type == e->type && operand != e) add("expression", e, operand);
    });
    const auto* prim = as<ir::PrimType>(e->type);
    if (prim && prim->dtype.lanes == 1 && !as<ir::IntImm>(e) && !as<ir::FloatImm>(e))
      add("number", e, ctx_.literal(prim->dtype, 1));
  }

  void add(std::string move, const ir::Node* from, const ir::Node* to) {
    out_.push_back(
        {std::move(move), [&ctx = ctx_, module = module_, name = name_, f = f_, from, to]() -> const ir::Module* {
           Swap swap(ctx, from, to);
           const ir::PrimFunc* made = swap.rewrite_prim_func(f);
           if (!made || made == f || !made->body || !writes_what_is_needed(f, made)) return nullptr;
           ir::ModuleBuilder builder(ctx, *module);
           builder.set(name, made);
           return builder.build();
         }});
  }

  ir::Context& ctx_;
  const ir::Module* module_;
  std::string name_;
  const ir::PrimFunc* f_ = nullptr;
  std::vector<Candidate> out_;
};

}  // namespace

std::vector<Candidate> simpler_kernels(ir::Context& ctx, const ir::Module* module) { return Moves(ctx, module).run(); }

}  // namespace rldb::repro
