// SlotTable: the meaning of the slots of a function's shape heap, derived from lowered code.
//
// VMShapeLower leaves numbers; the types beside them still have the symbols. A store by match_shape names its dimension
// through the type of the matched value (or of the match_cast that follows), a make_shape through its result type, a
// computing PrimFunc through its body. Also tells which slots a call reads and writes.
// Why not a table that VMShapeLower writes: a module that was read lowered, or lowered by TVM, has none, and two
// sources of the same facts would have to agree.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "rldb/bytecode/debug_info.h"
#include "rldb/ir/context.h"

namespace rldb::codegen {

class SlotTable {
 public:
  SlotTable(const ir::Module* module, const ir::Function* function) : module_(module), function_(function) {}

  bool is_heap(const ir::Expr* e) const { return heap_ && e == heap_; }
  const ir::Var* heap() const { return heap_; }

  // Every binding of the function in order. Fills slots_read and slots_written of the call's instruction.
  void see(const ir::Binding* binding, bytecode::InstructionDebug& debug);
  // Slots whose text was never found are named "slot N".
  std::vector<bytecode::SlotDebug> finish();

 private:
  struct Store {  // a dimension stored before its symbol was known
    const ir::Expr* value;
    std::size_t dimension;
    std::int64_t slot;
  };
  void see_call(const ir::Call* call, std::string_view symbol, const ir::Var* bound, bytecode::InstructionDebug& debug);
  void see_match(const ir::Call* call, bytecode::InstructionDebug& debug);
  void see_make_shape(const ir::Call* call, bytecode::InstructionDebug& debug);
  void see_prim_func(const ir::PrimFunc* f, const ir::Call* call, bytecode::InstructionDebug& debug);
  void see_match_cast(const ir::Binding* binding);
  // A slot that a computing PrimFunc writes. Its text is made at the end: a match_cast that follows the computation
  // names the slots that it reads.
  struct Computed {
    std::int64_t slot;
    const ir::Buffer* heap;
    const ir::Expr* value;
  };
  void name_computed(const Computed& computed);
  bytecode::SlotDebug* slot(std::int64_t index);
  void add_slot(std::vector<std::int32_t>& list, std::int64_t index) const;
  void name(std::int64_t index, const ir::Expr* value);
  void store(std::int64_t index, const ir::Expr* value, std::string bound_by);
  const ir::Type* type_inside(const ir::Type* type, const ir::Expr* of, const ir::Expr* part) const;
  bool is_parameter(const ir::Expr* e) const;
  const ir::Expr* root_of(const ir::Expr* e) const;
  std::string place(const ir::Expr* matched, std::size_t dimension) const;

  const ir::Module* module_;
  const ir::Function* function_;
  const ir::Var* heap_ = nullptr;
  std::vector<bytecode::SlotDebug> slots_;
  std::vector<Store> pending_;
  std::vector<Computed> computed_;
  std::set<const ir::Expr*> named_;  // symbols and expressions that have their slot
  // Variables that are fields of others: matches of a tuple go field by field.
  std::map<const ir::Expr*, std::pair<const ir::Expr*, std::int64_t>> fields_;
};

}  // namespace rldb::codegen
