// RecordedKernel: every write of a kernel, from an execution by the evaluator.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "debug/provenance/reads.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/eval/machine_view.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/thread_barriers.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/copy.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using ir::as;
using runtime::ErrorKind;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

// Its writes there are not known.
constexpr std::string_view kPassesMemory = "it passes memory to a packed function";
constexpr std::uint64_t kMaxStatements = 5'000'000;  // that are recorded

// The expressions that decide whether and how often the statements below one are executed: conditions, or bounds of a
// loop.
struct Deciding {
  std::vector<const ir::Expr*> parts;
  ReadRole role = ReadRole::Condition;
};
Deciding deciding_of(const ir::Stmt* s) {
  if (const auto* branch = as<ir::IfThenElse>(s)) return {{branch->cond}};
  if (const auto* loop = as<ir::WhileStmt>(s)) return {{loop->cond}};
  if (const auto* loop = as<ir::ForStmt>(s)) return {{loop->min, loop->extent}, ReadRole::Bound};
  if (const auto* realize = as<ir::SBlockRealize>(s)) return {{realize->predicate}};
  return {};
}

// Executes a kernel on copies, and shows each write before it is made.
class Recording : private eval::AccessWatcher {
 public:
  using See = std::function<void(const MemoryPlace&, KernelWrite)>;
  Recording(const ir::PrimFunc* f, const std::vector<Value>& args, See see, EarlyReads early = {})
      : f_(f), args_(args), see_(std::move(see)), early_(std::move(early)) {}

  Result<Unit> record() {
    RLDB_TRY_VOID(copy_arguments());
    find_deciding();
    eval::TirMachine machine(f_, nullptr);
    machine.watch(this);
    RLDB_TRY_VOID(machine.start(copies_));
    machine_ = &machine;
    while (machine.running() && problem_.empty()) {
      if (machine.steps() > kMaxStatements)
        return unsupported(
            fmt::format("it executes more than {} statements, and its writes depend on memory that it writes itself",
                        kMaxStatements));
      if ((machine.steps() & 1023) == 0) support::poll();
      look_at(machine.current());
      if (auto done = machine.step(); !done.ok())
        return done.error().kind == ErrorKind::UnknownFunction ? unsupported(std::string(kPassesMemory))
                                                               : support::Failure(std::move(done).error());
    }
    machine_ = nullptr;
    if (!problem_.empty()) return unsupported(problem_);
    return Unit{};
  }

 private:
  static support::Failure<runtime::Error> unsupported(std::string why) {
    return runtime::fail(ErrorKind::Unsupported, std::move(why));
  }
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
    storing_ = as<ir::BufferStore>(s);
    if (storing_) return keep(storing_);
    if (const auto* let = as<ir::BindStmt>(s)) return bind(let->var, let->value);
    const auto* loop = as<ir::WhileStmt>(s);
    if (!loop && machine_->inside(s)) return;
    if (const auto* realize = as<ir::SBlockRealize>(s))
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i)
        bind(realize->block->iter_vars[i].var, realize->iter_values[i]);
    if (const auto found = deciding_.find(s); found != deciding_.end()) decide(s, found->second);
  }
  void decide(const ir::Stmt* s, const Deciding& by) {
    std::vector<KernelRead>& reads = decided_[{s, thread()}];
    reads.clear();
    for (const ir::Expr* e : by.parts) collect(e, by.role, e, 0, reads);
    made_now(reads);
  }
  void bind(const ir::Var* v, const ir::Expr* value) {
    std::vector<std::vector<KernelRead>> lanes(std::size_t(std::max(1, int(value->dtype().lanes))));
    bool some = false;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      collect(value, ReadRole::Value, nullptr, int(lane), lanes[lane]);
      made_now(lanes[lane]);
      some = some || !lanes[lane].empty();
    }
    const std::pair key(v, thread());
    if (some)
      bound_[key] = std::move(lanes);
    else
      bound_.erase(key);
  }
  // Reads that are a part of later writes.
  void made_now(std::vector<KernelRead>& reads) {
    for (KernelRead& r : reads)
      if (!r.at) r.at = std::int64_t(machine_->steps());
    if (early_) early_(reads);
  }
  void collect(const ir::Expr* e, ReadRole role, const ir::Expr* condition, int lane, std::vector<KernelRead>& out) {
    if (!collect_reads(e, role, condition, scope(lane), out) && problem_.empty())
      problem_ =
          fmt::format("a part of `{}` cannot be followed", support::one_line(ir::print_expr(e, {.tensor_ir = true})));
  }

  void keep(const ir::BufferStore* store) {
    const int lanes = std::max(1, int(store->value->dtype().lanes));
    std::vector<KernelRead> around;
    for (const ir::Stmt* s : deciding_about_[store])
      if (const auto* reads = of_thread(decided_, s)) around.insert(around.end(), reads->begin(), reads->end());
    std::vector<std::pair<MemoryPlace, KernelWrite>> writes;
    for (int lane = 0; lane < lanes; ++lane) {
      KernelWrite write;
      if (store->predicate) {
        if (const auto on = eval::value_of_lane(*machine_, store->predicate, lane); on.ok() && on->as_int() == 0)
          continue;
        collect(store->predicate, ReadRole::Condition, store->predicate, lane, write.reads);
      }
      const auto place = place_of(store->buffer, store->indices, lane);
      if (!place) continue;  // out of bounds: the step reports it
      write.moment = {std::int64_t(machine_->steps())};
      write.store = store;
      collect(store->value, ReadRole::Value, nullptr, lane, write.reads);
      for (const ir::Expr* i : store->indices) collect(i, ReadRole::Index, nullptr, lane, write.reads);
      write.reads.insert(write.reads.end(), around.begin(), around.end());
      for (const ir::Stmt* s : machine_->enclosing()) note_loop(s, write);
      writes.emplace_back(*place, std::move(write));
    }
    for (auto& [place, write] : writes) see_(place, std::move(write));
  }
  // Statements with conditions, bounds and predicates, and the stores that they decide about.
  void find_deciding() {
    ir::walk(f_->body, [&](const ir::Node* n) {
      const auto* s = as<ir::Stmt>(n);
      Deciding by = s ? deciding_of(s) : Deciding{};
      if (by.role == ReadRole::Bound) std::erase_if(by.parts, [](const ir::Expr* e) { return !has_loads(e); });
      if (by.parts.empty()) return true;
      ir::walk(n, [&](const ir::Node* inside) {
        if (const auto* store = as<ir::BufferStore>(inside)) deciding_about_[store].push_back(s);
        return true;
      });
      deciding_.emplace(s, std::move(by));
      return true;
    });
    threads_wait_ = ir::threads_take_turns(f_->body);
  }
  // Threads that take turns have lets and conditions of their own.
  std::vector<std::int64_t> thread() const {
    std::vector<std::int64_t> indices;
    if (!threads_wait_) return indices;
    for (const ir::Stmt* s : machine_->enclosing()) {
      const auto* loop = as<ir::ForStmt>(s);
      const auto* attr = as<ir::AttrStmt>(s);
      if (ir::thread_tag(s).empty()) continue;
      const auto at = machine_->value_of(loop ? loop->var : attr->thread_var);
      indices.push_back(at.ok() ? at->as_int() : -1);
    }
    return indices;
  }
  // This thread's, or what was noted before its loops were entered.
  template <class What, class Noted>
  const Noted* of_thread(const std::map<std::pair<const What*, std::vector<std::int64_t>>, Noted>& all,
                         const What* what) const {
    for (std::vector<std::int64_t> indices = thread();; indices.pop_back()) {
      if (const auto it = all.find({what, indices}); it != all.end()) return &it->second;
      if (indices.empty()) return nullptr;
    }
  }
  void note_loop(const ir::Stmt* s, KernelWrite& write) const {
    const auto* loop = as<ir::ForStmt>(s);
    const auto* attr = as<ir::AttrStmt>(s);
    const ir::Var* v = loop ? loop->var : attr ? attr->thread_var : nullptr;
    if (!v) return;
    if (const auto at = machine_->value_of(v); at.ok()) write.loops.emplace_back(v, at->as_int());
  }
  ReadScope scope(int lane) const {
    return {[this, lane](const ir::Buffer* b, ir::Span<const ir::Expr*> i) { return place_of(b, i, lane); },
            [](const ir::Var*) -> const ir::Expr* { return nullptr; },
            [this, lane](const ir::Expr* e) -> std::optional<std::int64_t> {
              const auto value = eval::value_of_lane(*machine_, e, lane_in(e, lane));
              return value.ok() ? std::optional(value->as_int()) : std::nullopt;
            },
            [this, lane](const ir::Var* v) -> const std::vector<KernelRead>* {
              const auto* lanes = of_thread(bound_, v);
              return lanes ? &(*lanes)[std::size_t(lane) % lanes->size()] : nullptr;
            }};
  }
  static int lane_in(const ir::Expr* e, int lane) { return e->dtype().lanes > 1 ? lane : 0; }

  std::optional<MemoryPlace> place_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, int lane) const {
    const bool vector = b->dtype.lanes > 1 || std::any_of(indices.begin(), indices.end(),
                                                          [](const ir::Expr* i) { return i->dtype().lanes > 1; });
    const auto place = eval::place_of(*machine_, b, indices, vector ? lane : 0);
    if (!place.ok()) return std::nullopt;
    const auto own = original_.find(place->memory);
    return MemoryPlace{own == original_.end() ? static_cast<const void*>(place->memory) : own->second, place->byte};
  }

  // ---- eval::AccessWatcher: writes by other means than a store ----
  void loaded(const ir::BufferLoad*, const std::byte*, std::size_t) override {}
  void stored(const std::byte*, std::size_t) override {
    if (!storing_ && problem_.empty()) problem_ = "it writes by other means than stores";
  }
  void allocated(const std::byte*, std::size_t) override {}
  void passed(const Value&) override {
    if (problem_.empty()) problem_ = kPassesMemory;
  }

  const ir::PrimFunc* f_;
  const std::vector<Value>& args_;
  std::vector<Value> copies_;
  std::map<const runtime::Storage*, const runtime::Storage*> original_;  // of the copies
  const eval::TirMachine* machine_ = nullptr;
  std::unordered_map<const ir::Stmt*, Deciding> deciding_;
  std::unordered_map<const ir::BufferStore*, std::vector<const ir::Stmt*>> deciding_about_;
  // The reads of what decides, the last time; of what is bound, by lane.
  std::map<std::pair<const ir::Stmt*, std::vector<std::int64_t>>, std::vector<KernelRead>> decided_;
  std::map<std::pair<const ir::Var*, std::vector<std::int64_t>>, std::vector<std::vector<KernelRead>>> bound_;
  bool threads_wait_ = false;
  const ir::BufferStore* storing_ = nullptr;
  std::string problem_;
  See see_;
  EarlyReads early_;
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
                        const std::function<void(const MemoryPlace&, const KernelWrite&)>& see,
                        const EarlyReads& early) {
  return Recording(f, args, see, early).record();
}

}  // namespace rldb::debug
