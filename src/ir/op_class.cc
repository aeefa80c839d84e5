// Classes of operators, and the check that every column is decided for every operator: by a rule of its own, by the
// rule of its class, or by a reason why there is none.
#include "rldb/ir/op_class.h"

#include <array>

#include "rldb/ir/op_rule.h"

namespace rldb::op {
namespace {

enum class ClassCell : std::uint8_t { Rule, Own, None };

constexpr ClassCell cell_of(std::string_view text) {
  return text == "own" ? ClassCell::Own : text == "none" ? ClassCell::None : ClassCell::Rule;
}

struct ClassRow {
  std::string_view name;
  ClassCell cells[5];  // of the columns Infer to Legalise
  bool over;
};

constexpr bool Over = true;
constexpr bool Keep = false;

constexpr ClassRow kClassRows[] = {
#define RLDB_OP_CLASS(id, infer, shard, layout, gradient, legalise, mixed, in_place, pattern, doc)  \
  {                                                                                                 \
      #id,                                                                                          \
      {cell_of(#infer), cell_of(#shard), cell_of(#layout), cell_of(#gradient), cell_of(#legalise)}, \
      in_place,                                                                                     \
  },
#include "rldb/ir/op/class.def"
};
constexpr std::size_t kClassCount = std::size(kClassRows);

struct ClassReason {
  Column column;
  Class of;
  std::string_view text;
};
constexpr ClassReason kClassReasons[] = {
#define RLDB_OP_CLASS_NONE(column, of, reason) {Column::column, Class::of, reason},
#include "rldb/ir/op/class.def"
};

struct OpReason {
  Column column;
  Id id;
  bool has_rule;
  std::string_view text;
};
constexpr OpReason kOpReasons[] = {
#define RLDB_OP_NONE(column, Op, reason) {Column::column, Id::Op, false, reason},
#define RLDB_OP_BECAUSE(column, Op, reason) {Column::column, Id::Op, true, reason},
#include "rldb/ir/op/rule.def"
};

// ---- what rows have of their own ----

using Marks = std::array<bool, kCount>;

constexpr bool is_by_class(std::string_view infer) { return infer == "by_class"; }

consteval Marks own_rules(Column column) {
  Marks own{};
  std::size_t i = 0;
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) \
  own[i++] = column == Column::Infer      ? !is_by_class(#infer_fn)                              \
             : column == Column::Legalise ? std::string_view(#legal_fn) != "none"                \
                                          : false;
#include "rldb/ir/op/op.def"
#define RLDB_OP_SHARD(Op, function) \
  if (column == Column::Shard) own[std::size_t(Id::Op)] = true;
#define RLDB_OP_LAYOUT(Op, function) \
  if (column == Column::Layout) own[std::size_t(Id::Op)] = true;
#define RLDB_OP_GRADIENT(Op, function) \
  if (column == Column::Gradient) own[std::size_t(Id::Op)] = true;
#define RLDB_OP_MIXED(Op, policy) \
  if (column == Column::Mixed) own[std::size_t(Id::Op)] = true;
#include "rldb/ir/op/rule.def"
  return own;
}

consteval Marks with_reason(Column column, bool has_rule) {
  Marks found{};
  for (const OpReason& r : kOpReasons)
    if (r.column == column && r.has_rule == has_rule) found[std::size_t(r.id)] = !r.text.empty();
  return found;
}

consteval bool class_has_reason(Column column, Class of) {
  for (const ClassReason& r : kClassReasons)
    if (r.column == column && r.of == of) return !r.text.empty();
  return false;
}

consteval ClassCell class_cell(Column column, Class of) {
  return column == Column::Mixed ? ClassCell::Rule : kClassRows[std::size_t(of)].cells[std::size_t(column)];
}

// ---- the check: the first operator or class at fault ----

constexpr Id kNoOperator = Id(kCount);
constexpr Class kNoClass = Class(kClassCount);

// Its class leaves the rule to each operator, and this one has neither a rule nor a reason.
consteval Id undecided(Column column) {
  const Marks own = own_rules(column), none = with_reason(column, false);
  for (std::size_t i = 0; i < kCount; ++i)
    if (class_cell(column, kClasses[i]) == ClassCell::Own && own[i] == none[i]) return Id(i);
  return kNoOperator;
}

// Differs from its class without a reason, or gives one without differing.
consteval Id unexplained(Column column) {
  const Marks own = own_rules(column), none = with_reason(column, false), because = with_reason(column, true);
  for (std::size_t i = 0; i < kCount; ++i) {
    const bool differs = own[i] && class_cell(column, kClasses[i]) != ClassCell::Own;
    if (differs != because[i] || (own[i] && none[i])) return Id(i);
  }
  return kNoOperator;
}

consteval Class class_without_reason(Column column) {
  for (std::size_t i = 0; i < kClassCount; ++i)
    if ((class_cell(column, Class(i)) == ClassCell::None) != class_has_reason(column, Class(i))) return Class(i);
  return kNoClass;
}

// The compiler shows the arguments of the instantiation that fails.
template <Column column, Id operator_at_fault>
struct Decided {
  static_assert(operator_at_fault == kNoOperator, "this operator needs a row in op/rule.def for this column");
};
template <Column column, Id operator_at_fault>
struct Explained {
  static_assert(operator_at_fault == kNoOperator, "this operator and RLDB_OP_BECAUSE do not agree that it differs");
};
template <Column column, Class class_at_fault>
struct ClassExplained {
  static_assert(class_at_fault == kNoClass, "a cell `none` of op/class.def has exactly one reason");
};
template <Column c>
struct Checked : Decided<c, undecided(c)>, Explained<c, unexplained(c)>, ClassExplained<c, class_without_reason(c)> {};

template struct Checked<Column::Infer>;
template struct Checked<Column::Shard>;
template struct Checked<Column::Layout>;
template struct Checked<Column::Gradient>;
template struct Checked<Column::Legalise>;
template struct Checked<Column::Mixed>;

}  // namespace

std::string_view class_name(Class c) { return kClassRows[std::size_t(c)].name; }

Class class_of(Id id) { return kClasses[std::size_t(id)]; }

bool may_overwrite(Id id) { return kClassRows[std::size_t(class_of(id))].over; }

std::string_view reason(Column column, std::string_view name) {
  const Row* row = find(name);
  if (!row) return {};
  for (const OpReason& r : kOpReasons)
    if (r.column == column && r.id == row->id) return r.text;
  for (const ClassReason& r : kClassReasons)
    if (r.column == column && r.of == class_of(row->id)) return r.text;
  return {};
}

}  // namespace rldb::op
