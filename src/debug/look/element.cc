// Traces elements backwards through kernels executed statement by statement.
#include "debug/look/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "rldb/eval/eval.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/choice.h"
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

namespace {

constexpr std::uint64_t kMaxStatements = 50'000'000;  // chains of buffers inside a kernel
constexpr int kMaxRounds = 16;                        // chains of buffers inside a kernel

// An element of memory: in an argument's storage by its bytes, in a kernel's own buffer by its position.
using Element = std::pair<const void*, std::int64_t>;

struct KeptCall {
  std::string name;
  const ir::PrimFunc* function;
  std::vector<Value> args;    // the tensors themselves
  std::vector<Value> before;  // copies from before the call
};

class Recorder : public eval::Watcher {
 public:
  runtime::Result<support::Unit> calling(std::string_view name, const ir::PrimFunc* f,
                                         runtime::PackedArgs args) override {
    if (!f) {
      opaque.emplace_back(name);
      return support::Unit{};
    }
    KeptCall call{std::string(name), f, {args.begin(), args.end()}, {}};
    for (const Value& v : args) {
      RLDB_TRY(Value copy, runtime::deep_copy(v));
      call.before.push_back(std::move(copy));
    }
    calls.push_back(std::move(call));
    return support::Unit{};
  }
  std::vector<KeptCall> calls;
  std::vector<std::string> opaque;  // callees that are not kernels
};

// One kernel, executed again: from which elements of its arguments some elements were computed.
class KernelTrace {
 public:
  explicit KernelTrace(const KeptCall& call) : call_(call) {}

  // `wanted`: elements of arguments, by index of the argument and position.
  Result<std::map<std::size_t, std::set<std::int64_t>>> run(std::size_t arg, const std::set<std::int64_t>& wanted) {
    wanted_arg_ = arg;
    wanted_positions_ = wanted;
    for (int round = 0; round < kMaxRounds; ++round) {
      const std::size_t known = inner_.size();
      RLDB_TRY_VOID(walk());
      if (inner_.size() == known) return sources_;
    }
    return runtime::fail(ErrorKind::Unsupported,
                         fmt::format("`{}` hands values on through more than {} buffers", call_.name, kMaxRounds));
  }

 private:
  Result<support::Unit> walk() {
    args_.clear();
    sources_.clear();
    lets_.clear();
    for (const Value& v : call_.before) {
      RLDB_TRY(Value copy, runtime::deep_copy(v));
      args_.push_back(std::move(copy));
    }
    targets_ = inner_;
    const Tensor& out = args_[wanted_arg_].as_tensor();
    for (const std::int64_t p : wanted_positions_) targets_.insert(element_at(nullptr, out, p));
    eval::TirMachine machine(call_.function, nullptr);
    RLDB_TRY_VOID(machine.start(args_));
    machine_ = &machine;
    while (machine.running()) {
      if (machine.steps() > kMaxStatements)
        return runtime::fail(ErrorKind::Unsupported,
                             fmt::format("`{}` executes more than {} statements", call_.name, kMaxStatements));
      if ((machine.steps() & 1023) == 0) support::poll();
      look_at(machine.current());
      RLDB_TRY_VOID(machine.step());
    }
    return support::Unit{};
  }

  void look_at(const ir::Stmt* s) {
    if (const auto* let = as<ir::BindStmt>(s)) {
      std::vector<Element> read;
      reads(let->value, read);
      lets_[let->var] = std::move(read);
      return;
    }
    const auto* store = as<ir::BufferStore>(s);
    if (!store || store->value->dtype().lanes != 1) return;
    const auto at = element(store->buffer, store->indices);
    if (!at || !targets_.contains(*at)) return;
    std::vector<Element> read;
    reads(store->value, read);
    for (const Element& e : read)
      if (!targets_.contains(e)) came_from(e);
  }

  void came_from(const Element& e) {
    for (std::size_t i = 0; i < args_.size(); ++i) {
      if (!args_[i].is(ValueKind::Tensor) || args_[i].as_tensor().storage().get() != e.first) continue;
      const Tensor& t = args_[i].as_tensor();
      const std::int64_t offset = e.second - std::int64_t(t.byte_offset());
      if (offset < 0 || offset >= std::int64_t(t.byte_size())) continue;
      sources_[i].insert(offset / std::int64_t(t.dtype().bytes()));
      return;
    }
    inner_.insert(e);
  }

  // The elements that a scalar expression reads now, without the branch of a choice not taken, and without indices.
  void reads(const ir::Expr* e, std::vector<Element>& out) {
    ir::walk(e, [&](const ir::Node* n) {
      if (const auto* load = as<ir::BufferLoad>(n)) {
        if (const auto at = element(load->buffer, load->indices)) out.push_back(*at);
        return false;
      }
      if (const auto* v = as<ir::Var>(n)) {
        if (const auto known = lets_.find(v); known != lets_.end())
          out.insert(out.end(), known->second.begin(), known->second.end());
        return false;
      }
      const auto* select = as<ir::SelectExpr>(n);
      const auto* call = as<ir::Call>(n);
      if (!select && !(call && ir::is_call_of(call, ir::intrin::IfThenElse))) return true;
      reads(select ? select->cond : call->args[0], out);
      const auto chosen = machine_->value_of(select ? select->cond : call->args[0]);
      if (!chosen.ok()) return false;
      const bool yes = chosen->as_int() != 0;
      reads(select ? (yes ? select->true_value : select->false_value) : call->args[yes ? 1 : 2], out);
      return false;
    });
  }

  std::optional<Element> element(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) {
    const Tensor* t = tensor_of(b);
    if (!t) return std::nullopt;
    std::int64_t position = 0;
    for (std::size_t d = 0; d < indices.size() && d < t->shape().size(); ++d) {
      const auto i = indices[d]->dtype().lanes == 1 ? machine_->value_of(indices[d])
                                                    : Result<Value>(runtime::fail(ErrorKind::Unsupported, "lanes"));
      if (!i.ok() || i->as_int() < 0 || i->as_int() >= t->shape()[d]) return std::nullopt;
      position = position * t->shape()[d] + i->as_int();
    }
    return element_at(b, *t, position);
  }

  // `b` null: in an argument.
  Element element_at(const ir::Buffer* b, const Tensor& t, std::int64_t position) const {
    for (const Value& a : args_)
      if (a.is(ValueKind::Tensor) && a.as_tensor().storage() == t.storage())
        return {t.storage().get(), std::int64_t(t.byte_offset()) + position * std::int64_t(t.dtype().bytes())};
    return {b, position};
  }

  const Tensor* tensor_of(const ir::Buffer* b) {
    for (auto& [buffer, value] : machine_->buffers()) {
      if (buffer != b || !value.is(ValueKind::Tensor)) continue;
      held_ = value;
      return &held_.as_tensor();
    }
    return nullptr;
  }

  const KeptCall& call_;
  std::size_t wanted_arg_ = 0;
  std::set<std::int64_t> wanted_positions_;
  std::vector<Value> args_;
  const eval::TirMachine* machine_ = nullptr;
  Value held_;
  std::set<Element> targets_, inner_;
  std::map<const ir::Var*, std::vector<Element>> lets_;
  std::map<std::size_t, std::set<std::int64_t>> sources_;
};

// From one kernel of the binding to the previous one, until only operands are left.
class Origin {
 public:
  Origin(const std::vector<KeptCall>& calls, const std::vector<std::pair<std::string, Value>>& inputs)
      : calls_(calls), inputs_(inputs) {}

  Result<ElementOrigin> run(const Tensor& value, std::int64_t position) {
    RLDB_TRY_VOID(follow(value, {position}, calls_.size()));
    for (auto& [input, positions] : found_)
      done_.parts.push_back({inputs_[input].first, inputs_[input].second, {positions.begin(), positions.end()}});
    return std::move(done_);
  }

 private:
  // `before`: the calls that may have produced it.
  Result<support::Unit> follow(const Tensor& t, const std::set<std::int64_t>& positions, std::size_t before) {
    support::poll();
    for (std::size_t i = before; i-- > 0;)
      for (std::size_t a = 0; a < calls_[i].args.size(); ++a)
        if (is_output(calls_[i], a) && same_memory(calls_[i].args[a], t)) return through(i, a, positions);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!same_memory(inputs_[i].second, t)) continue;
      found_[i].insert(positions.begin(), positions.end());
      return support::Unit{};
    }
    return support::Unit{};  // a constant of the binding
  }

  Result<support::Unit> through(std::size_t call, std::size_t arg, const std::set<std::int64_t>& positions) {
    done_.kernels.push_back(calls_[call].name);
    RLDB_TRY(const auto sources, KernelTrace(calls_[call]).run(arg, positions));
    for (const auto& [from, elements] : sources)
      RLDB_TRY_VOID(follow(calls_[call].args[from].as_tensor(), elements, call));
    return support::Unit{};
  }

  static bool same_memory(const Value& v, const Tensor& t) {
    if (!v.is(ValueKind::Tensor)) return false;
    const Tensor& x = v.as_tensor();
    return x.storage() == t.storage() && x.byte_offset() == t.byte_offset() && x.byte_size() == t.byte_size();
  }

  static bool is_output(const KeptCall& call, std::size_t arg) {
    if (!call.args[arg].is(ValueKind::Tensor) || arg >= call.function->params.size()) return false;
    const ir::Buffer* b = call.function->params[arg].buffer;
    bool stored = false;
    if (b)
      ir::walk(call.function->body, [&](const ir::Node* n) {
        const auto* store = as<ir::BufferStore>(n);
        stored = stored || (store && store->buffer->data == b->data);
        return !stored;
      });
    return stored;
  }

  const std::vector<KeptCall>& calls_;
  const std::vector<std::pair<std::string, Value>>& inputs_;
  std::map<std::size_t, std::set<std::int64_t>> found_;
  ElementOrigin done_;
};

}  // namespace

Result<ElementOrigin> origin_of_element(session::Session& session, const CodeMap& map, int binding,
                                        const Lookup& lookup, std::int64_t position) {
  Recorder recorder;
  RLDB_TRY(const Recomputed again, recompute(session, map, binding, lookup, &recorder));
  if (!again.value.is(ValueKind::Tensor)) return runtime::fail(ErrorKind::Unsupported, "only a tensor has elements");
  const Tensor& value = again.value.as_tensor();
  if (position < 0 || position >= value.element_count())
    return runtime::fail(ErrorKind::Unsupported, "it has another shape when it is computed again");
  if (recorder.calls.empty() && !recorder.opaque.empty())
    return runtime::fail(ErrorKind::Unsupported,
                         fmt::format("the elements of `{}` cannot be followed", recorder.opaque.back()));
  return Origin(recorder.calls, again.inputs).run(value, position);
}

}  // namespace rldb::debug
