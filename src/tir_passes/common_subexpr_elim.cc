// CommonSubexprElim: arithmetic that a PrimFunc computes more than once is bound to a variable.
//
// One walk numbers the values (equal arithmetic over the same variables has one number), counts where each is computed,
// and keeps the innermost scope that contains all of its uses; bodies of loops, branches and attributes are scopes.
// Then the variables are made, of smaller values first, so that larger ones are written in terms of them. Calls and
// memory are never shared, nor are conditions, which read better in place. A block is treated like a PrimFunc of its
// own: nothing is shared with the code outside it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr int kOther = -1;  // the number of values that are never shared

struct Value {
  bool shared_kind = false;  // arithmetic for which a variable may be made
  int count = 0;
  int within = 0;  // how many uses disappear when larger values get variables
  int depth = 0;
  int scope = 0;        // the innermost scope that contains all uses
  int first_scope = 0;  // of the first use, and its statement
  const Stmt* first_stmt = nullptr;
  const Expr* expr = nullptr;
  std::vector<int> operands;
  const Var* var = nullptr;
};

struct Scope {
  int parent;
  int depth;
  const Stmt* made_by;
};

// A division by a possible zero is computed where the program computes it, not before a test for zero.
bool may_trap(const Expr* e) {
  const auto* b = as<BinaryExpr>(e);
  if (!b || !b->dtype().is_integral()) return false;
  const bool divides = b->op() == BinaryKind::Div || b->op() == BinaryKind::Mod || b->op() == BinaryKind::FloorDiv ||
                       b->op() == BinaryKind::FloorMod;
  const IntImm* divisor = as_int(b->b);
  return divides && (!divisor || divisor->value == 0);
}

class Numbering {
 public:
  Numbering() { scopes_.push_back({-1, 0, nullptr}); }

  void visit(const Stmt* s) {
    support::poll();
    stmt_ = s;
    switch (s->stmt_kind()) {
      case StmtKind::Bind:
        number(static_cast<const BindStmt*>(s)->value);
        return define(static_cast<const BindStmt*>(s)->var);
      case StmtKind::Attr: {
        const auto* a = static_cast<const AttrStmt*>(s);
        number(a->value);
        if (const Var* v = a->thread_var ? a->thread_var : a->node ? as<Var>(a->node->node) : nullptr) define(v);
        return inside(a->body, a);
      }
      case StmtKind::Assert:
        return number(static_cast<const AssertStmt*>(s)->cond);
      case StmtKind::BufferStore: {
        const auto* b = static_cast<const BufferStore*>(s);
        number(b->value);
        for (const Expr* i : b->indices) number(i);
        return number(b->predicate);
      }
      case StmtKind::For: {
        const auto* f = static_cast<const ForStmt*>(s);
        number(f->min);
        number(f->extent);
        number(f->step);
        define(f->var);
        return inside(f->body, f);
      }
      case StmtKind::While: {
        const auto* w = static_cast<const WhileStmt*>(s);
        number(w->cond);
        return inside(w->body, w);
      }
      case StmtKind::IfThenElse: {
        const auto* i = static_cast<const IfThenElse*>(s);
        number(i->cond);
        inside(i->then_case, i);
        return inside(i->else_case, i);
      }
      case StmtKind::Seq:
        for (const Stmt* inner : static_cast<const SeqStmt*>(s)->stmts) visit(inner);
        return;
      case StmtKind::Evaluate:
        return number(static_cast<const Evaluate*>(s)->value);
      case StmtKind::SBlockRealize:
        for (const Expr* v : static_cast<const SBlockRealize*>(s)->iter_values) number(v);
        return;
      case StmtKind::AllocBuffer:
        return number_shape(static_cast<const AllocBuffer*>(s)->buffer);
      case StmtKind::DeclBuffer:
        return number_shape(static_cast<const DeclBuffer*>(s)->buffer);
      case StmtKind::SBlock:
      case StmtKind::Allocate:
      case StmtKind::AllocateConst:
        return;
    }
  }

  // The values that get a variable, smaller ones first, with the statement before which each is bound.
  std::vector<std::pair<Value*, const Stmt*>> chosen() {
    std::vector<Value*> order;
    for (Value& v : values_)
      if (v.shared_kind && v.count > 1) order.push_back(&v);
    for (const Value* v : order)
      for (const int operand : v->operands)
        if (operand != kOther) values_[std::size_t(operand)].within += v->count - 1;
    std::stable_sort(order.begin(), order.end(), [](const Value* a, const Value* b) { return a->depth < b->depth; });
    std::vector<std::pair<Value*, const Stmt*>> out;
    for (Value* v : order)
      if (v->count - v->within > 1) out.emplace_back(v, place(*v));
    return out;
  }
  const Var* var_of(const Expr* e) const {
    const auto found = numbers_.find(e);
    return found == numbers_.end() || found->second == kOther ? nullptr : values_[std::size_t(found->second)].var;
  }

 private:
  using Key = std::tuple<int, std::uint64_t, std::vector<std::int64_t>>;  // kind, dtype, operands or the leaf

  // A variable may be defined in several places, as that of a thread is in each launch: its values there are different
  // ones, and none of them is visible around the other.
  void define(const Var* v) { ++definition_[v]; }

  void number_shape(const Buffer* b) {
    for (const Expr* d : b->shape) number(d);
  }

  void inside(const Stmt* body, const Stmt* made_by) {
    if (!body) return;
    const int outer = scope_;
    scopes_.push_back({outer, scopes_[std::size_t(outer)].depth + 1, made_by});
    scope_ = int(scopes_.size()) - 1;
    visit(body);
    scope_ = outer;
  }

  int common(int a, int b) const {
    while (a != b) {
      int& deeper = scopes_[std::size_t(a)].depth >= scopes_[std::size_t(b)].depth ? a : b;
      deeper = scopes_[std::size_t(deeper)].parent;
    }
    return a;
  }

  const Stmt* place(const Value& v) const {
    if (v.first_scope == v.scope) return v.first_stmt;
    int s = v.first_scope;
    while (scopes_[std::size_t(s)].parent != v.scope) s = scopes_[std::size_t(s)].parent;
    return scopes_[std::size_t(s)].made_by;
  }

  // Operands first, with an explicit stack: a sum may be as long as the user's text.
  void number(const Expr* top) {
    if (!top) return;
    struct Item {
      const Expr* e;
      bool ready;
    };
    std::vector<Item> todo{{top, false}};
    while (!todo.empty()) {
      support::poll();
      const Item item = todo.back();
      todo.pop_back();
      if (item.ready) {
        record(item.e);
        continue;
      }
      // Variables bound by these are not visible before the statement.
      if (isa<CommReducer>(item.e) || isa<Lambda>(item.e)) continue;
      todo.push_back({item.e, true});
      if (const auto* let = as<LetExpr>(item.e)) {
        todo.push_back({let->value, false});
        continue;
      }
      const std::size_t begin = todo.size();
      for_each_use(item.e, [&](const Node* n) {
        if (const auto* e = as<Expr>(n)) todo.push_back({e, false});
      });
      std::reverse(todo.begin() + std::ptrdiff_t(begin), todo.end());
    }
  }

  void record(const Expr* e) {
    std::vector<std::int64_t> parts;
    bool arithmetic = false;
    if (const auto* v = as<Var>(e)) {
      const auto definition = definition_.find(v);
      parts = {v->id, definition == definition_.end() ? 0 : definition->second};
    } else if (const auto* i = as<IntImm>(e)) {
      parts = {i->value};
    } else if (const auto* f = as<FloatImm>(e)) {
      parts = {std::bit_cast<std::int64_t>(f->value)};
    } else if (isa<BinaryExpr>(e) || isa<NotExpr>(e) || isa<CastExpr>(e) || isa<SelectExpr>(e)) {
      arithmetic = true;
      for_each_use(e, [&](const Node* n) {
        const auto* operand = as<Expr>(n);
        if (!operand) return;
        const auto found = numbers_.find(operand);
        parts.push_back(found == numbers_.end() ? kOther : found->second);
      });
    }
    const bool known = !parts.empty() && (!arithmetic || std::find(parts.begin(), parts.end(), kOther) == parts.end());
    if (!known || may_trap(e)) {
      numbers_[e] = kOther;
      return;
    }
    const auto [it, fresh] =
        by_key_.try_emplace(Key{int(e->kind), std::bit_cast<std::uint32_t>(e->dtype()), parts}, int(values_.size()));
    if (fresh) values_.emplace_back();
    Value& v = values_[std::size_t(it->second)];
    if (fresh) {
      v.expr = e;
      v.shared_kind = arithmetic && !e->dtype().is_bool();
      if (arithmetic) describe(v, parts);
    }
    // One expression that has other values elsewhere: it cannot stand for a variable in one place alone.
    const auto [number, first] = numbers_.try_emplace(e, it->second);
    if (!first && number->second != it->second) {
      if (number->second != kOther) values_[std::size_t(number->second)].shared_kind = false;
      v.shared_kind = false;
      number->second = it->second;
    }
    if (v.count++ == 0) {
      v.scope = v.first_scope = scope_;
      v.first_stmt = stmt_;
    } else {
      v.scope = common(v.scope, scope_);
    }
  }

  void describe(Value& v, const std::vector<std::int64_t>& operands) {
    for (const std::int64_t operand : operands) {
      const Value& o = values_[std::size_t(operand)];
      if (!o.shared_kind) continue;
      v.operands.push_back(int(operand));
      v.depth = std::max(v.depth, o.depth);
    }
    ++v.depth;
  }

  std::vector<Scope> scopes_;
  std::vector<Value> values_;
  std::map<Key, int> by_key_;
  std::unordered_map<const Expr*, int> numbers_;
  std::unordered_map<const Var*, int> definition_;
  int scope_ = 0;
  const Stmt* stmt_ = nullptr;
};

class Sharer : public Rewriter {
 public:
  Sharer(Context& ctx, int& made) : Rewriter(ctx), made_(made) {}

  const Stmt* body(const Stmt* s) {
    Numbering numbering;
    numbering.visit(s);
    Numbering* outer = std::exchange(values_, &numbering);
    std::unordered_map<const Stmt*, std::vector<const Stmt*>> outer_binds = std::exchange(binds_, {});
    for (const auto& [value, before] : numbering.chosen()) {
      if (!support::may_rewrite(
              [&] { return fmt::format("gives `cse_v{}` to {} equal expressions", made_ + 1, value->count); }))
        continue;
      const Expr* written = default_expr(value->expr);
      const Var* var = ctx_.var(fmt::format("cse_v{}", ++made_), value->expr->type);
      ctx_.set_origin(var, value->expr);
      const Stmt* bind = ctx_.bind(var, written);
      ctx_.set_origin(bind, value->expr);
      binds_[before].push_back(bind);
      value->var = var;
    }
    const Stmt* out = rewrite(s);
    values_ = outer;
    binds_ = std::move(outer_binds);
    return out;
  }

 private:
  const Expr* visit_expr(const Expr* e) override {
    const Var* var = values_->var_of(e);
    return var ? var : default_expr(e);
  }
  // Only buffers that are defined here may have another shape.
  const Buffer* visit_buffer(const Buffer* b) override {
    const auto found = buffers_.find(b);
    return found == buffers_.end() ? b : found->second;
  }
  void define_buffer(const Buffer* b) {
    std::vector<const Expr*> shape;
    for (const Expr* d : b->shape) shape.push_back(rewrite(d));
    if (std::equal(shape.begin(), shape.end(), b->shape.begin(), b->shape.end())) return;
    Buffer made = *b;
    made.shape = ctx_.list(shape);
    const Buffer* own = ctx_.buffer(made);
    ctx_.set_origin(own, b);
    remap_buffer(b, own);
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* block = as<SBlock>(s)) return in_block(block);
    if (const auto* a = as<AllocBuffer>(s)) define_buffer(a->buffer);
    if (const auto* d = as<DeclBuffer>(s)) define_buffer(d->buffer);
    std::vector<const Stmt*> parts;
    // A statement that occurs in two places binds in the first.
    if (const auto found = binds_.find(s); found != binds_.end()) {
      parts = std::move(found->second);
      binds_.erase(found);
    }
    const bool alone = parts.empty();
    parts.push_back(default_stmt(s));
    return alone ? parts.back() : ctx_.seq_stmt(parts);
  }

  // The block's own regions and annotations stay as they are.
  const Stmt* in_block(const SBlock* block) {
    const Stmt* init = block->init ? body(block->init) : nullptr;
    const Stmt* inner = body(block->body);
    if (init == block->init && inner == block->body) return block;
    SBlock made = *block;
    made.init = init;
    made.body = inner;
    return ctx_.sblock(made);
  }

  int& made_;
  Numbering* values_ = nullptr;
  std::unordered_map<const Stmt*, std::vector<const Stmt*>> binds_;
};

}  // namespace

Result<const Module*> common_subexpr_elim(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    int made = 0;
    return with_body(env.ctx, f, Sharer(env.ctx, made).body(f->body));
  });
}

}  // namespace rldb::passes
