// SlotTable: names of shape-heap slots, from the lowered code and the types in it.
#include "codegen/vm/slots.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/heap.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {
namespace {

using namespace ir;
using bytecode::MakeShapeCode;
using bytecode::MatchShapeCode;

// The dims of a value's type, when they are known.
Span<const Expr*> dims_of(const Type* type) {
  if (const auto* t = as<TensorType>(type); t && t->has_shape) return t->shape;
  if (const auto* s = as<ShapeType>(type); s && s->has_values) return s->values;
  return {};
}

// An expression of a computing PrimFunc, with heap loads replaced by the expressions of their slots.
class TextOf {
 public:
  TextOf(const Buffer* heap, const std::vector<bytecode::SlotDebug>& slots) : heap_(heap), slots_(slots) {}

  std::string text(const Expr* e, int depth = 0) const {
    constexpr int kMaxDepth = 200;
    if (depth > kMaxDepth) return "...";
    if (const auto* load = as<BufferLoad>(e); load && load->buffer == heap_) {
      auto index = load->indices.size() == 1 ? const_int(load->indices[0]) : std::nullopt;
      if (index && *index >= 0 && std::size_t(*index) < slots_.size() && !slots_[std::size_t(*index)].text.empty())
        return slots_[std::size_t(*index)].text;
    }
    if (const auto* b = as<BinaryExpr>(e)) {
      if (const char* sign = infix(b->op()))
        return fmt::format("{} {} {}", operand(b->a, depth), sign, operand(b->b, depth));
      if (b->kind == BinaryKind::Min || b->kind == BinaryKind::Max)
        return fmt::format("{}({}, {})", b->kind == BinaryKind::Min ? "min" : "max", text(b->a, depth + 1),
                           text(b->b, depth + 1));
    }
    if (const auto* c = as<CastExpr>(e)) return text(c->value, depth + 1);
    if (auto i = const_int(e)) return std::to_string(*i);
    return print_expr(e);
  }

 private:
  std::string operand(const Expr* e, int depth) const {
    std::string t = text(e, depth + 1);
    return t.find(' ') == std::string::npos ? t : "(" + t + ")";
  }
  static const char* infix(BinaryKind kind) {
    // Shapes contain only arithmetic; anything else is printed unchanged.
    if (kind == BinaryKind::Add) return "+";
    if (kind == BinaryKind::Sub) return "-";
    if (kind == BinaryKind::Mul) return "*";
    if (kind == BinaryKind::Div || kind == BinaryKind::FloorDiv) return "//";
    if (kind == BinaryKind::Mod || kind == BinaryKind::FloorMod) return "%";
    return nullptr;
  }
  const Buffer* heap_;
  const std::vector<bytecode::SlotDebug>& slots_;
};

}  // namespace

bytecode::SlotDebug* SlotTable::slot(std::int64_t index) {
  if (index < 0 || std::size_t(index) >= slots_.size()) return nullptr;
  return &slots_[std::size_t(index)];
}

// A program may name a slot that its heap does not have: the machine faults, and there is nothing to record.
void SlotTable::add_slot(std::vector<std::int32_t>& list, std::int64_t index) const {
  if (index < 0 || std::size_t(index) >= slots_.size()) return;
  const auto s = std::int32_t(index);
  if (std::find(list.begin(), list.end(), s) == list.end()) list.push_back(s);
}

void SlotTable::name(std::int64_t index, const Expr* value) {
  bytecode::SlotDebug* s = slot(index);
  if (!s || !value || !s->text.empty()) return;
  s->text = print_expr(value);
  s->is_variable = isa<Var>(value);
  named_.insert(value);
}

void SlotTable::store(std::int64_t index, const Expr* value, std::string bound_by) {
  bytecode::SlotDebug* s = slot(index);
  if (!s) return;
  name(index, value);
  if (s->bound_by.empty()) s->bound_by = std::move(bound_by);
}

bool SlotTable::is_parameter(const Expr* e) const {
  const auto& params = function_->params;
  return std::find(params.begin(), params.end(), e) != params.end();
}

// The tuple that `e` is a field of, or a field of a field; `e` itself if it is neither.
const Expr* SlotTable::root_of(const Expr* e) const {
  for (auto field = fields_.find(e); field != fields_.end(); field = fields_.find(e)) e = field->second.first;
  return e;
}

std::string SlotTable::place(const Expr* matched, std::size_t dimension) const {
  const Expr* root = root_of(matched);
  const auto* var = as<Var>(root);
  std::string of = "match_cast";
  if (is_parameter(root))
    of = fmt::format("parameter `{}`", var->name);
  else if (root == function_->body->body)
    of = "the return value";
  else if (var)
    of = fmt::format("match_cast of `{}`", var->name);
  return fmt::format("{}, dimension {}", of, dimension);
}

void SlotTable::see(const Binding* binding, bytecode::InstructionDebug& debug) {
  if (binding->is_match_cast()) return see_match_cast(binding);
  if (const auto* get = as<TupleGetItem>(binding->value)) fields_[binding->var] = {get->tuple, get->index};
  const auto* call = as<Call>(binding->value);
  if (!call) return;
  if (const auto* f = as<ExternFunc>(call->callee)) return see_call(call, f->symbol, binding->var, debug);
  if (const auto* op = as<Op>(call->callee)) {
    if (op->name != op::CallBuiltinWithCtx || call->args.empty()) return;
    if (const auto* f = as<ExternFunc>(call->args[0])) see_call(call, f->symbol, binding->var, debug);
    return;
  }
  if (const auto* g = as<GlobalVar>(call->callee)) {
    const bool uses_heap = std::any_of(call->args.begin(), call->args.end(), [&](const Expr* a) { return is_heap(a); });
    if (uses_heap) see_prim_func(as<PrimFunc>(module_->find(g->name)), call, debug);
  }
}

void SlotTable::see_call(const Call* call, std::string_view symbol, const Var* bound,
                         bytecode::InstructionDebug& debug) {
  if (symbol == builtin::AllocShapeHeap) {
    if (heap_) return;  // a function that was lowered before it was built has one more; the build's own is the first
    heap_ = bound;
    Span<const Expr*> args = call->args;
    if (args.size() == 2)
      if (const auto* t = as<Tuple>(args[1])) args = t->items;
    constexpr std::int64_t kMaxSlots = 1 << 20;
    if (args.size() == 1)
      if (auto size = const_int(args[0]); size && *size >= 0 && *size <= kMaxSlots) slots_.resize(std::size_t(*size));
    return;
  }
  if (std::none_of(call->args.begin(), call->args.end(), [&](const Expr* a) { return is_heap(a); })) return;
  if (symbol == builtin::MatchShape) return see_match(call, debug);
  if (symbol == builtin::MakeShape) return see_make_shape(call, debug);
  if (symbol == builtin::MatchPrimValue && call->args.size() == 5) {
    auto code = const_int(call->args[2]), index = const_int(call->args[3]);
    if (!code || !index) return;
    if (MatchShapeCode(*code) == MatchShapeCode::StoreToHeap) {
      add_slot(debug.slots_written, *index);
      const auto* var = as<Var>(call->args[0]);
      const bool is_param = is_parameter(call->args[0]);
      store(*index, call->args[0], var ? fmt::format("{}`{}`", is_param ? "parameter " : "", var->name) : "a scalar");
    }
    if (MatchShapeCode(*code) == MatchShapeCode::AssertEqualToLoad) add_slot(debug.slots_read, *index);
  }
  if (symbol == builtin::MakePrimValue && call->args.size() == 3) {
    auto code = const_int(call->args[1]), index = const_int(call->args[2]);
    if (code && index && MakeShapeCode(*code) == MakeShapeCode::LoadShape) add_slot(debug.slots_read, *index);
  }
}

void SlotTable::see_match(const Call* call, bytecode::InstructionDebug& debug) {
  if (call->args.size() < 4) return;
  Span<const Expr*> dims = dims_of(call->args[0]->type);
  std::size_t pairs = (call->args.size() - 4) / 2;
  for (std::size_t d = 0; d < pairs; ++d) {
    auto code = const_int(call->args[3 + 2 * d]), index = const_int(call->args[4 + 2 * d]);
    if (!code || !index) continue;
    if (MatchShapeCode(*code) == MatchShapeCode::AssertEqualToLoad) add_slot(debug.slots_read, *index);
    if (MatchShapeCode(*code) != MatchShapeCode::StoreToHeap) continue;
    add_slot(debug.slots_written, *index);
    const Expr* symbol = d < dims.size() ? dims[d] : nullptr;
    // Each symbol has one slot. A value without a symbol, or one that has its slot, gets another from a match_cast.
    const bool from_cast = !symbol || named_.contains(symbol);
    if (from_cast) pending_.push_back({call->args[0], d, *index});
    store(*index, from_cast ? nullptr : symbol, place(call->args[0], d));
  }
}

// The type of `part` when `of` has the type: itself, a field of it, a field of a field. Null when it is none of these.
const Type* SlotTable::type_inside(const Type* type, const Expr* of, const Expr* part) const {
  std::vector<std::int64_t> path;
  constexpr std::size_t kMaxPath = 100;
  while (part != of) {
    auto field = fields_.find(part);
    if (field == fields_.end() || path.size() == kMaxPath) return nullptr;
    path.push_back(field->second.second);
    part = field->second.first;
  }
  for (auto index = path.rbegin(); index != path.rend(); ++index) {
    const auto* tuple = as<TupleType>(type);
    if (!tuple || *index < 0 || std::size_t(*index) >= tuple->fields.size()) return nullptr;
    type = tuple->fields[std::size_t(*index)];
  }
  return type;
}

void SlotTable::see_match_cast(const Binding* binding) {
  std::erase_if(pending_, [&](const Store& s) {
    const Type* type = type_inside(binding->cast_type, binding->value, s.value);
    if (!type) return false;
    Span<const Expr*> dims = dims_of(type);
    if (s.dimension < dims.size()) {
      name(s.slot, dims[s.dimension]);
      if (bytecode::SlotDebug* debug = slot(s.slot))
        debug->bound_by = fmt::format("match_cast to `{}`, dimension {}", binding->var->name, s.dimension);
    }
    return true;
  });
}

void SlotTable::see_make_shape(const Call* call, bytecode::InstructionDebug& debug) {
  if (call->args.size() < 2) return;
  Span<const Expr*> dims = dims_of(call->type);
  std::size_t pairs = (call->args.size() - 2) / 2;
  for (std::size_t d = 0; d < pairs; ++d) {
    auto code = const_int(call->args[2 + 2 * d]), index = const_int(call->args[3 + 2 * d]);
    if (!code || !index || MakeShapeCode(*code) != MakeShapeCode::LoadShape) continue;
    add_slot(debug.slots_read, *index);
    if (d < dims.size()) name(*index, dims[d]);
  }
}

void SlotTable::see_prim_func(const PrimFunc* f, const Call* call, bytecode::InstructionDebug& debug) {
  if (!f) return;
  const Buffer* heap = nullptr;
  for (std::size_t i = 0; i < call->args.size() && i < f->params.size(); ++i)
    if (is_heap(call->args[i])) heap = f->params[i].buffer;
  if (!heap) return;
  walk(f, [&](const Node* n) {
    if (const auto* s = as<BufferStore>(n); s && s->buffer == heap && s->indices.size() == 1) {
      if (auto index = const_int(s->indices[0])) {
        add_slot(debug.slots_written, *index);
        computed_.push_back({*index, heap, s->value});
      }
    }
    if (const auto* l = as<BufferLoad>(n); l && l->buffer == heap && l->indices.size() == 1)
      if (auto index = const_int(l->indices[0])) add_slot(debug.slots_read, *index);
    return true;
  });
}

void SlotTable::name_computed(const Computed& computed) {
  bytecode::SlotDebug* entry = slot(computed.slot);
  if (!entry) return;
  if (entry->text.empty()) entry->text = TextOf(computed.heap, slots_).text(computed.value);
  if (!entry->bound_by.empty()) return;
  constexpr std::string_view kCast = "match_cast";
  std::vector<std::string> from;
  walk(computed.value, [&](const Node* n) {
    const auto* load = as<BufferLoad>(n);
    const auto index =
        load && load->buffer == computed.heap && load->indices.size() == 1 ? const_int(load->indices[0]) : std::nullopt;
    const bytecode::SlotDebug* read = index ? slot(*index) : nullptr;
    if (!read || !read->bound_by.starts_with(kCast)) return true;
    std::string text = fmt::format("`{}` ({})", read->text, read->bound_by);
    if (std::find(from.begin(), from.end(), text) == from.end()) from.push_back(std::move(text));
    return true;
  });
  entry->bound_by = from.empty() ? "computed" : fmt::format("computed from {}", fmt::join(from, ", "));
}

std::vector<bytecode::SlotDebug> SlotTable::finish() {
  for (const Computed& computed : computed_) name_computed(computed);
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].text.empty()) slots_[i].text = fmt::format("slot {}", i);
  return std::move(slots_);
}

}  // namespace rldb::codegen
