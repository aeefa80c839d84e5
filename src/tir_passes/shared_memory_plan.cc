// Lives of shared allocations, and places for them in one buffer: allocations whose lives do not overlap may share.
//
// The statements that access an allocation are put in a sequence, in which a loop, branch or launch that contains
// accesses has an entry before and one after its body. An allocation lives from the first to the last entry of its own
// scope that touches it. Because threads run at different speeds, two allocations share only if a barrier is between
// their lives, or if each thread uses the same elements of both.
#include "tir_passes/shared_memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::uint64_t kMaxRatio = 16;      // of a place to the allocation that is put into it
constexpr std::uint64_t kSmallestBits = 32;  // smaller allocations have a place of their own

struct Life {
  std::size_t level = 0;        // of the scope that allocates it
  bool in_loop = false;         // allocated anew in each round
  bool escapes = false;         // its address is used otherwise than for an access
  std::size_t first_phase = 0;  // barriers before the first access
  std::size_t last_phase = 0;
  bool accessed = false;
  const Expr* index = nullptr;  // of all accesses; null when they differ
};

struct Entry {
  const Stmt* stmt = nullptr;
  std::ptrdiff_t pair = 0;  // to the other entry of a scope; 0 for a statement
  std::vector<const AllocBuffer*> touched;
};

// Allocations at one place, in layers: those of one layer lie side by side, those of different layers share.
struct Place {
  std::uint64_t bits = 0;  // 0: not known before it runs
  std::vector<std::vector<const AllocBuffer*>> layers;
};

std::uint64_t bits_of(const Buffer* b) {
  const auto extent = const_int(b->shape[0]);
  if (!extent || *extent < 0 || *extent > std::numeric_limits<std::int32_t>::max()) return 0;
  return std::uint64_t(*extent) * std::uint64_t(std::int64_t(b->dtype.bytes())) * 8;
}

class Lives {
 public:
  Lives(SharedMemoryPlan& plan, std::string_view scope) : plan_(plan), scope_(scope) {}
  std::vector<Entry> entries;
  std::unordered_map<const AllocBuffer*, Life> lives;

  void visit(const Stmt* s) {
    if (const auto* a = as<AllocBuffer>(s)) return allocation(a);
    if (const auto* d = as<DeclBuffer>(s)) return declaration(d);
    if (const auto* b = as<BindStmt>(s)) return expression(b->value, true);
    if (isa<BufferStore>(s) || isa<Evaluate>(s)) return leaf(s);
    const auto* attr = as<AttrStmt>(s);
    const bool launch = attr && attr->key == kThreadExtent && !std::exchange(launched_, true);
    if (launch || isa<ForStmt>(s) || isa<WhileStmt>(s) || isa<IfThenElse>(s) || isa<AssertStmt>(s) ||
        (attr && attr->key == kVirtualThread))
      return scope(s);
    children(s);
  }

 private:
  void allocation(const AllocBuffer* a) {
    if (a->buffer->scope != scope_) return;
    plan_.allocations.push_back(a);
    plan_.by_data[a->buffer->data] = a;
    if (a->buffer->shape.size() != 1) plan_.refused = a->buffer->name;
    Life& life = lives[a];
    life.level = open_.size();
    life.in_loop = loops_ > 0;
  }
  void declaration(const DeclBuffer* d) {
    if (!d->data || d->data == d->buffer->data) return;
    expression(d->data, true);
  }
  void leaf(const Stmt* s) {
    open_.emplace_back();
    open_.back().stmt = s;
    const auto* e = as<Evaluate>(s);
    if (e && is_call_of(e->value, intrin::TvmStorageSync)) ++phase_;
    if (const auto* store = as<BufferStore>(s)) {
      expression(store->value, false);
      for (const Expr* i : store->indices) expression(i, false);
      if (store->predicate) expression(store->predicate, false);
      access(store->buffer, store->indices);
    } else {
      expression(e->value, false);
    }
    Entry done = std::move(open_.back());
    open_.pop_back();
    if (!done.touched.empty()) entries.push_back(std::move(done));
  }
  void scope(const Stmt* s) {
    const bool loop = isa<ForStmt>(s) || isa<WhileStmt>(s);
    const std::size_t begin = entries.size();
    entries.push_back({s, 0, {}});
    open_.push_back({s, 0, {}});
    loops_ += loop;
    children(s);
    loops_ -= loop;
    Entry done = std::move(open_.back());
    open_.pop_back();
    done.pair = std::ptrdiff_t(begin) - std::ptrdiff_t(entries.size());
    entries[begin].pair = -done.pair;
    entries.push_back(std::move(done));
  }
  void children(const Stmt* s) {
    for_each_use(s, [&](const Node* n) {
      if (const auto* inner = as<Stmt>(n)) return visit(inner);
      if (const auto* e = as<Expr>(n)) expression(e, false);
    });
  }

  void expression(const Expr* e, bool bound) {
    walk(e, [&](const Node* n) {
      if (const auto* load = as<BufferLoad>(n)) access(load->buffer, load->indices);
      if (const auto* v = as<Var>(n)) pointer(v, bound);
      if (const auto* call = as<Call>(n); call && is_call_of(call, intrin::AddressOf) && bound)
        if (const auto* load = as<BufferLoad>(call->args[0])) pointer(load->buffer->data, true);
      return true;
    });
  }
  void access(const Buffer* b, Span<const Expr*> indices) {
    const AllocBuffer* a = touched(b->data);
    if (!a) return;
    Life& life = lives[a];
    const Expr* index = indices.size() == 1 && b->dtype == a->buffer->dtype ? indices[0] : nullptr;
    life.index = !life.accessed ? index : (life.index && index && expr_equal(life.index, index) ? index : nullptr);
    if (!life.accessed) life.first_phase = phase_;
    life.accessed = true;
    life.last_phase = phase_;
  }
  void pointer(const Var* v, bool bound) {
    const AllocBuffer* a = touched(v);
    if (!a) return;
    Life& life = lives[a];
    life.escapes = life.escapes || bound;
    life.index = nullptr;
    if (!life.accessed) life.first_phase = phase_;
    life.accessed = true;
    life.last_phase = phase_;
  }
  const AllocBuffer* touched(const Var* data) {
    const auto found = plan_.by_data.find(data);
    if (found == plan_.by_data.end()) return nullptr;
    const std::size_t level = lives[found->second].level;
    if (level < open_.size()) open_[level].touched.push_back(found->second);
    return found->second;
  }

  SharedMemoryPlan& plan_;
  std::string_view scope_;
  std::vector<Entry> open_;
  bool launched_ = false;
  int loops_ = 0;
  std::size_t phase_ = 0;
};

class Planner {
 public:
  Planner(Context& ctx, SharedMemoryPlan& plan, Lives& lives) : ctx_(ctx), plan_(plan), lives_(lives) {}

  void run() {
    find_events();
    for (const Entry& e : lives_.entries) {
      const auto at = events_.find(e.stmt);
      if (at == events_.end()) continue;
      const Events& events = at->second;
      const auto starts_here = [&](const AllocBuffer* a) {
        return e.pair == 0 && std::find(events.begin.begin(), events.begin.end(), a) != events.begin.end();
      };
      if (e.pair <= 0)
        for (const AllocBuffer* a : events.end)
          if (!starts_here(a)) release(a);
      if (e.pair >= 0)
        for (const AllocBuffer* a : events.begin) place_of_[a] = find_place(a);
      if (e.pair <= 0)
        for (const AllocBuffer* a : events.end)
          if (starts_here(a)) release(a);
    }
    lay_out();
  }

 private:
  struct Events {
    std::vector<const AllocBuffer*> begin, end;
  };

  void find_events() {
    std::unordered_map<const AllocBuffer*, bool> seen;
    const auto& entries = lives_.entries;
    for (std::size_t i = entries.size(); i-- > 0;)
      for (const AllocBuffer* a : entries[i].touched)
        if (!std::exchange(seen[a], true)) events_[entries[i].stmt].end.push_back(a);
    seen.clear();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].pair < 0) continue;
      const Entry& e = entries[std::size_t(std::ptrdiff_t(i) + entries[i].pair)];
      for (const AllocBuffer* a : e.touched)
        if (!std::exchange(seen[a], true)) events_[e.stmt].begin.push_back(a);
    }
  }

  // Whether `later` may lie where `earlier` was.
  bool may_follow(const AllocBuffer* earlier, const AllocBuffer* later) {
    const Life& a = lives_.lives[earlier];
    const Life& b = lives_.lives[later];
    if (a.escapes || b.escapes) return false;
    const bool same_elements =
        a.index && b.index && expr_equal(a.index, b.index) &&
        std::int64_t(earlier->buffer->dtype.bytes()) == std::int64_t(later->buffer->dtype.bytes());
    if (same_elements) return true;
    return !a.in_loop && !b.in_loop && a.last_phase < b.first_phase;
  }
  bool may_follow(const Place& place, const AllocBuffer* later) {
    for (const auto& layer : place.layers)
      for (const AllocBuffer* a : layer)
        if (!may_follow(a, later)) return false;
    return true;
  }

  Place* find_place(const AllocBuffer* a) {
    const std::uint64_t bits = bits_of(a->buffer);
    if (bits > kSmallestBits) {
      const auto larger = free_.lower_bound(bits);
      for (auto it = larger; it != free_.end() && it->first <= bits * kMaxRatio; ++it) {
        Place* place = it->second;
        if (!may_follow(*place, a)) continue;
        free_.erase(it);
        place->layers.push_back({a});
        return place;
      }
      if (Place* joined = join_smaller(larger, a, bits)) return joined;
    }
    places_.push_back(std::make_unique<Place>(Place{bits, {{a}}}));
    return places_.back().get();
  }

  // Several small free places side by side, the largest first.
  Place* join_smaller(std::multimap<std::uint64_t, Place*>::iterator from, const AllocBuffer* a, std::uint64_t bits) {
    std::vector<std::multimap<std::uint64_t, Place*>::iterator> used;
    Place joined;
    for (auto it = from; it != free_.begin() && joined.bits < bits;) {
      --it;
      if (!may_follow(*it->second, a)) continue;
      used.push_back(it);
      joined.bits += it->first;
      const auto& layers = it->second->layers;
      joined.layers.resize(std::max(joined.layers.size(), layers.size()));
      for (std::size_t i = 0; i < layers.size(); ++i)
        joined.layers[i].insert(joined.layers[i].end(), layers[i].begin(), layers[i].end());
    }
    if (used.empty()) return nullptr;
    for (const auto& it : used) {
      it->second->layers.clear();
      free_.erase(it);
    }
    joined.bits = std::max(joined.bits, bits);
    joined.layers.push_back({a});
    places_.push_back(std::make_unique<Place>(std::move(joined)));
    return places_.back().get();
  }

  void release(const AllocBuffer* a) {
    Place* place = place_of_[a];
    if (place->bits > kSmallestBits) free_.emplace(place->bits, place);
  }

  // Places in the order of their sizes, as they were released; then those that are never shared.
  void lay_out() {
    std::vector<const Place*> order;
    for (const auto& [bits, place] : free_) order.push_back(place);
    for (const auto& place : places_)
      if (!place->layers.empty() && std::find(order.begin(), order.end(), place.get()) == order.end() &&
          place->bits <= kSmallestBits)
        order.push_back(place.get());
    std::vector<std::int64_t> align;
    for (const Place* p : order) {
      align.resize(std::max(align.size(), p->layers.size()), 1);
      for (std::size_t i = 0; i < p->layers.size(); ++i)
        for (const AllocBuffer* a : p->layers[i]) align[i] = std::max(align[i], std::int64_t(a->buffer->dtype.bytes()));
    }
    const Expr* size = ctx_.i32(0);
    for (const Place* p : order) {
      const Expr* longest = ctx_.i32(0);
      for (std::size_t i = 0; i < p->layers.size(); ++i) {
        const Expr* at = ctx_.i32(0);
        for (const AllocBuffer* a : p->layers[i]) {
          const std::int64_t to = std::max<std::int64_t>({a->buffer->data_alignment, align[i], 1});
          const Expr* used = floor_mod(ctx_, add(ctx_, size, at), ctx_.i32(std::int32_t(to)));
          at = add(ctx_, at, floor_mod(ctx_, sub(ctx_, ctx_.i32(std::int32_t(to)), used), ctx_.i32(std::int32_t(to))));
          plan_.offsets[a] = add(ctx_, size, at);
          at = add(ctx_, at,
                   mul(ctx_, a->buffer->shape[0], ctx_.i32(std::int32_t(std::int64_t(a->buffer->dtype.bytes())))));
        }
        longest = max(ctx_, longest, at);
      }
      size = add(ctx_, size, longest);
    }
    plan_.size = size;
  }

  Context& ctx_;
  SharedMemoryPlan& plan_;
  Lives& lives_;
  std::unordered_map<const Stmt*, Events> events_;
  std::vector<std::unique_ptr<Place>> places_;
  std::multimap<std::uint64_t, Place*> free_;
  std::unordered_map<const AllocBuffer*, Place*> place_of_;
};

}  // namespace

SharedMemoryPlan plan_shared_memory(Context& ctx, const AttrStmt* kernel, std::string_view scope) {
  SharedMemoryPlan plan;
  Lives lives(plan, scope);
  lives.visit(kernel);
  if (plan.allocations.size() > 1 && plan.refused.empty()) Planner(ctx, plan, lives).run();
  return plan;
}

}  // namespace rldb::passes
