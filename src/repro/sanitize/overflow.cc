// Steps through a kernel and computes the unbounded values of its integer expressions.
#include "repro/sanitize/overflow.h"

#include <algorithm>

#include "repro/values.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/printer.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using ir::as;
using runtime::Value;
using runtime::ValueKind;
__extension__ typedef __int128 Wide;

namespace {

constexpr std::uint64_t kMaxSteps = 2'000'000;

bool is_signed_int(runtime::DType t) { return t.is_int() && !t.is_bool() && t.lanes == 1; }

bool fits(Wide n, runtime::DType t) {
  const Wide limit = Wide(1) << (t.bits - 1);
  return -limit <= n && n < limit;
}

std::string text_of(Wide n) {
  const bool negative = n < 0;
  std::string digits;
  for (Wide left = negative ? -n : n; left > 0 || digits.empty(); left /= 10) digits += char('0' + int(left % 10));
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

runtime::DType dtype_of(const ir::Expr* e) {
  const auto* p = as<ir::PrimType>(e->type);
  return p ? p->dtype : runtime::DType();
}

// Finds the first subexpression, in evaluation order, whose result does not fit its dtype.
class Search {
 public:
  explicit Search(const eval::TirMachine& machine) : machine_(machine) {}

  const ir::Expr* found = nullptr;
  Wide number = 0;

  void visit(const ir::Expr* e) {
    if (found || !e) return;
    if (const auto* b = as<ir::BinaryExpr>(e)) {
      visit(b->a);
      visit(b->b);
      check(b);
    } else if (const auto* c = as<ir::CastExpr>(e)) {
      visit(c->value);
      if (const auto n = integer(c->value); !found && n && is_signed_int(dtype_of(c)) && !fits(*n, dtype_of(c)))
        tell(c, *n);
    } else if (const auto* s = as<ir::SelectExpr>(e)) {
      visit(s->cond);
      if (const auto n = integer(s->cond)) visit(*n ? s->true_value : s->false_value);
    } else if (const auto* call = as<ir::Call>(e)) {
      visit_call(call);
    } else if (const auto* load = as<ir::BufferLoad>(e)) {
      for (const ir::Expr* index : load->indices) visit(index);
    }
  }

 private:
  // Only evaluated parts: one side of a conditional.
  void visit_call(const ir::Call* call) {
    const auto* op = as<ir::Op>(call->callee);
    const bool conditional = op && op->intrinsic && op->intrinsic->id == ir::intrin::IfThenElse;
    if (!conditional || call->args.size() != 3) {
      for (const ir::Expr* arg : call->args) visit(arg);
      return;
    }
    visit(call->args[0]);
    if (const auto n = integer(call->args[0])) visit(call->args[*n ? 1 : 2]);
  }

  void check(const ir::BinaryExpr* b) {
    const runtime::DType t = dtype_of(b);
    if (found || !is_signed_int(t)) return;
    using ir::BinaryKind;
    const BinaryKind op = b->op();
    if (op != BinaryKind::Add && op != BinaryKind::Sub && op != BinaryKind::Mul) return;
    const auto x = integer(b->a), y = integer(b->b);
    if (!x || !y) return;
    const Wide n = op == BinaryKind::Add ? *x + *y : op == BinaryKind::Sub ? *x - *y : *x * *y;
    if (!fits(n, t)) tell(b, n);
  }

  void tell(const ir::Expr* e, Wide n) {
    found = e;
    number = n;
  }

  std::optional<Wide> integer(const ir::Expr* e) const {
    const auto v = machine_.value_of(e);
    if (!v.ok() || (!v->is(ValueKind::Int) && !v->is(ValueKind::Bool))) return std::nullopt;
    return Wide(v->as_int());
  }

  const eval::TirMachine& machine_;
};

std::vector<std::int64_t> indices_of(const eval::TirMachine& machine, const ir::BufferStore* store) {
  std::vector<std::int64_t> out;
  for (const ir::Expr* index : store->indices)
    if (const auto v = machine.value_of(index); v.ok() && v->is(ValueKind::Int)) out.push_back(v->as_int());
  return out;
}

std::optional<Finding> first_overflow(const ir::PrimFunc* f, runtime::PackedArgs args,
                                      const runtime::PackedRegistry& registry) {
  eval::TirMachine machine(f, &registry);
  const std::vector<Value> own = copies({args.begin(), args.end()});
  if (!machine.start(own).ok()) return std::nullopt;
  for (std::uint64_t steps = 0; machine.running() && steps < kMaxSteps; ++steps) {
    support::poll();
    if (const auto* store = as<ir::BufferStore>(machine.current())) {
      Search search(machine);
      search.visit(store->value);
      if (search.found) {
        Finding out;
        out.kind = Finding::Kind::Overflow;
        out.tensor = std::string(store->buffer->name);
        out.element = indices_of(machine, store);
        ir::PrintOptions print;
        print.tensor_ir = true;
        out.statement = ir::print_expr(search.found, print);
        out.number = text_of(search.number);
        out.dtype = runtime::to_string(dtype_of(search.found));
        return out;
      }
    }
    if (!machine.step().ok()) return std::nullopt;  // the run itself will report it
  }
  return std::nullopt;
}

}  // namespace

void OverflowRecorder::enter(std::string_view name, const ir::Function* f, runtime::PackedArgs args) {
  functions_.emplace_back(name);
  Recorder::enter(name, f, args);
}

void OverflowRecorder::leave(const Value& result) {
  functions_.pop_back();
  Recorder::leave(result);
}

void OverflowRecorder::begin(const ir::Binding* b) {
  bindings_.push_back(b);
  Recorder::begin(b);
}

runtime::Result<support::Unit> OverflowRecorder::bound(const ir::Binding* b, const Value& value) {
  bindings_.pop_back();
  return Recorder::bound(b, value);
}

runtime::Result<support::Unit> OverflowRecorder::calling(std::string_view name, const ir::PrimFunc* f,
                                                         runtime::PackedArgs args) {
  if (look_ && f)
    if (auto found = first_overflow(f, args, registry_)) tell(std::move(*found), name);
  return Recorder::calling(name, f, args);
}

void OverflowRecorder::tell(Finding finding, std::string_view kernel) {
  if (!functions_.empty()) finding.function = functions_.back();
  finding.reader_callee = std::string(kernel);
  if (!bindings_.empty()) {
    finding.reader = std::string(bindings_.back()->var->name);
    finding.text = ir::print_binding(bindings_.back());
  }
  findings_.push_back(std::move(finding));
}

}  // namespace rldb::repro
