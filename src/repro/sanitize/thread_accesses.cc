// Every access of every thread, with the barriers that the thread has passed.
#include "repro/sanitize/thread_accesses.h"

#include <fmt/format.h>

#include <algorithm>

#include "repro/values.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::size_t kMostElements = 2'000'000;
constexpr std::size_t kMostRaces = 8;
constexpr std::int64_t kWarpLanes = 32;
constexpr std::string_view kWarpScope = "warp";

std::uint32_t number_of(std::map<std::vector<std::int64_t>, std::uint32_t>& known, std::vector<std::int64_t> indices) {
  return known.try_emplace(std::move(indices), std::uint32_t(known.size())).first->second;
}

bool is_of_warp(const ir::Expr* barrier) {
  const auto* call = as<ir::Call>(barrier);
  const auto* scope = call && !call->args.empty() ? as<ir::StringImm>(call->args[0]) : nullptr;
  return scope && scope->value == kWarpScope;
}

// Of one thread, or exchanged by means that no barrier orders.
bool is_private(const ir::Buffer* b) { return b->scope == "local" || b->scope == kWarpScope; }

}  // namespace

bool is_thread_index(std::string_view tag) { return tag.starts_with("threadIdx") || tag.starts_with("blockIdx"); }

bool is_launch(const ir::AttrStmt* s) { return s->thread_var && is_thread_index(ir::thread_tag(s)); }

namespace {

Launches launches_in(const ir::AttrStmt* outer) {
  Launches all;
  const auto add = [](std::vector<const ir::AttrStmt*>& list, const ir::AttrStmt* launch) {
    const bool known = std::any_of(list.begin(), list.end(),
                                   [&](const ir::AttrStmt* l) { return ir::thread_tag(l) == ir::thread_tag(launch); });
    if (!known) list.push_back(launch);
  };
  ir::walk(outer, [&](const ir::Node* n) {
    const auto* attr = as<ir::AttrStmt>(n);
    if (attr && is_launch(attr)) add(ir::thread_tag(attr).starts_with("block") ? all.blocks : all.threads, attr);
    return true;
  });
  const auto inner_first = [](const ir::AttrStmt* a, const ir::AttrStmt* b) {
    return ir::thread_tag(a) < ir::thread_tag(b);
  };
  std::sort(all.blocks.begin(), all.blocks.end(), inner_first);
  std::sort(all.threads.begin(), all.threads.end(), inner_first);
  return all;
}

}  // namespace

// A launch begins after the one before has ended.
void ThreadAccesses::launched(const ir::AttrStmt* outer) {
  launches_ = launches_in(outer);
  elements_.clear();
  blocks_.clear();
  threads_.clear();
  passed_.clear();
  extents_.clear();
  fresh_ = false;
}

std::size_t ThreadAccesses::Hash::operator()(const Element& e) const {
  std::uint64_t h = std::uint64_t(reinterpret_cast<std::uintptr_t>(e.memory));
  h = (h ^ e.offset * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  return std::size_t((h ^ (h >> 29)) + e.block);
}

void ThreadAccesses::see_statement() {
  fresh_ = false;
  allocations_ = 0;
  const auto* e = as<ir::Evaluate>(machine_.current());
  const ir::Meeting meeting = e ? ir::meeting_of(e->value) : ir::Meeting::None;
  if (meeting != ir::Meeting::Barrier && meeting != ir::Meeting::AllReduce) return;
  const Who who = now();
  Passed& passed = passed_[{who.block, who.thread}];
  ++(meeting == ir::Meeting::Barrier && is_of_warp(e->value) ? passed.warp_barriers : passed.barriers);
  fresh_ = false;
}

void ThreadAccesses::loaded(const ir::BufferLoad* load, const std::byte* at, std::size_t) {
  if (busy_ || done_ || is_private(load->buffer)) return;
  const Who who = now();
  History* h = history(load->buffer, at, who);
  if (!h) return;
  if (h->written && who.races_with(h->writer)) return tell(load->buffer, load->indices, h->writer, who, "read");
  for (Who& r : h->readers)
    if (r.same_thread(who)) return void(r = who);
  std::erase_if(h->readers, [&](const Who& r) { return r.block == who.block && !r.same_epoch(who); });
  if (h->readers.size() < 2) h->readers.push_back(who);
}

void ThreadAccesses::stored(const std::byte* at, std::size_t) {
  const auto* store = as<ir::BufferStore>(machine_.current());
  if (busy_ || done_ || !store || is_private(store->buffer)) return;
  const Who who = now();
  History* h = history(store->buffer, at, who);
  if (!h) return;
  if (h->written && who.races_with(h->writer)) return tell(store->buffer, store->indices, h->writer, who, "written");
  for (const Who& r : h->readers)
    if (who.races_with(r)) return tell(store->buffer, store->indices, who, r, "read");
  h->written = true;
  h->writer = who;
}

void ThreadAccesses::allocated(const std::byte* at, std::size_t bytes) {
  auto it = own_.lower_bound(at);
  if (it != own_.begin() && std::prev(it)->first + std::prev(it)->second.bytes > at) --it;
  while (it != own_.end() && it->first < at + bytes) it = own_.erase(it);
  own_[at] = {machine_.current(), allocations_++, bytes};
}

void ThreadAccesses::passed(const Value& tensor) {
  for_each_tensor(tensor, [&](const runtime::Tensor&) { passed_memory_ = true; });
}

// Null: too many.
ThreadAccesses::History* ThreadAccesses::history(const ir::Buffer*, const std::byte* at, const Who& who) {
  Element e{at, 0, 0};
  auto it = own_.upper_bound(at);
  if (it != own_.begin() && (--it)->first + it->second.bytes > at)
    e = {it->second.by, (it->second.number << 40) + std::uint64_t(at - it->first), who.block};
  if (elements_.size() >= kMostElements && !elements_.contains(e)) {
    full_ = true;
    return nullptr;
  }
  return &elements_[e];
}

// Outside of an inner launch its threads have no index, and are one.
ThreadAccesses::Indices ThreadAccesses::values(const std::vector<const ir::AttrStmt*>& launches) const {
  Indices out;
  for (const ir::AttrStmt* launch : launches) {
    const auto value = machine_.value_of(launch->thread_var);
    out.push_back(value.ok() && value->is(ValueKind::Int) ? value->as_int() : -1);
  }
  return out;
}

std::uint32_t ThreadAccesses::warp_of(const Indices& thread) {
  for (std::size_t i = extents_.size(); i < launches_.threads.size(); ++i) {
    const auto extent = machine_.value_of(launches_.threads[i]->value);
    if (!extent.ok() || !extent->is(ValueKind::Int)) break;
    extents_.push_back(extent->as_int());
  }
  std::int64_t flat = 0, stride = 1;
  for (std::size_t i = 0; i < thread.size() && i < extents_.size(); ++i) {
    flat += thread[i] * stride;
    stride *= extents_[i];
  }
  return std::uint32_t(flat / kWarpLanes);
}

const ThreadAccesses::Who& ThreadAccesses::now() {
  if (fresh_) return now_;
  busy_ = true;
  const Indices thread = values(launches_.threads);
  now_.block = number_of(blocks_, values(launches_.blocks));
  now_.warp = warp_of(thread);
  now_.thread = number_of(threads_, thread);
  const auto passed = passed_.find({now_.block, now_.thread});
  now_.barriers = passed == passed_.end() ? 0 : passed->second.barriers;
  now_.warp_barriers = passed == passed_.end() ? 0 : passed->second.warp_barriers;
  busy_ = false;
  fresh_ = true;
  return now_;
}

std::string ThreadAccesses::name_of(const Who& who) const {
  std::string text;
  const auto add = [&](const std::vector<const ir::AttrStmt*>& launches, const std::map<Indices, std::uint32_t>& all,
                       std::uint32_t number) {
    const auto it = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.second == number; });
    for (std::size_t i = 0; it != all.end() && i < launches.size(); ++i)
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", ir::thread_tag(launches[i]), it->first[i]);
  };
  add(launches_.blocks, blocks_, who.block);
  add(launches_.threads, threads_, who.thread);
  return text;
}

// The first of each buffer.
void ThreadAccesses::tell(const ir::Buffer* buffer, ir::Span<const ir::Expr*> indices, const Who& writer,
                          const Who& other, std::string_view what) {
  if (std::any_of(found_.begin(), found_.end(), [&](const Finding& f) { return f.tensor == buffer->name; })) return;
  busy_ = true;
  Finding f;
  f.kind = Finding::Kind::Race;
  f.tensor = std::string(buffer->name);
  for (const ir::Expr* i : indices)
    if (const auto v = machine_.value_of(i); v.ok() && v->is(ValueKind::Int)) f.element.push_back(v->as_int());
  busy_ = false;
  f.statement = fmt::format("written by the thread {} and {} by the thread {}", name_of(writer), what, name_of(other));
  f.number = writer.block != other.block ? "nothing orders two blocks" : "no barrier is in between";
  found_.push_back(std::move(f));
  done_ = found_.size() == kMostRaces;
}

}  // namespace rldb::repro
