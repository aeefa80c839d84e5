// FunctionCompiler: one lowered Relax function -> VirtualCode (TVM: src/relax/backend/vm, CodeGenVM).
//
// Bindings in order; every value becomes an argument word: a virtual register, an immediate, a constant, a function.
// Faults are diagnosed at the offending expression and compilation goes on, so that all of a module are reported.
#pragma once

#include <unordered_map>

#include "codegen/vm/slots.h"
#include "codegen/vm/virtual_code.h"
#include "rldb/ir/context.h"

namespace rldb::codegen {

class FunctionCompiler {
 public:
  // `builder` gets the constants and the table entries that the code refers to; the code itself is emitted later.
  FunctionCompiler(ir::Context& ctx, const ir::Module* module, bytecode::ExecutableBuilder& builder,
                   source::Diagnostics& out)
      : ctx_(ctx), module_(module), builder_(builder), out_(out), slots_(module, nullptr) {}

  VirtualCode compile(std::string_view name, const ir::Function* f);
  // Number of operators so far whose code is generated at run time.
  const std::vector<const ir::Call*>& operators_at_run_time() const { return at_run_time_; }

 private:
  // The debug info of a binding's instructions.
  struct Place {
    const ir::Node* node = nullptr;
    const ir::Var* var = nullptr;
  };

  // Values: the code that computes one, and where it leaves the result.
  Arg value(const ir::Expr* e);
  Arg sequence(const ir::SeqExpr* seq);
  Arg conditional(const ir::If* e);
  Arg call(const ir::Call* call);
  Arg call_operator(const ir::Call* call, std::string_view op);
  Arg without_code(const ir::Call* call);
  Arg with_tuple(const ir::Call* call, std::string_view builtin, std::vector<Arg> args);
  // Functions of the rows RLDB_OP_CODE in rule.def.
  Arg call_with_context(const ir::Call* call);
  Arg alloc_storage(const ir::Call* call);
  Arg alloc_tensor(const ir::Call* call);
  Arg kill_object(const ir::Call* call);
  Arg null_value(const ir::Call* call);
  Arg call_tir_dyn(const ir::Call* call);
  Arg make_closure(const ir::Call* call);
  Arg call_global(const ir::Call* call, const ir::GlobalVar* g);
  Arg function_name(const ir::GlobalVar* g);
  Arg tuple(const ir::Tuple* t);
  Arg shape(const ir::ShapeExpr* s);
  Arg constant(const ir::Constant* c);
  Arg string(std::string_view text);  // interned
  Arg variable(const ir::Var* v);
  std::vector<Arg> values(ir::Span<const ir::Expr*> list);
  // The second operand of operators that take their arguments as a tuple.
  std::vector<Arg> packed_arguments(const ir::Expr* e);

  void binding(const ir::Binding* b);
  void bind(const ir::Var* var, Arg value);

  // Instructions.
  Arg emit_call(std::string_view callee, std::vector<Arg> args, const ir::Type* type,
                bytecode::FunctionKind kind = bytecode::FunctionKind::Packed);
  void emit_call_to(std::string_view callee, std::vector<Arg> args, RegName dst,
                    bytecode::FunctionKind kind = bytecode::FunctionKind::Packed);
  RegName in_register(Arg a);
  std::size_t emit(VirtualInstruction i);
  RegName fresh() { return code_.register_count++; }
  std::size_t position() const { return code_.instructions.size(); }

  Arg fail(const ir::Node* at, std::string what, std::string why, std::string note = {});
  bytecode::Arg at_run_time(const ir::Call* c);
  std::string why_not_lowered(const ir::Call* c);

  ir::Context& ctx_;
  const ir::Module* module_;
  bytecode::ExecutableBuilder& builder_;
  source::Diagnostics& out_;
  SlotTable slots_;
  std::vector<const ir::Call*> at_run_time_;
  VirtualCode code_;
  std::unordered_map<const ir::Var*, Arg> registers_;
  std::unordered_map<const char*, Arg> strings_;  // constants by their interned text: thousands of checks share one
  bytecode::InstructionDebug debug_;              // of the binding in progress
  int depth_ = 0;
};

}  // namespace rldb::codegen
