// RelaxEval: one run of the evaluator over Relax. Its functions are sorted by purpose:
//   relax.cc       functions, kernels, packed functions
//   relax_body.cc  bodies: bindings, expressions, calls in tail position
//   relax_call.cc  operators that are calls, and what they allocate
//   relax_match.cc types against values, which binds symbolic variables
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "eval/compiled/statements.h"
#include "rldb/bytecode/builtin_id.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/op_traits.h"

namespace rldb::eval {

using ir::as;
using runtime::ErrorKind;
using runtime::fail;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

// Whether the evaluator runs an operator: those that are calls, and kills, need the scope and are RelaxEval's; the
// others have a function.
bool has_meaning(const op::Row& row);
bool has_meaning(std::string_view name);

struct Scope {
  std::unordered_map<const ir::Var*, Value> values;
  // Symbolic variables and what bound them.
  struct Symbol {
    std::int64_t value;
    std::string bound_by;
  };
  std::unordered_map<const ir::Var*, Symbol> symbols;
};

// A local function with its captured values.
class Closure : public runtime::Function {
 public:
  Closure(const ir::Function* f, const ir::Var* self, std::shared_ptr<const Scope> scope)
      : runtime::Function(self ? std::string(self->name) : "local function", runtime::PackedFn()),
        f(f),
        self(self),
        scope(std::move(scope)) {}
  const ir::Function* f;
  const ir::Var* self;  // the variable it is bound to, by which it may call itself; null: none
  std::shared_ptr<const Scope> scope;
};

// A call in tail position. `closure`: of `callee`; null: a function of the module.
struct TailCall {
  const ir::Function* f = nullptr;
  const Closure* closure = nullptr;
  std::string name;
  Value callee;
  std::vector<Value> args;
};

class RelaxEval {
 public:
  explicit RelaxEval(const EvalEnv& env) : env_(env) {}
  Result<Value> call_global(std::string_view name, PackedArgs args);

 private:
  // ---- functions ----
  // A module that no other engine can lower is not run here either.
  Result<Unit> check_bounds();
  // A function, then the calls in tail position that took its place.
  Result<Value> call(const ir::Function* f, std::string_view name, PackedArgs args, const Scope* outer);
  static Result<Value> overflow(std::size_t calls, std::string_view name);
  Result<Value> call_once(const ir::Function* f, std::string_view name, PackedArgs args, const Scope* outer);
  static bool holds_null(const Value& v);
  static Result<Value> wrong_count(const ir::Function* f, std::string_view name, std::size_t given);
  // A call that is reported to the watcher before and after.
  template <class Run>
  Result<Value> watched(std::string_view name, const ir::PrimFunc* f, PackedArgs args, Run run) {
    if (!env_.watcher) return run();
    RLDB_TRY_VOID(env_.watcher->calling(name, f, args));
    RLDB_TRY(Value result, run());
    RLDB_TRY_VOID(env_.watcher->called(name, f, args, result));
    return result;
  }
  // Memory that checkpoints of a run share becomes the storage's own before a kernel may write it.
  static Result<support::Unit> own_written(const ir::PrimFunc* f, PackedArgs args);
  Result<Value> call_prim_func(const ir::PrimFunc* f, std::string_view name, PackedArgs args);
  Result<Value> eval_prim_func(const ir::PrimFunc* f, std::string_view name, PackedArgs args);
  Result<Value> call_packed(std::string_view name, PackedArgs args);
  Result<Value> find_and_call_packed(std::string_view name, PackedArgs args);
  // A function of the program for C++ code to call. It may be kept for longer than this run, and then refuses.
  Value native_twin(const Value& function);
  // Builtins of lowered programs whose meaning depends on the devices.
  std::optional<Result<Value>> call_on_devices(bytecode::BuiltinId id, PackedArgs args);
  static Result<Value> unknown_packed(std::string_view name);
  // Builtins of lowered programs that call or make functions; without the machine argument that they have there.
  std::optional<Result<Value>> call_back(std::string_view name, PackedArgs args);
  static Result<Value> closure_over(const runtime::Function& callee, PackedArgs captured);
  Result<Value> call_value(const Value& callee, std::vector<Value> args);
  static Scope scope_around(const Value& callee, const Closure& closure);

  // ---- calls in tail position ----
  static bool is_result(const ir::SeqExpr* seq, const ir::Binding* b);
  // The value of `tail_of`, if it is a call of a function with the same type of its result: `call` goes on with it when
  // the frame of `tail_of` is gone.
  Result<Value> eval_result(const ir::Expr* e, Scope& scope, const ir::Function* tail_of);

  // ---- bodies ----
  // `tail_of`: the function whose result it is, if calls in tail position take its place.
  Result<Value> sequence(const ir::SeqExpr* seq, Scope& scope, const ir::Function* tail_of = nullptr);
  static runtime::Error at_binding(runtime::Error error, const ir::Binding* b);
  static Value closure_of(const ir::Function* f, const ir::Var* self, const Scope& scope);
  Result<Value> eval(const ir::Expr* e, Scope& scope);
  Result<Value> constant(const ir::Constant* c);
  Result<Value> variable(const ir::Var* v, const Scope& scope);
  Result<Value> extern_value(const ir::ExternFunc* x);
  Result<Value> conditional(const ir::If* e, Scope& scope, const ir::Function* tail_of = nullptr);
  ScalarEnv scalar_env(const Scope& scope) const;
  Result<Value> scalar(const ir::Expr* e, const Scope& scope) { return eval_scalar(e, scalar_env(scope)); }
  Result<std::vector<std::int64_t>> integers(ir::Span<const ir::Expr*> exprs, const Scope& scope);
  Result<std::vector<Value>> values(ir::Span<const ir::Expr*> exprs, Scope& scope);

  // ---- calls ----
  Result<Value> call_expr(const ir::Call* c, Scope& scope);
  // The inputs of call_tir and friends: an in-line tuple, or one argument.
  Result<std::vector<Value>> inputs_of(const ir::Expr* e, Scope& scope);
  // A new storage, or a tensor with memory of its own: nothing is written there yet.
  Result<Value> poisoned(Result<Value> made, bool is_new = true) const;
  Result<Value> allocate(const ir::Type* type, Scope& scope);
  // A device that a text names counts the module's devices of its kind.
  std::optional<runtime::Device> nth_of_kind(std::string_view kind, int n) const;
  // As in compiled programs: what names no device is on the first one.
  runtime::Device device_of(const ir::VDevice* d) const;
  // Where `to_vdevice` and `hint_on_device` put their operand. A text counts the module's devices of a kind.
  runtime::Device target_device(const ir::Call* c) const;
  Result<Value> allocate_tensor(const ir::Type* type, Scope& scope);
  // Allocates every output of the call's type, runs, and returns the outputs.
  template <class Run>
  Result<Value> destination_passing(const ir::Call* c, std::vector<Value> args, Scope& scope, Run run) {
    RLDB_TRY(Value output, allocate_output(c->ty_args.empty() ? c->type : c->ty_args[0], args, scope));
    RLDB_TRY_VOID(run(args));
    return output;
  }
  // The leaves of a tuple are arguments of their own, in order.
  Result<Value> allocate_output(const ir::Type* type, std::vector<Value>& args, Scope& scope);
  Result<Value> call_tir(const ir::Call* c, Scope& scope);
  Result<Value> run_callee(const ir::Expr* callee, std::vector<Value>& args);
  Result<Value> call_tir_inplace(const ir::Call* c, Scope& scope);
  Result<Value> call_op(std::string_view name, const ir::Call* c, Scope& scope);
  // An operator that was not legalised because of open types gets its code now, if there is a maker.
  Result<Value> call_unknown(std::string_view name, const ir::Call* c, Scope& scope);
  // The last argument is a shape whose dims are trailing scalars of the kernel.
  Result<Value> call_tir_dyn(const ir::Call* c, Scope& scope);
  Result<Value> call_closure(const ir::Call* c, Scope& scope);
  Result<Value> make_closure(const ir::Call* c, Scope& scope);
  Result<Value> call_packed_op(const ir::Call* c, bool with_machine, Scope& scope);
  // The variable holds null from here on; aliases of the object keep it.
  static Result<Value> kill(const ir::Call* c, Scope& scope);

  // ---- types against values ----
  // Checks `value` against a type and binds symbolic variables that occur alone; with `compound` the other dims too.
  Result<Unit> match(const ir::Type* type, const Value& value, Scope& scope, const std::string& who, bool compound);
  Result<Unit> match_tensor(const ir::TensorType* t, const Value& value, Scope& scope, const std::string& who,
                            bool compound);
  // A match_cast to R.Tensor(s): as the VM checks it, where a type tells how many dims there are.
  Result<Unit> match_shape_var(const ir::Binding* b, const Value& value, Scope& scope);
  Result<Unit> match_dims(ir::Span<const ir::Expr*> dims, const std::vector<std::int64_t>& got, Scope& scope,
                          const std::string& who, bool compound);
  static Result<Unit> wrong(const std::string& who, const ir::Type* type, const Value& value);
  const EvalEnv& env_;
  std::shared_ptr<RelaxEval*> self_ = std::make_shared<RelaxEval*>(this);
  std::unordered_map<const ir::Constant*, Value> placed_constants_;
  std::size_t depth_ = 0;
  std::optional<TailCall> tail_call_;
  std::uint64_t statements_ = 0;  // of kernels executed so far
  std::shared_ptr<CompiledStatements> compiled_ = std::make_shared<CompiledStatements>();
};

}  // namespace rldb::eval
