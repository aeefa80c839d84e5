// Arrays in conditions: slices of buffers, and what is computed from them element by element. They are never stored:
// a reduction is a loop that computes the elements it needs.
#pragma once

#include <functional>
#include <vector>

#include "debug/kernel/instrument.h"
#include "debug/kernel/operand.h"

namespace rldb::debug {

struct ArrayPart {
  std::vector<const ir::Expr*> shape;  // int64
  // The element at an index; its `bad` is null.
  std::function<Operand(std::span<const ir::Expr* const>)> at;
  const ir::Expr* bad = nullptr;  // there is no such array: an index is outside of its buffer; null: never
};

// An operand, or an array of them.
struct ConditionPart {
  Operand one;
  std::optional<ArrayPart> array;
};

// f of each element of the arrays, which are broadcast, and of the operands that are none.
ConditionPart map_elements(ir::Context& ctx, OperandMath& math, std::vector<ConditionPart> parts,
                           std::function<Operand(std::span<const Operand>)> f);

// Makes the loops of reductions, in the order in which the language makes its own: the same bits.
class ReductionLoops {
 public:
  ReductionLoops(ir::Context& ctx, OperandMath& math) : ctx_(ctx), math_(math) {}

  static bool has(std::string_view function);         // `max`, `sum`, `any`, ...
  static bool takes_axis(std::string_view function);  // as the second argument
  Operand reduce(std::string_view function, const ArrayPart& x);

  // The loops made from here on are executed where `condition` holds only.
  void begin_part() { parts_.emplace_back(); }
  void end_part(const ir::Expr* condition);
  // All of them; null: there are none.
  const ir::Stmt* statements();
  std::vector<const ir::Buffer*> memory() const { return memory_; }

 private:
  using Body = std::function<void(const Operand& element, const ir::Expr* position, std::vector<const ir::Stmt*>&)>;

  const ir::Buffer* word(runtime::DType dtype);  // set to zero before the loop that uses it
  const ir::Expr* get(const ir::Buffer* word);
  const ir::Stmt* set(const ir::Buffer* word, const ir::Expr* value);
  const ir::Stmt* add(const ir::Buffer* word, const ir::Expr* value);
  void loop(const ArrayPart& x, const Body& body);
  const ir::Expr* bad_if_empty(const ArrayPart& x);

  Operand extreme(const ArrayPart& x, bool largest, bool place);
  const ir::Expr* sum_of(const ArrayPart& x);
  const ir::Expr* parted_sum(const ArrayPart& x, bool keep_lost,
                             const std::function<const ir::Expr*(const Operand&)>& f);
  Operand sum(const ArrayPart& x);
  Operand product(const ArrayPart& x);
  Operand spread(const ArrayPart& x, bool root);
  Operand norm(const ArrayPart& x);
  const ir::Expr* count_of(const ArrayPart& x, const std::function<const ir::Expr*(const Operand&)>& holds);
  const ir::Expr* size_of(const ArrayPart& x);
  Operand sample(const ArrayPart& x);

  ir::Context& ctx_;
  OperandMath& math_;
  std::vector<std::vector<const ir::Stmt*>> parts_{1};
  std::vector<const ir::Buffer*> memory_;
};

}  // namespace rldb::debug
