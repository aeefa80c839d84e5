// One function of the module as instructions. Room-private.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "relay/codegen/tables.h"

namespace rldb::relay {

// Registers are never used twice, but for the results of branches. A variable's register lets go of its value after the
// binding that uses it last, in the scope that binds it.
class FunctionCompiler {
 public:
  FunctionCompiler(Tables& tables, const Definition& d) : tables_(tables), definition_(d) {}
  void run();

 private:
  using Word = relay_bytecode::Word;
  using Opcode = relay_bytecode::Opcode;
  using Reg = std::int64_t;
  using Regs = std::vector<Reg>;

  Reg new_register() { return registers_++; }
  // Gives the place of the instruction.
  std::size_t emit(Opcode op, std::vector<Word> fields);
  Reg emit_to(Opcode op, std::vector<Word> before, std::vector<Word> after = {});
  void patch_jump(std::size_t at, std::size_t field);  // to what comes next
  void kill(Reg r);
  Reg load(std::size_t constant) { return emit_to(Opcode::LoadConst, {Word(constant), 0}); }

  // ---- what the text calls things ----
  std::string name_of(const Var* v) const;
  void begin_variable(const Var* v, bool is_parameter = false);
  // Those begun behind the first `count` are not seen any more.
  void end_scope(std::size_t count);

  // ---- expressions ----
  Reg scope(const Expr* e, std::unordered_set<const Var*> owned);
  Reg value(const Expr* e);
  Reg atom(const Expr* e);
  Regs atoms(Span<const Expr*> list);
  Reg call(const Call& c);
  Reg if_expr(const If& e);
  Reg match(const Match& m);
  Reg reference_write(const RefWrite& w);
  void unsupported(const Expr* e, std::string_view what);

  // ---- patterns: jumps that are taken when the value is another one ----
  struct Jump {
    std::size_t at;
    std::size_t field;
  };
  void test(const Pattern* p, Reg value, std::vector<Jump>& misses, std::unordered_set<const Var*>& bound);
  void test_fields(const Pattern* p, Reg value, std::vector<Jump>& misses, std::unordered_set<const Var*>& bound);

  // ---- primitives ----
  Reg primitive(const Function* f, Span<const Expr*> args);
  Reg reshape(const Function* f, Reg data);
  Regs outputs(const Function* f, const std::vector<const TensorType*>& types, const Regs& args);
  Reg output(const TensorType* type);
  Reg dynamic_output(const TensorType* type, Reg shape);
  Regs output_shapes(const Function* f, const std::vector<const TensorType*>& types, const Regs& args);
  Reg result(const Type* t, const Regs& outputs, std::size_t& next);
  void invoke_packed(std::size_t primitive, const Regs& in, const Regs& out);
  void flatten(const Type* t, Reg r, Regs& out);

  Tables& tables_;
  const Definition& definition_;
  std::unordered_map<const Expr*, Reg> of_;
  std::vector<std::vector<Word>> code_;
  std::vector<bytecode::InstructionDebug> places_;
  std::vector<bytecode::VariableRange> variables_;          // pcs from the function's start
  std::unordered_map<Reg, std::vector<std::size_t>> held_;  // by register
  bytecode::InstructionDebug here_;                         // the binding that is being compiled
  std::int64_t registers_ = 0;
};

}  // namespace rldb::relay
