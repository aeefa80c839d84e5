// Every access of every thread, by the element's address, with the barriers that the thread has passed.
#include "repro/sanitize/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "repro/values.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::repro {

using ir::as;
using runtime::PackedArgs;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::uint64_t kMostStatements = 20'000'000;

// The variables of a kernel's threads.
struct ThreadVars {
  std::vector<const ir::Var*> blocks, threads;
};

// Nullopt: it launches no threads, or they are loops.
std::optional<ThreadVars> launched(const ir::PrimFunc* f) {
  ThreadVars vars;
  bool loops = false;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* s = as<ir::Stmt>(n);
    const std::string_view tag = s ? ir::thread_tag(s) : std::string_view();
    const auto* attr = as<ir::AttrStmt>(n);
    if (tag.empty()) return true;
    loops = loops || (!attr && (tag.starts_with("threadIdx") || tag.starts_with("blockIdx")));
    if (attr && attr->thread_var && tag.starts_with("threadIdx")) vars.threads.push_back(attr->thread_var);
    if (attr && attr->thread_var && tag.starts_with("blockIdx")) vars.blocks.push_back(attr->thread_var);
    return true;
  });
  return loops || vars.threads.size() + vars.blocks.size() == 0 ? std::nullopt : std::optional(std::move(vars));
}

struct Who {
  std::vector<std::int64_t> block, thread;
  std::uint64_t barriers = 0;  // that it has passed
  bool same_thread(const Who& o) const { return block == o.block && thread == o.thread; }
  // Nothing orders the two.
  bool races_with(const Who& o) const { return block != o.block || (thread != o.thread && barriers == o.barriers); }
};

class ThreadAccesses : public eval::AccessWatcher {
 public:
  ThreadAccesses(const eval::TirMachine& machine, ThreadVars vars) : machine_(machine), vars_(std::move(vars)) {}

  // Before each statement.
  void see_statement() {
    const auto* e = as<ir::Evaluate>(machine_.current());
    const ir::Meeting m = e ? ir::meeting_of(e->value) : ir::Meeting::None;
    fresh_ = false;
    if (m != ir::Meeting::Barrier && m != ir::Meeting::AllReduce) return;
    ++barriers_[now().block_and_thread()];
  }

  void loaded(const ir::BufferLoad* load, const std::byte* at, std::size_t) override {
    if (busy_ || done_) return;
    const Who who = now().who;
    Place& p = places_[at];
    if (p.written && who.races_with(p.writer)) return tell(load->buffer, load->indices, p.writer, who, "read");
    for (Who& r : p.readers)
      if (r.same_thread(who)) return void(r = who);
    // Two of them are enough: whoever writes races with one that it is not.
    std::erase_if(p.readers, [&](const Who& r) { return r.block == who.block && r.barriers != who.barriers; });
    if (p.readers.size() < 2) p.readers.push_back(who);
  }
  void stored(const std::byte* at, std::size_t) override {
    const auto* store = as<ir::BufferStore>(machine_.current());
    if (busy_ || done_ || !store) return;
    const Who who = now().who;
    Place& p = places_[at];
    if (p.written && who.races_with(p.writer)) return tell(store->buffer, store->indices, p.writer, who, "written");
    for (const Who& r : p.readers)
      if (who.races_with(r)) return tell(store->buffer, store->indices, who, r, "read");
    p.written = true;
    p.writer = who;
  }
  void allocated(const std::byte* at, std::size_t bytes) override {
    for (std::size_t i = 0; i < bytes; ++i) places_.erase(at + i);
  }
  void passed(const Value&) override {}

  std::vector<Finding> take() { return std::move(found_); }

 private:
  struct Place {
    bool written = false;
    Who writer;
    std::vector<Who> readers;
  };
  struct Now {
    Who who;
    std::vector<std::int64_t> block_and_thread() const {
      std::vector<std::int64_t> all = who.block;
      all.insert(all.end(), who.thread.begin(), who.thread.end());
      return all;
    }
  };

  const Now& now() {
    if (fresh_) return now_;
    busy_ = true;
    const auto values = [&](const std::vector<const ir::Var*>& vars) {
      std::vector<std::int64_t> out;
      for (const ir::Var* v : vars) {
        const auto value = machine_.value_of(v);
        out.push_back(value.ok() && value->is(ValueKind::Int) ? value->as_int() : -1);
      }
      return out;
    };
    now_.who.block = values(vars_.blocks);
    now_.who.thread = values(vars_.threads);
    const auto passed = barriers_.find(now_.block_and_thread());
    now_.who.barriers = passed == barriers_.end() ? 0 : passed->second;
    busy_ = false;
    fresh_ = true;
    return now_;
  }

  std::string name_of(const Who& who) const {
    std::string text;
    const auto add = [&](const std::vector<const ir::Var*>& vars, const std::vector<std::int64_t>& at) {
      for (std::size_t i = 0; i < vars.size() && i < at.size(); ++i)
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", vars[i]->name, at[i]);
    };
    add(vars_.blocks, who.block);
    add(vars_.threads, who.thread);
    return text;
  }

  // The first of each buffer.
  void tell(const ir::Buffer* buffer, ir::Span<const ir::Expr*> indices, const Who& writer, const Who& other,
            std::string_view what) {
    if (std::any_of(found_.begin(), found_.end(), [&](const Finding& f) { return f.tensor == buffer->name; })) return;
    busy_ = true;
    Finding f;
    f.kind = Finding::Kind::Race;
    f.tensor = std::string(buffer->name);
    for (const ir::Expr* i : indices)
      if (const auto v = machine_.value_of(i); v.ok() && v->is(ValueKind::Int)) f.element.push_back(v->as_int());
    busy_ = false;
    f.statement =
        fmt::format("written by the thread {} and {} by the thread {}", name_of(writer), what, name_of(other));
    f.number = writer.block != other.block ? "nothing orders two blocks" : "no barrier is in between";
    found_.push_back(std::move(f));
    constexpr std::size_t kMost = 8;
    done_ = found_.size() == kMost;
  }

  const eval::TirMachine& machine_;
  ThreadVars vars_;
  std::unordered_map<const std::byte*, Place> places_;
  std::map<std::vector<std::int64_t>, std::uint64_t> barriers_;
  Now now_;
  bool fresh_ = false;  // `now_` is of this statement
  bool busy_ = false;   // what is looked up here is itself an access
  bool done_ = false;
  std::vector<Finding> found_;
};

}  // namespace

runtime::Result<support::Unit> RaceRecorder::calling(std::string_view name, const ir::PrimFunc* f, PackedArgs args) {
  if (races_ && f) look_for_races(name, f, args);
  return UninitRecorder::calling(name, f, args);
}

void RaceRecorder::look_for_races(std::string_view name, const ir::PrimFunc* f, PackedArgs args) {
  auto vars = launched(f);
  if (!vars) return;
  eval::TirMachine machine(f, &registry());
  ThreadAccesses accesses(machine, *std::move(vars));
  machine.watch(&accesses);
  const std::vector<Value> own = copies({args.begin(), args.end()});
  bool runs = machine.start(own).ok();
  for (std::uint64_t statements = 0; runs && machine.running(); ++statements) {
    support::poll();
    accesses.see_statement();
    runs = statements < kMostStatements && machine.step().ok();
  }
  if (!runs) not_raced_.emplace(name);
  for (Finding& found : accesses.take()) tell(std::move(found), name);
}

}  // namespace rldb::repro
