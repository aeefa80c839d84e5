// Translation of modules and functions. Inside the room only.
#pragma once

#include <map>

#include "relay/to_relax/op_call.h"
#include "relay/to_relax/scopes.h"
#include "relay/to_relax/types.h"
#include "rldb/relay/ir/node_map.h"
#include "rldb/relay/to_relax.h"

namespace rldb::to_relax {

// Arms nest like branches in Relax.
inline constexpr std::size_t kMaxArms = 200;

// State shared by the functions of a module.
class ModuleTranslator {
 public:
  ModuleTranslator(ir::Context& ctx, const relay::Context& relay, const relay::Module& module,
                   const relay::Typing& typing, source::Diagnostics& out);

  const ir::Module* run();

  ir::Context& ctx;
  const relay::Context& relay;
  const relay::Module& module;
  const relay::Typing& typing;
  source::Diagnostics& out;
  const Types types;
  ir::ModuleBuilder builder;
  ops::Legalizer kernels;

  const ir::GlobalVar* global(std::string_view name) const;  // null: the module does not define it
  // A constructor as a function.
  const ir::GlobalVar* constructor(const relay::Constructor& c);
  bool is_only_constructor(const relay::Constructor& c) const;

 private:
  friend class FunctionTranslator;
  std::map<std::string_view, const ir::GlobalVar*> globals_;
  std::map<std::string_view, std::vector<const ir::Var*>> params_;
  std::map<std::string_view, const ir::GlobalVar*> constructors_;
};

// A name that is valid in a Python program.
std::string name_in_python(std::string_view name);

// One function with everything inside it.
class FunctionTranslator {
 public:
  FunctionTranslator(ModuleTranslator& shared, const relay::Expr* root)
      : shared_(shared), ctx_(shared.ctx), blocks_(shared.ctx), scopes_(root) {}

  // Null after errors. `params` are those of `f`, made with the signature.
  const ir::Function* function(const relay::Function& f, const std::vector<const ir::Var*>& params,
                               std::span<const ir::NamedAttr> attrs);
  // A lone expression as a function; its free variables are parameters.
  const ir::Function* expression(const relay::Expr* e, std::span<const ir::NamedAttr> attrs);

  static std::vector<const ir::Var*> make_params(ModuleTranslator& shared, const relay::Function& f,
                                                 ir::BlockBuilder& names);

 private:
  enum class Stage : std::uint8_t { Enter, Bind, Done };

  // The value of an expression in the current scope; null after errors.
  const ir::Expr* value(const relay::Expr* e);
  void enter(const relay::Expr* e, std::vector<std::pair<const relay::Expr*, Stage>>& open);
  void bind_let(const relay::Let& let);
  const ir::Expr* made(const relay::Expr* e);
  // The value of an operand that is translated already, or is a leaf.
  const ir::Expr* operand(const relay::Expr* e, const relay::Expr* user);
  const ir::Expr* leaf_value(const relay::Expr* e, const relay::Expr* user);

  const ir::Expr* call(const relay::Call& e);
  const ir::Expr* function_call(const relay::Call& e, const ir::Expr* callee, Exprs args);
  const ir::Expr* lowered_call(const relay::Call& e);
  const ir::Expr* op_call(const relay::Call& e, const relay::OpInfo& op, Exprs args);
  const ir::Expr* local_function(const relay::Function& f);
  const ir::Expr* projection(const relay::Projection& e);
  const ir::Expr* if_expr(const relay::If& e);

  // match.cc
  const ir::Expr* match(const relay::Match& m);
  const ir::Expr* arm(const relay::Match& m, std::size_t i, const ir::Expr* v);
  const ir::Expr* test(const relay::Pattern* p, const ir::Expr* v);
  const ir::Expr* test_parts(const relay::Pattern* p, std::size_t from, const ir::Expr* v);
  const ir::Expr* part(const relay::Pattern* p, std::size_t i, const ir::Expr* v);
  bool needs_test(const relay::Pattern* p) const;
  void bind_pattern(const relay::Pattern* p, const ir::Expr* v);

  // An `if` with the branches that the two callbacks emit. Null when one of them is null.
  template <class Then, class Else>
  const ir::Expr* branches(const ir::Expr* condition, Then&& consequence, Else&& alternative);
  template <class F>
  const ir::SeqExpr* branch(F&& f);

  const ir::Expr* bound(const ir::Expr* e, std::string_view hint = "gv");
  const ir::Expr* packed(std::string_view builtin, const Exprs& args, const ir::Type* type);
  // For a reference: its value is read, or replaced, in the order of the bindings.
  const ir::Expr* reference_call(const relay::Expr* e);
  // Refined by inference: dims that the value's type lacks are checked or get names.
  const ir::Expr* refined(const ir::Expr* e, const relay::Type* t);
  // A tuple written out, so that each field is refined.
  const ir::Expr* with_known_fields(const ir::Expr* e, const relay::Type* t);
  const ir::Type* with_new_dims(const relay::Type* t);
  std::string_view hint_of(const relay::Expr* e) const;
  // Records `e` as the origin of everything made since the last call.
  void place(const relay::Expr* e);
  const ir::Expr* fail(const relay::Expr* e, source::Message m);

  ModuleTranslator& shared_;
  ir::Context& ctx_;
  ir::BlockBuilder blocks_;
  Scopes scopes_;
  relay::NodeMap<const ir::Expr*> values_;
  relay::NodeMap<const relay::Var*> named_;  // values of lets
  std::uint32_t placed_ = 0;
};

template <class F>
const ir::SeqExpr* FunctionTranslator::branch(F&& f) {
  blocks_.begin_scope();
  const ir::Expr* v = f();
  if (v) v = blocks_.normalize_leaf(v);
  const ir::SeqExpr* seq = blocks_.end_scope(v ? v : ctx_.tuple({}));
  if (!v) return nullptr;
  // A branch ends in the binding of its value.
  if (!seq->blocks.empty() && seq->blocks.back()->bindings.back()->var == v) return seq;
  const ir::Var* last = ctx_.var(blocks_.unique_name("gv"), v->type);
  std::vector<const ir::BindingBlock*> all(seq->blocks.begin(), seq->blocks.end());
  std::vector<const ir::Binding*> bindings;
  if (!all.empty()) {
    bindings.assign(all.back()->bindings.begin(), all.back()->bindings.end());
    all.pop_back();
  }
  bindings.push_back(ctx_.binding(last, v));
  all.push_back(ctx_.block(bindings));
  return ctx_.seq(all, last);
}

}  // namespace rldb::to_relax
