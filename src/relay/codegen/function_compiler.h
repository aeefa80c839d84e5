// One function of the module compiled to instructions. Room-private.
#pragma once

#include <optional>
#include <unordered_map>

#include "relay/codegen/tables.h"
#include "rldb/relay/ir/node_map.h"
#include "rldb/relay/ir/node_set.h"

namespace rldb::relay {

// Registers are never reused, except for the results of branches. A variable's register is released where the text has
// `memory.kill`. Variables without a name in TextNames belong to the binding after them.
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
  // Returns the position of the instruction.
  std::size_t emit(Opcode op, std::vector<Word> fields);
  Reg emit_to(Opcode op, std::vector<Word> before, std::vector<Word> after = {});
  void patch_jump(std::size_t at, std::size_t field);  // to the next instruction
  void kill(Reg r);
  Reg load(const Constant& c, std::size_t device = 0) {
    return emit_to(Opcode::LoadConst, {Word(tables_.constant(c.tensor, device)), Word(device)});
  }

  // ---- names in the text ----
  std::string name_of(const Var* v) const;
  bool is_hidden(const Var* v) const;
  void begin_variable(const Var* v, bool is_parameter = false);
  // Ends those begun after the first `count`.
  void end_scope(std::size_t count);

  // ---- expressions ----
  Reg scope(const Expr* e);
  void binding(const Let& l);
  Reg value(const Expr* e);
  Reg atom(const Expr* e);
  Regs atoms(Span<const Expr*> list);
  Reg call(const Call& c);
  Reg on_device(const Call& c);
  Reg if_expr(const If& e);
  Reg match(const Match& m);
  Reg reference_write(const RefWrite& w);
  void unsupported(const Expr* e, std::string_view what);

  // ---- patterns: jumps taken when the value does not match ----
  struct Jump {
    std::size_t at;
    std::size_t field;
  };
  void test(const Pattern* p, Reg value, std::vector<Jump>& misses);
  void test_fields(const Pattern* p, Reg value, std::vector<Jump>& misses);

  // ---- instructions that appear as operators in the text (machine_calls.cc) ----
  // False: `c` is not such a call. Without a result, `result` stays as it is.
  bool machine_call(const Call& c, std::optional<Reg>& result);
  Reg alloc_storage(const Call& c);
  Reg alloc_tensor(const Call& c);
  Reg device_copy(const Call& c);
  // The number of the device in an attribute, or of the value's.
  Word device_number(const Call& c, std::string_view attr, const Expr* value) const;
  void invoke_primitive(const Call& c, OpId id);
  void invoke_packed(std::size_t primitive, const Regs& in, const Regs& out);
  std::optional<std::vector<std::int64_t>> constant_dims(const Expr* e);

  Tables& tables_;
  const Definition& definition_;
  NodeMap<Reg> of_;
  NodeSet units_;  // variables of (), which have no register until they are used
  std::vector<std::vector<Word>> code_;
  std::vector<bytecode::InstructionDebug> places_;
  std::vector<bytecode::VariableRange> variables_;          // pcs from the function's start
  std::unordered_map<Reg, std::vector<std::size_t>> held_;  // by register
  bytecode::InstructionDebug here_;                         // the binding being compiled
  std::int64_t registers_ = 0;
};

}  // namespace rldb::relay
