// Recorder: the tensors that a run computes, in order, with the calls that computed them.
#include "rldb/repro/trace.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "repro/compare/buffer_use.h"
#include "repro/compare/handed_on.h"
#include "repro/compare/in_place.h"
#include "repro/values.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/ir/op_traits.h"
#include "rldb/schedule/schedule.h"

namespace rldb::repro {

using runtime::PackedArgs;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

namespace {

constexpr std::size_t kMaxEvents = 200'000;

bool is_builtin(std::string_view callee, bytecode::BuiltinEffect effect) {
  const auto id = bytecode::find_builtin(callee);
  return id && bytecode::info(*id).effect == effect;
}

// It returns memory to which nothing has been written yet.
bool allocates(std::string_view callee) {
  return op::has(callee, op::Trait::Allocates) || is_builtin(callee, bytecode::BuiltinEffect::Fresh);
}

// It reads and writes dims, not tensors of the program.
bool keeps_dims(std::string_view callee) { return is_builtin(callee, bytecode::BuiltinEffect::Heap); }

bool overlap(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.byte_offset() < b.byte_offset() + b.byte_size() &&
         b.byte_offset() < a.byte_offset() + a.byte_size();
}

bool is_same_memory(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.byte_offset() == b.byte_offset() && a.dtype() == b.dtype() &&
         std::ranges::equal(a.shape(), b.shape());
}

// The memory of this argument also belongs to an output, and the kernel reads from it after it wrote there.
bool is_written_by_another(const ir::PrimFunc* f, PackedArgs args, std::size_t i, const std::vector<BufferUse>& use) {
  if (!args[i].is(ValueKind::Tensor)) return false;
  for (std::size_t k = 0; k < args.size() && k < use.size(); ++k) {
    if (k == i || !use[k].written || !args[k].is(ValueKind::Tensor)) continue;
    const Tensor &read = args[i].as_tensor(), &written = args[k].as_tensor();
    if (!overlap(read, written)) continue;
    if (!is_same_memory(read, written) || !reads_what_it_writes(f, i, k)) return true;
  }
  return false;
}

// The call of a kernel that receives memory for its results, new or an argument's own; null: any other value.
const ir::Call* called_by(const ir::Binding* b) {
  return op::is_call_with(b->value, op::Trait::CallTir) ? ir::as<ir::Call>(b->value) : nullptr;
}

// The variable passed as that argument; empty: none.
std::string_view variable_at(const ir::Binding* b, std::size_t i) {
  const ir::Call* call = b ? called_by(b) : nullptr;
  const auto* plain = b && !call ? ir::as<ir::Call>(b->value) : nullptr;
  const ir::Expr* argument = nullptr;
  if (plain && ir::as<ir::GlobalVar>(plain->callee)) {
    argument = i < plain->args.size() ? plain->args[i] : nullptr;
  } else if (call && call->args.size() >= 2) {
    const auto* tuple = ir::as<ir::Tuple>(call->args[1]);
    argument = tuple && i < tuple->items.size() ? tuple->items[i] : i == 0 ? call->args[1] : nullptr;
  }
  const auto* v = argument ? ir::as<ir::Var>(argument) : nullptr;
  return v ? v->name : std::string_view();
}

// The code being executed: a binding, or an instruction.
struct Place {
  const ir::Binding* binding = nullptr;
  std::string instruction;
};

// A part of a storage that was written, last by this event, as memory of the tensor `owner`.
struct Written {
  std::size_t begin;
  std::size_t end;
  std::size_t event;
  const runtime::Object* owner;
};

}  // namespace

struct Recorder::State {
  explicit State(std::size_t max_bytes) : bytes_left(max_bytes) {}

  Trace trace;
  std::size_t bytes_left;
  std::vector<std::string> functions;
  std::vector<std::size_t> activations;                              // of these
  std::vector<const ir::Function*> bodies;                           // of these; null: of an executable
  std::map<std::string, std::size_t, std::less<>> calls;             // of each function so far
  std::pair<std::string, std::size_t> returned;                      // the call that ended last
  std::vector<Place> places;                                         // in progress, the innermost last
  std::vector<std::vector<Reading>> readings;                        // for the calls in progress
  std::unordered_map<const runtime::Object*, std::size_t> event_of;  // tensor: what computed it; none: nothing yet
  std::unordered_map<const runtime::Object*, std::string> name_of;   // tensor or storage: its latest name
  std::unordered_map<const runtime::Storage*, std::vector<Written>> writes;
  std::unordered_map<const runtime::Object*, const runtime::Object*> viewed;  // view: the tensor viewed
  std::unordered_map<const runtime::Object*, std::string> allocation;         // the first name of a tensor's memory
  std::unordered_set<const runtime::Object*> unwritten;                       // allocated, but not written yet
  // Tensor: the events before the last one, for variables that an in-place call overwrote.
  std::unordered_map<const runtime::Object*, std::vector<std::size_t>> replaced;
  std::unordered_map<const ir::PrimFunc*, std::vector<BufferUse>> uses;
  std::vector<Value> held;
  std::vector<std::pair<const Tensor*, std::size_t>> arguments;  // of the run, and their events

  std::string name(const runtime::Object* object) const {
    const auto it = name_of.find(object);
    return it == name_of.end() ? std::string() : it->second;
  }

  const std::vector<BufferUse>& use_of(const ir::PrimFunc* f) {
    const auto [it, made] = uses.try_emplace(f);
    if (made) it->second = buffer_use(f);
    return it->second;
  }

  void forget(const Tensor& t) {
    event_of.erase(&t);
    name_of.erase(&t);
    viewed.erase(&t);
    allocation.erase(&t);
    unwritten.erase(&t);
    replaced.erase(&t);
  }

  const runtime::Object* owner(const Tensor& t) const {
    const auto it = viewed.find(&t);
    return it == viewed.end() ? &t : it->second;
  }

  // For tensors in a planned storage: who else has used its memory since matters there. Held, so that tensors created
  // later are distinct.
  void allocate(const Value& v) {
    if (v.is(ValueKind::Storage)) writes.erase(static_cast<const runtime::Storage*>(v.object()));
    if (!v.is(ValueKind::Tensor)) return;
    forget(v.as_tensor());
    unwritten.insert(v.object());
    held.push_back(v);
  }

  // ---- reading ----

  bool is_of(const Event& e, std::string_view variable) const {
    return !functions.empty() && e.function == functions.back() &&
           std::find(e.names.begin(), e.names.end(), variable) != e.names.end();
  }

  // The event the variable refers to, not that of the tensor's contents if an in-place call has overwritten it.
  std::size_t meant(const Tensor& t, std::size_t last, std::string_view variable) const {
    const auto it = replaced.find(&t);
    if (variable.empty() || it == replaced.end() || is_of(trace.events[last], variable)) return last;
    for (auto e = it->second.rbegin(); e != it->second.rend(); ++e)
      if (is_of(trace.events[*e], variable)) return *e;
    return last;
  }

  Reading read(const Tensor& t, std::string_view variable = {}) {
    Reading r;
    r.name = name(&t);
    const auto it = event_of.find(&t);
    r.unwritten = unwritten.contains(owner(t));
    if (it == event_of.end()) return r;
    r.event = meant(t, it->second, variable);
    const bool in_place = r.event != it->second;
    if (!variable.empty()) r.name = variable;  // as the call has it
    const Event& e = trace.events[r.event];
    if (r.name.empty() && !e.names.empty()) r.name = e.names.front();
    if (!e.value.is(ValueKind::Tensor)) return r;  // no copy was kept
    const Tensor& then = e.value.as_tensor();
    r.overwritten = then.byte_size() == t.byte_size() && std::memcmp(then.peek(), t.peek(), t.byte_size()) != 0;
    r.writer = in_place ? it->second : writer_over(t, r.event);
    return r;
  }

  std::size_t writer_over(const Tensor& t, std::size_t after) const {
    const auto it = writes.find(t.storage().get());
    if (it == writes.end()) return kNoEvent;
    std::size_t last = kNoEvent;
    for (const Written& w : it->second)
      if (w.event > after && w.owner != owner(t) && w.begin < t.byte_offset() + t.byte_size() &&
          t.byte_offset() < w.end)
        last = w.event;
    return last;
  }

  // The last events in the memory of the arguments.
  void note_overwritten() {
    for (const auto& [t, event] : arguments) {
      const auto it = writes.find(t->storage().get());
      if (it == writes.end()) continue;
      for (const Written& w : it->second) {
        const bool is_there = w.begin < t->byte_offset() + t->byte_size() && t->byte_offset() < w.end;
        if (w.event > event && is_there) trace.overwritten[event] = std::max(trace.overwritten[event], w.event);
      }
    }
  }

  void add_readings(std::vector<Reading>& to, const Value& v, std::string_view variable = {}) {
    for_each_tensor(v, [&](const Tensor& t) {
      Reading r = read(t, variable);
      if (r.event != kNoEvent || r.unwritten) to.push_back(std::move(r));
    });
  }

  // One for each leaf; of what is no tensor, without an event.
  void add_results(const Value& v) {
    std::vector<Value> leaves;
    flatten(v, leaves);
    for (const Value& leaf : leaves)
      trace.results.push_back(leaf.is(ValueKind::Tensor) ? read(leaf.as_tensor(), {}) : Reading{});
  }

  // ---- writing ----

  void add_event(const Tensor& t, std::string callee, std::vector<Reading> inputs) {
    if (trace.events.size() >= kMaxEvents) {
      trace.incomplete = "it computes more than 200000 tensors";
      event_of.erase(&t);
      return;
    }
    const auto before = event_of.find(&t);
    const bool is_call = !places.empty() && places.back().binding && called_by(places.back().binding);
    const bool in_place = before != event_of.end() && is_call;
    if (in_place) replaced[&t].push_back(before->second);
    Event e;
    e.function = functions.empty() ? std::string() : functions.back();
    e.activation = activations.empty() ? 0 : activations.back();
    if (!places.empty()) e.binding = places.back().binding;
    if (!places.empty()) e.instruction = places.back().instruction;
    if (std::string known = name(&t); !known.empty() && !in_place) e.names.push_back(std::move(known));
    if (const auto it = name_of.find(t.storage().get()); it != name_of.end()) e.storage = it->second;
    if (const auto it = allocation.find(owner(t)); it != allocation.end()) e.allocation = it->second;
    e.callee = std::move(callee);
    e.inputs = std::move(inputs);
    unwritten.erase(owner(t));
    keep_copy(e, t);
    const std::size_t index = trace.events.size();
    trace.events.push_back(std::move(e));
    event_of[&t] = index;
    note_write(t, index);
  }

  void keep_copy(Event& e, const Tensor& t) {
    auto copy =
        t.byte_size() <= bytes_left
            ? Tensor::empty(t.shape(), t.dtype())
            : Result<runtime::Ref<Tensor>>(runtime::fail(runtime::ErrorKind::OutOfMemory, "no room for a copy"));
    if (!copy.ok()) {
      trace.incomplete = "the copies of its tensors take too much memory";
      return;
    }
    bytes_left -= t.byte_size();
    std::memcpy((*copy)->data(), t.peek(), t.byte_size());
    e.value = Value(std::move(copy).value());
  }

  void note_write(const Tensor& t, std::size_t event) {
    const std::size_t begin = t.byte_offset(), end = begin + t.byte_size();
    auto& all = writes[t.storage().get()];
    std::erase_if(all, [&](const Written& w) { return begin <= w.begin && w.end <= end; });
    all.push_back({begin, end, event, owner(t)});
  }

  void kernel_done(const ir::PrimFunc* f, std::string_view name, PackedArgs args, std::vector<Reading> inputs) {
    const std::vector<BufferUse>& use = use_of(f);
    std::vector<std::pair<const Tensor*, std::size_t>> results;
    for (std::size_t i = 0; i < args.size() && i < use.size(); ++i) {
      if (!use[i].written || !args[i].is(ValueKind::Tensor)) continue;
      const std::size_t next = trace.events.size();
      add_event(args[i].as_tensor(), std::string(name), inputs);
      if (trace.events.size() == next) continue;
      trace.events[next].kernel = f;
      results.emplace_back(&args[i].as_tensor(), next);
    }
    for (const auto& [t, event] : results)
      for (const auto& [other, beside] : results)
        if (t != other && overlap(*t, *other)) trace.events[event].beside = name_in_storage(trace.events[beside]);
  }

  static std::string name_in_storage(const Event& e) {
    return !e.allocation.empty() ? e.allocation : e.names.empty() ? std::string("another result") : e.names.front();
  }

  // A tensor passed to anything but a kernel was written if it was empty before, or has changed.
  bool was_written(const Tensor& t, const std::vector<Reading>& inputs) {
    const auto it = event_of.find(&t);
    if (it == event_of.end()) return true;
    const auto before =
        std::find_if(inputs.begin(), inputs.end(), [&](const Reading& r) { return r.event == it->second; });
    return before != inputs.end() && !before->overwritten && read(t).overwritten;
  }

  void packed_done(std::string_view callee, PackedArgs args, const Value& result, const std::vector<Reading>& inputs) {
    for (const Value& a : args)
      for_each_tensor(a, [&](const Tensor& t) {
        if (was_written(t, inputs)) add_event(t, std::string(callee), inputs);
      });
    for_each_tensor(result, [&](const Tensor& t) {
      bool is_argument = false;
      const Tensor* memory = nullptr;  // a cache holds its memory in a tuple
      for (const Value& a : args)
        for_each_tensor(a, [&](const Tensor& given) {
          is_argument = is_argument || &given == &t;
          if (given.storage() == t.storage()) memory = &given;
        });
      if (is_argument) return;
      forget(t);
      if (memory) viewed[&t] = owner(*memory);
      if (viewed.contains(&t) && unwritten.contains(viewed[&t])) return;
      add_event(t, std::string(callee), inputs);
    });
  }

  // ---- handing on ----

  void add_handed(Handed h, const Value& v) {
    if (trace.handed.size() >= kMaxEvents) return;
    std::vector<Value> leaves;
    flatten(v, leaves);
    for (const Value& leaf : leaves) {
      Handed::Leaf& to = h.leaves.emplace_back();
      const auto it = event_of.find(leaf.is(ValueKind::Tensor) ? &leaf.as_tensor() : nullptr);
      if (it != event_of.end()) to.event = it->second;
      if (!leaf.is(ValueKind::Tensor)) to.text = runtime::format_brief(leaf);
    }
    trace.handed.push_back(std::move(h));
  }

  Handed handed(Handed::Kind kind, std::string name) const {
    Handed h;
    h.kind = kind;
    h.function = functions.back();
    h.activation = activations.back();
    h.name = std::move(name);
    return h;
  }

  void enter(std::string_view name, const ir::Function* f, PackedArgs args) {
    const std::string caller = functions.empty() ? std::string() : functions.back();
    const std::size_t call = activations.empty() ? 0 : activations.back();
    functions.emplace_back(name);
    activations.push_back(++calls[functions.back()]);
    bodies.push_back(f);
    if (caller.empty() || !f) return;
    for (std::size_t i = 0; i < args.size() && i < f->params.size(); ++i) {
      Handed h = handed(Handed::Kind::Parameter, std::string(f->params[i]->name));
      h.binding = places.empty() ? nullptr : places.back().binding;
      h.position = i;
      h.other_function = caller;
      h.other_activation = call;
      add_handed(std::move(h), args[i]);
    }
  }

  void leave(const Value& result) {
    if (const ir::Function* f = bodies.back(); f && f->body) {
      Handed h = handed(Handed::Kind::Result, {});
      h.returned = f->body->body;
      add_handed(std::move(h), result);
    }
    returned = {functions.back(), activations.back()};
    functions.pop_back();
    activations.pop_back();
    bodies.pop_back();
  }

  // A variable for something that has been computed.
  void bind_again(const ir::Binding* b, const Value& value) {
    const auto* call = ir::as<ir::Call>(b->value);
    const bool calls_function = call && !ir::as<ir::Op>(call->callee);
    const bool names = ir::as<ir::Var>(b->value) || ir::as<ir::TupleGetItem>(b->value) || ir::as<ir::Tuple>(b->value);
    const bool hands_on = ir::as<ir::If>(b->value) || (call && (is_in_place(*call) || makes_closure(*call)));
    if (functions.empty() || (!calls_function && !names && !hands_on)) return;
    Handed h = handed(Handed::Kind::Binding, std::string(b->var->name));
    h.binding = b;
    if (calls_function) std::tie(h.other_function, h.other_activation) = returned;
    add_handed(std::move(h), value);
  }

  // The fields of a tuple get the name with their index; deeper ones get it when they are taken out.
  void name_value(const Value& v, const std::string& name) {
    name_one(v, name);
    if (!v.is(ValueKind::Tuple)) return;
    const auto& fields = v.as_tuple().fields;
    for (std::size_t i = 0; i < fields.size(); ++i) name_one(fields[i], name + "[" + std::to_string(i) + "]");
  }

  void name_one(const Value& v, const std::string& name) {
    if (v.is(ValueKind::Storage)) name_of[v.object()] = name;
    if (!v.is(ValueKind::Tensor)) return;
    name_of[v.object()] = name;
    allocation.try_emplace(v.object(), name);
    const auto it = event_of.find(v.object());
    if (it == event_of.end()) return;
    auto& names = trace.events[it->second].names;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
};

Recorder::Recorder(std::size_t max_bytes) : state_(std::make_unique<State>(max_bytes)) {}
Recorder::~Recorder() = default;

void Recorder::enter(std::string_view name, const ir::Function* f, PackedArgs args) {
  const bool outermost = state_->functions.empty();
  state_->enter(name, f, args);
  std::vector<std::string> parameters;
  for (const ir::Var* p : f->params) parameters.emplace_back(p->name);
  if (outermost) given(parameters, args);
}

void Recorder::enter_named(std::string_view name, std::span<const std::string> parameters, PackedArgs args) {
  const bool outermost = state_->functions.empty();
  state_->enter(name, nullptr, args);
  if (outermost) given(parameters, args);
}

// The arguments of the run.
void Recorder::given(std::span<const std::string> parameters, PackedArgs args) {
  State& s = *state_;
  for (std::size_t i = 0; i < args.size(); ++i) {
    for_each_tensor(args[i], [&](const Tensor& t) {
      s.arguments.emplace_back(&t, s.trace.events.size());
      s.add_event(t, {}, {});
    });
    if (i < parameters.size()) s.name_value(args[i], parameters[i]);
  }
}

void Recorder::leave(const Value& result) {
  State& s = *state_;
  s.leave(result);
  if (!s.functions.empty()) return;
  s.note_overwritten();
  s.add_results(result);
  auto copy = runtime::deep_copy(result);
  if (copy.ok()) s.trace.result = std::move(copy).value();
}

void Recorder::begin(const ir::Binding* b) { state_->places.push_back({b, {}}); }

void Recorder::begin_named(std::string instruction) { state_->places.push_back({nullptr, std::move(instruction)}); }

void Recorder::bound_named(const std::string& variable, const Value& value) {
  state_->places.pop_back();
  if (!variable.empty()) state_->name_value(value, variable);
}

Result<Unit> Recorder::bound(const ir::Binding* b, const Value& value) {
  State& s = *state_;
  for_each_tensor(value, [&](const Tensor& t) {  // a constant
    const bool computed = s.event_of.contains(&t) || !ir::as<ir::Constant>(b->value);
    if (!computed) s.add_event(t, {}, {});
  });
  s.places.pop_back();
  s.bind_again(b, value);
  s.name_value(value, std::string(b->var->name));
  return Unit{};
}

void Recorder::allocated(const Value& tensor) {
  State& s = *state_;
  s.forget(tensor.as_tensor());
  s.unwritten.insert(tensor.object());
  fresh(tensor);
  s.writes.erase(tensor.as_tensor().storage().get());
  s.name_of.erase(tensor.as_tensor().storage().get());
}

Result<Unit> Recorder::calling(std::string_view name, const ir::PrimFunc* f, PackedArgs args) {
  State& s = *state_;
  std::vector<Reading>& to = s.readings.emplace_back();
  if (!f) {
    if (allocates(name) || keeps_dims(name)) return Unit{};
    for (const Value& a : args) s.add_readings(to, a);
    // Memory that a packed function is given empty is for what it returns there.
    if (!bytecode::find_builtin(name)) std::erase_if(to, [](const Reading& r) { return r.event == kNoEvent; });
    return Unit{};
  }
  const std::vector<BufferUse>& use = s.use_of(f);
  const bool separate = schedule::is_noalias(f);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i < use.size() && !use[i].read) continue;
    const std::size_t before = to.size();
    s.add_readings(to, args[i], s.places.empty() ? std::string_view() : variable_at(s.places.back().binding, i));
    if (separate && is_written_by_another(f, args, i, use))
      for (std::size_t k = before; k < to.size(); ++k) to[k].shared = true;
    // An output that a reduction adds to: whether it does so before initialising it cannot be seen from here.
    if (i < use.size() && use[i].written && to.size() > before && to.back().event == kNoEvent) to.resize(before);
  }
  return Unit{};
}

Result<Unit> Recorder::called(std::string_view name, const ir::PrimFunc* f, PackedArgs args, const Value& result) {
  State& s = *state_;
  std::vector<Reading> inputs = std::move(s.readings.back());
  s.readings.pop_back();
  if (f) {
    s.kernel_done(f, name, args, std::move(inputs));
  } else if (allocates(name)) {
    s.allocate(result);
    fresh(result);
  } else if (!keeps_dims(name)) {
    s.packed_done(name, args, result, inputs);
    called_packed(args, result);
  }
  return Unit{};
}

std::string Recorder::name_of(const Tensor& tensor) const { return state_->name(&tensor); }

void Recorder::results_are(PackedArgs outputs) {
  State& s = *state_;
  s.trace.results.clear();
  std::vector<Value> fields;
  for (const Value& v : outputs) {
    s.add_results(v);
    auto copy = runtime::deep_copy(v);
    fields.push_back(copy.ok() ? std::move(copy).value() : v);
  }
  s.trace.result = fields.size() == 1 ? fields[0] : Value::of_tuple(std::move(fields));
}

Trace Recorder::take() {
  State& s = *state_;
  for (Event& e : s.trace.events)
    if (e.names.empty()) e.names.push_back(e.binding ? std::string(e.binding->var->name) : std::string("<unnamed>"));
  if (!s.functions.empty()) s.trace.error_function = s.functions.back();
  if (!s.places.empty()) s.trace.error_binding = s.places.back().binding;
  if (!s.places.empty()) s.trace.error_instruction = s.places.back().instruction;
  return std::move(s.trace);
}

}  // namespace rldb::repro
