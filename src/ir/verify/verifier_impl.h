// Verifier: the state of one run over a module; the rules are in ir/verifier.h.
//
// One pass over every function. A scope is a function, a dataflow block, a branch or a callable's signature; a
// definition remembers its scope, so "visible" means "its scope is open" and an escape can name the scope it left.
// Tables are keyed by node id and cleared entry by entry: linear in the size of the input.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/verify/id_table.h"
#include "rldb/ir/context.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"

namespace rldb::ir::verify_detail {

inline constexpr int kMaxDepth = 1000;

// State shared by both halves: where we are, and how a finding is reported.
class Reporter {
 public:
  Reporter(Context& ctx, source::Diagnostics& out) : ctx_(ctx), out_(out) {}
  Context& ctx() { return ctx_; }
  bool clean() const { return count_ == 0; }
  std::size_t count() const { return count_; }

  // The node for findings without a better place.
  void at(const Node* n) { here_ = n; }
  const Node* here() const { return here_; }
  source::Span span(const Node* n) const {
    source::Span s = n != nullptr ? ctx_.span_of(n) : source::Span{};
    return s ? s : here_ != nullptr ? ctx_.span_of(here_) : s;
  }
  void add(const Node* n, source::Message m) {
    ++count_;
    out_.add(span(n), std::move(m));
  }
  template <std::size_t Places, class... Args>
  void add(const Node* n, const source::Diag<Places>& row, const Args&... args) {
    add(n, source::message(row, args...));
  }
  // A finding about a variable, with a note at its definition; once per variable and kind.
  template <std::size_t Places, class... Args>
  void add_var(const Node* var, const source::Diag<Places>& row, const Args&... args) {
    if (!seen_.emplace(var->id, row).second) return;
    source::Span defined = ctx_.span_of(var);
    source::Span use = here_ != nullptr ? ctx_.span_of(here_) : source::Span{};
    source::Message m = source::message(row, args...);
    if (defined && use && !(defined == use)) m.notes.push_back({defined, "defined here"});
    ++count_;
    out_.add(use ? use : defined, std::move(m));
  }

 private:
  Context& ctx_;
  source::Diagnostics& out_;
  const Node* here_ = nullptr;
  std::size_t count_ = 0;
  std::set<std::pair<std::uint32_t, source::DiagId>> seen_;
};

class RelaxVerifier {
 public:
  RelaxVerifier(Reporter& report, const Module* m, const VerifyOptions& options);
  void function(std::string_view name, const Function* f);

 private:
  enum class ScopeKind : std::uint8_t { Function, Dataflow, Branch, Signature };
  struct Scope {
    ScopeKind kind;
    bool open;
  };
  struct FunctionState {
    const Function* function;
    std::string_view name;
    bool purity_checked;
  };

  std::uint32_t open_scope(ScopeKind kind);
  void close_scope();
  void define(const Var* v);
  void define_symbol(const Var* v);
  bool visible(const Var* v) const;
  void use(const Var* v);
  void bind_symbols(const Type* t);  // plain dims of a pattern define
  void check_type(const Type* t);    // everything in it is defined and of the right kind
  void check_dim(const Expr* e);
  void scalar(const Expr* e);  // variables of a scalar expression
  void function_body(std::string_view name, const Function* f);
  void seq(const SeqExpr* s);
  void binding(const Binding* b);
  void fresh_binding(const Binding* b);
  void value(const Expr* e);
  void branch(const SeqExpr* s);
  void leaf(const Expr* e, std::string_view role);
  bool typed(const Expr* e, std::string_view what);
  void call(const Call* c);
  void call_purity(const Call* c);
  void call_arguments(const Call* c);
  void call_type(const Call* c);
  void call_normal_form(const Call* c, std::string_view name);
  void call_tir(const Call* c, std::string_view op);
  void call_tir_operands(const Call* c, std::string_view op, std::string_view name, const PrimFunc* f);
  void inplace(const Call* c);
  bool deep();

  Reporter& report_;
  Context& ctx_;
  const Module* module_;
  const VerifyOptions& options_;
  IdTable scope_of_;  // of a variable; 0: not defined
  std::vector<std::uint32_t> touched_;
  std::vector<Scope> scopes_;        // [0] is no scope
  std::vector<std::uint32_t> open_;  // innermost last
  std::unordered_map<const Var*, std::string_view> param_of_;
  std::unordered_map<const Var*, std::string_view> symbol_of_;
  std::string_view top_;  // the function of the module being verified
  std::vector<FunctionState> functions_;
  int dataflow_depth_ = 0;
  int depth_ = 0;
  bool reported_deep_ = false;
  bool lacks_definitions_ = false;  // of the present function
};

class TirVerifier {
 public:
  explicit TirVerifier(Reporter& report) : report_(report), ctx_(report.ctx()) {}
  void function(std::string_view name, const PrimFunc* f);

 private:
  bool defined(const Node* n) const { return defined_.count(n->id) != 0; }
  void define(const Node* n, std::string_view name, bool again_ok = false);
  void define_buffer(const Buffer* b);
  void define_free_vars(const Buffer* b);
  void leave(std::size_t mark);
  void use_buffer(const Buffer* b);
  void access(const Buffer* b, Span<const Expr*> indices, const Node* at);
  void region(const BufferRegion& r);
  void expr(const Expr* e);
  void stmt(const Stmt* s);
  void scoped(const Stmt* s);
  void loop(const ForStmt* s);
  void block(const SBlock* b, const SBlockRealize* realize);
  bool deep();

  Reporter& report_;
  Context& ctx_;
  std::unordered_set<std::uint32_t> defined_;
  std::vector<std::uint32_t> stack_;
  int depth_ = 0;
  bool reported_deep_ = false;
};

}  // namespace rldb::ir::verify_detail
