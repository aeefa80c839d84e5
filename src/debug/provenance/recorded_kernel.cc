// RecordedKernel: every write of a kernel, from an execution by the evaluator.
#include <fmt/format.h>

#include <map>

#include "debug/provenance/reads.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/copy.h"
#include "rldb/support/cancel.h"

namespace rldb::debug {

using ir::as;
using runtime::ErrorKind;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

constexpr std::uint64_t kMaxStatements = 5'000'000;  // that are recorded

// Executes a kernel on copies, and shows each write before it is made.
class Recording {
 public:
  using See = std::function<void(const MemoryPlace&, KernelWrite)>;
  Recording(const ir::PrimFunc* f, const std::vector<Value>& args, See see)
      : f_(f), args_(args), see_(std::move(see)) {}

  Result<Unit> record() {
    RLDB_TRY_VOID(copy_arguments());
    find_conditions();
    eval::TirMachine machine(f_, nullptr);
    RLDB_TRY_VOID(machine.start(copies_));
    machine_ = &machine;
    while (machine.running()) {
      if (machine.steps() > kMaxStatements)
        return runtime::fail(ErrorKind::Unsupported,
                             fmt::format("it executes more than {} statements, and its writes depend on memory that it "
                                         "writes itself",
                                         kMaxStatements));
      if ((machine.steps() & 1023) == 0) support::poll();
      look_at(machine.current());
      RLDB_TRY_VOID(machine.step());
    }
    machine_ = nullptr;
    return Unit{};
  }

 private:
  // Tensors that share a storage share it in the copies too.
  Result<Unit> copy_arguments() {
    RLDB_TRY(const Value copy, runtime::deep_copy(Value::of_tuple(args_)));
    copies_ = copy.as_tuple().fields;
    for (std::size_t i = 0; i < args_.size(); ++i)
      if (args_[i].is(ValueKind::Tensor))
        original_[copies_[i].as_tensor().storage().get()] = args_[i].as_tensor().storage().get();
    return Unit{};
  }

  void look_at(const ir::Stmt* s) {
    if (const auto* let = as<ir::BindStmt>(s)) lets_[let->var] = let->value;
    if (const ir::Expr* condition = condition_of(s); condition && !machine_->inside(s)) {
      see_buffers();
      decided_[s].clear();
      (void)collect_reads(condition, ReadRole::Condition, condition, scope(), decided_[s]);
    }
    if (const auto* store = as<ir::BufferStore>(s)) keep(store);
  }
  void keep(const ir::BufferStore* store) {
    see_buffers();
    const auto place = place_of(store->buffer, store->indices);
    if (!place) return;
    KernelWrite write;
    write.moment = {std::int64_t(machine_->steps())};
    write.store = store;
    (void)collect_reads(store->value, ReadRole::Value, nullptr, scope(), write.reads);
    (void)collect_indices(store->indices, scope(), write.reads);
    for (const ir::Stmt* s : deciding_[store])
      write.reads.insert(write.reads.end(), decided_[s].begin(), decided_[s].end());
    for (const ir::Stmt* around : machine_->enclosing()) note_loop(around, write);
    see_(*place, std::move(write));
  }
  // Branches and predicates, by the stores that they decide about.
  void find_conditions() {
    ir::walk(f_->body, [&](const ir::Node* n) {
      const auto* s = as<ir::Stmt>(n);
      if (s && condition_of(s))
        ir::walk(n, [&](const ir::Node* inside) {
          if (const auto* store = as<ir::BufferStore>(inside)) deciding_[store].push_back(s);
          return true;
        });
      return true;
    });
  }
  static const ir::Expr* condition_of(const ir::Stmt* s) {
    if (const auto* branch = as<ir::IfThenElse>(s)) return branch->cond;
    const auto* realize = as<ir::SBlockRealize>(s);
    return realize ? realize->predicate : nullptr;
  }
  void note_loop(const ir::Stmt* s, KernelWrite& write) const {
    const auto* loop = as<ir::ForStmt>(s);
    const auto* attr = as<ir::AttrStmt>(s);
    const ir::Var* v = loop ? loop->var : attr ? attr->thread_var : nullptr;
    if (!v) return;
    if (const auto at = machine_->value_of(v); at.ok()) write.loops.emplace_back(v, at->as_int());
  }
  ReadScope scope() const {
    return {[this](const ir::Buffer* b, ir::Span<const ir::Expr*> i) { return place_of(b, i); },
            [this](const ir::Var* v) -> const ir::Expr* {
              const auto it = lets_.find(v);
              return it == lets_.end() ? nullptr : it->second;
            },
            [this](const ir::Expr* e) -> std::optional<std::int64_t> {
              const auto value = machine_->value_of(e);
              return value.ok() ? std::optional(value->as_int()) : std::nullopt;
            }};
  }
  void see_buffers() {
    tensors_.clear();
    for (auto& [b, value] : machine_->buffers())
      if (value.is(ValueKind::Tensor)) tensors_.emplace(b, value);
  }

  std::optional<MemoryPlace> place_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const {
    const auto it = tensors_.find(b);
    if (it == tensors_.end()) return std::nullopt;
    const Tensor& t = it->second.as_tensor();
    std::int64_t position = 0;
    for (std::size_t d = 0; d < indices.size() && d < t.shape().size(); ++d) {
      if (indices[d]->dtype().lanes != 1) return std::nullopt;
      const auto i = machine_->value_of(indices[d]);
      if (!i.ok() || i->as_int() < 0 || i->as_int() >= t.shape()[d]) return std::nullopt;
      position = position * t.shape()[d] + i->as_int();
    }
    const auto own = original_.find(t.storage().get());
    const void* memory = own == original_.end() ? static_cast<const void*>(t.storage().get()) : own->second;
    return MemoryPlace{memory, std::int64_t(t.byte_offset()) + position * std::int64_t(t.dtype().bytes())};
  }

  const ir::PrimFunc* f_;
  const std::vector<Value>& args_;
  std::vector<Value> copies_;
  std::map<const runtime::Storage*, const runtime::Storage*> original_;  // of the copies
  const eval::TirMachine* machine_ = nullptr;
  std::unordered_map<const ir::Buffer*, Value> tensors_;  // now
  std::unordered_map<const ir::Var*, const ir::Expr*> lets_;
  std::unordered_map<const ir::BufferStore*, std::vector<const ir::Stmt*>> deciding_;
  std::unordered_map<const ir::Stmt*, std::vector<KernelRead>>
      decided_;  // the reads of their conditions, the last time
  See see_;
};

class RecordedKernel : public KernelWrites {
 public:
  void keep(const MemoryPlace& place, KernelWrite write) { writes_[place].push_back(std::move(write)); }

  Result<Unit> visit(const MemoryPlace& place, const Moment* before, const Visit& f) override {
    const auto all = writes_.find(place);
    if (all == writes_.end()) return Unit{};
    for (std::size_t i = all->second.size(); i-- > 0;) {
      const KernelWrite& w = all->second[i];
      if (!before || w.moment < *before)
        if (!f(w)) break;
    }
    return Unit{};
  }

 private:
  std::map<MemoryPlace, std::vector<KernelWrite>> writes_;
};

}  // namespace

Result<std::unique_ptr<KernelWrites>> recorded_kernel(const ir::PrimFunc* f, const std::vector<Value>& args) {
  auto kernel = std::make_unique<RecordedKernel>();
  RLDB_TRY_VOID(
      Recording(f, args, [&](const MemoryPlace& place, KernelWrite w) { kernel->keep(place, std::move(w)); }).record());
  return std::unique_ptr<KernelWrites>(std::move(kernel));
}

Result<Unit> each_write(const ir::PrimFunc* f, const std::vector<Value>& args,
                        const std::function<void(const MemoryPlace&, const KernelWrite&)>& see) {
  return Recording(f, args, see).record();
}

}  // namespace rldb::debug
