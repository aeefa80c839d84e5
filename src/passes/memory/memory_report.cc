// Reports of memory: lifetimes with sizes, and their totals.
#include "rldb/passes/memory_report.h"

#include <algorithm>
#include <unordered_set>

#include "passes/common.h"
#include "passes/lowering/storage_plan.h"
#include "passes/memory/lifetimes.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_id.h"
#include "rldb/source/diagnostic_pass.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

using DimValues = std::map<std::string, std::int64_t>;

// Names that a reader can tell apart: `alloc`, `alloc_1`.
class UniqueNames {
 public:
  std::string add(std::string_view wanted) {
    std::string name(wanted);
    while (!taken_.insert(name).second) name = std::string(wanted) + "_" + std::to_string(++next_[std::string(wanted)]);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

// A sum that reports overflow rather than wrapping.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// Symbolic sizes that are written alike are counted together, to keep the text short.
class Summer {
 public:
  void add(const MemorySize& size) {
    if (size.value)
      known_ = plus(known_, *size.value);
    else
      ++open_[size.bytes ? print_expr(size.bytes) : std::string("?")];
  }

  MemorySum sum() const {
    if (open_.empty()) return {known_, std::to_string(known_)};
    std::string text = known_ != 0 ? std::to_string(known_) : std::string();
    for (const auto& [bytes, count] : open_) {
      if (!text.empty()) text += " + ";
      text += count == 1 ? bytes : std::to_string(count) + " * (" + bytes + ")";
    }
    return {std::nullopt, text};
  }

 private:
  std::int64_t known_ = 0;
  std::map<std::string, std::size_t> open_;
};

// The peak of the memory held.
struct Held {
  std::optional<std::int64_t> most;
  std::size_t at = 0;
};
template <class T>
Held held_at_once(const std::vector<T>& items, std::size_t bindings) {
  std::vector<std::int64_t> change(bindings + 3, 0);
  for (const T& item : items) {
    if (!item.size.value) return {};
    change[item.begin] = plus(change[item.begin], *item.size.value);
    change[item.end + 1] -= *item.size.value;
  }
  Held held{0, 0};
  std::int64_t now = 0;
  for (std::size_t i = 1; i <= bindings + 1; ++i) {
    now = plus(now, change[i]);
    if (now > *held.most) held = {now, i};
  }
  return held;
}

class Reporter {
 public:
  Reporter(Context& ctx, const Module* module, const Function* f, const DimValues& dims)
      : ctx_(ctx), dims_(dims), analyzer_(ctx), f_(f), lifetimes_(module, f) {}

  Result<FunctionMemory> report(std::string_view name) {
    RLDB_TRY_VOID(bind_upper_bounds(f_, analyzer_));
    FunctionMemory out;
    out.function = name;
    name_bindings(out);
    for (const FoundMemory& m : lifetimes_.found()) add(out, m);
    size_storages(out);
    add_up(out);
    return out;
  }

 private:
  void name_bindings(FunctionMemory& out) {
    UniqueNames names;
    for (const Var* p : f_->params) names.add(p->name);
    for (const Var* v : lifetimes_.bindings()) {
      out.bindings.push_back(names.add(v->name));
      names_[v] = out.bindings.back();
    }
  }

  void add(FunctionMemory& out, const FoundMemory& m) {
    if (m.form == FoundMemory::Form::Storage) {
      storages_[&m] = out.storages.size();
      out.storages.push_back(storage(m));
      return;
    }
    MemoryTensor t;
    t.name = names_[m.alias ? m.alias : m.binding->var];
    t.alloc = m.call;
    t.begin = m.begin;
    t.end = m.end;
    t.escape = m.escape;
    t.escapes_to = m.escapes_to;
    t.kind = kind_of(m);
    t.size = tensor_size(m, t.kind.dtype);
    const bool in_storage = m.storage != Lifetimes::npos;
    if (in_storage) {
      t.storage = storages_.at(&lifetimes_.found()[m.storage]);
      t.kind.scope = out.storages[t.storage].kind.scope;
    } else {  // its own memory, or in a storage from elsewhere
      t.storage = out.storages.size();
      out.storages.push_back({t.name, t.begin, t.end, t.size, t.kind, false, {}});
    }
    out.storages[t.storage].tensors.push_back(out.tensors.size());
    out.tensors.push_back(std::move(t));
  }

  MemoryStorage storage(const FoundMemory& m) {
    MemoryStorage s;
    s.name = names_[m.binding->var];
    s.begin = m.begin;
    s.end = m.end;
    s.kind = kind_of(m);
    s.shared = true;
    const std::optional<Span<const Expr*>> dims = shape_values(m.call->args[0]);
    // One dim is a number of bytes, whatever the dtype.
    if (dims) s.size = size_of(*dims, dims->size() == 1 ? 1 : std::int64_t(s.kind.dtype.bytes()));
    return s;
  }

  static MemoryKind kind_of(const FoundMemory& m) {
    MemoryKind kind;
    kind.scope = "global";
    for (const Expr* arg : m.call->args) {
      if (const auto* d = as<DTypeImm>(arg)) kind.dtype = d->value;
      if (const auto* s = as<StringImm>(arg)) kind.scope = s->value;
    }
    const auto at = [&](std::size_t i) {
      const auto device = i < m.call->args.size() ? const_int(m.call->args[i]) : std::nullopt;
      kind.device = device.value_or(0);
    };
    switch (m.form) {
      case FoundMemory::Form::Storage:
        at(1);
        break;
      case FoundMemory::Form::OwnTensor:
        at(2);
        break;
      case FoundMemory::Form::TensorInStorage:
        at(4);
        break;
    }
    return kind;
  }

  // The variable's type is more informative than the call once shapes are computed at run time.
  MemorySize tensor_size(const FoundMemory& m, DType dtype) {
    const auto* type = as<TensorType>(m.binding->var->type);
    if (type && type->has_shape) return size_of(type->shape, std::int64_t(dtype.bytes()));
    const std::size_t shape = m.form == FoundMemory::Form::OwnTensor ? 0 : 2;
    const auto dims = shape < m.call->args.size() ? shape_values(m.call->args[shape]) : std::nullopt;
    return dims ? size_of(*dims, std::int64_t(dtype.bytes())) : MemorySize{};
  }

  MemorySize size_of(Span<const Expr*> dims, std::int64_t element) {
    MemorySize size;
    const Expr* known = ctx_.i64(element);
    const Expr* symbolic = ctx_.i64(1);
    for (const Expr* d : dims) {
      const Expr*& factor = isa<IntImm>(d) ? known : symbolic;
      factor = mul(ctx_, factor, d);
    }
    size.bytes = mul(ctx_, known, symbolic);
    size.value = value_of(size.bytes);
    return size;
  }

  std::optional<std::int64_t> value_of(const Expr* bytes) {
    if (const auto known = const_int(bytes)) return known;
    std::vector<const Var*> vars;
    collect_vars(bytes, vars);
    VarMap values;
    for (const Var* v : vars) {
      const auto given = dims_.find(std::string(v->name));
      if (given != dims_.end()) {
        values[v] = literal_for(v, given->second);
      } else if (const auto most = analyzer_.bounds(v).max) {
        values[v] = literal_for(v, *most);
      } else if (seen_.insert(v->name).second) {
        open_dims_.push_back(std::string(v->name));
      }
    }
    return const_int(analyzer_.simplify(substitute(ctx_, bytes, values)));
  }

  const Expr* literal_for(const Var* v, std::int64_t value) {
    const auto* t = as<PrimType>(v->type);
    return t ? cast_to(ctx_, t->dtype, ctx_.i64(value)) : ctx_.i64(value);
  }

  // A storage whose size is computed at run time is as large as the largest of its tensors: the planner shares sizes
  // that depend on dims only where they are equal.
  static void size_storages(FunctionMemory& out) {
    for (MemoryStorage& s : out.storages) {
      if (s.size.bytes || s.tensors.empty()) continue;
      const auto less = [&](std::size_t a, std::size_t b) {
        return out.tensors[a].size.value.value_or(0) < out.tensors[b].size.value.value_or(0);
      };
      s.size = out.tensors[*std::max_element(s.tensors.begin(), s.tensors.end(), less)].size;
    }
  }

  void add_up(FunctionMemory& out) {
    Summer total;
    Summer unshared;
    for (const MemoryStorage& s : out.storages) total.add(s.size);
    for (const MemoryTensor& t : out.tensors) unshared.add(t.size);
    out.total = total.sum();
    out.unshared = unshared.sum();
    const Held peak = held_at_once(out.storages, out.bindings.size());
    const Held needed = held_at_once(out.tensors, out.bindings.size());
    out.peak = peak.most;
    out.peak_at = peak.at;
    out.needed = needed.most;
    out.needed_at = needed.at;
    out.open_dims = std::move(open_dims_);
  }

  Context& ctx_;
  const DimValues& dims_;
  Analyzer analyzer_;
  const Function* f_;
  Lifetimes lifetimes_;
  std::unordered_map<const Var*, std::string> names_;
  std::unordered_map<const FoundMemory*, std::size_t> storages_;
  std::unordered_set<std::string_view> seen_;
  std::vector<std::string> open_dims_;
};

bool has_storages(const Function* f) {
  bool found = false;
  walk(f->body, [&](const Node* n) {
    if (const auto* call = as<Call>(n)) found = found || op::is_call_with(call, op::Trait::Storage);
    return !found;
  });
  return found;
}

// The module after the planner, from whatever stage it is at: runs the part of the minimum build up to the planner.
Result<const Module*> planned(PassEnv& env, const Module* module) {
  RLDB_TRY(std::vector<PassInvocation> passes, parse_pipeline("minimum"));
  const auto planner = std::find_if(passes.begin(), passes.end(), [](const PassInvocation& p) {
    return info(p).id == PassId::StaticPlanBlockMemory;
  });
  passes.erase(planner == passes.end() ? planner : planner + 1, passes.end());
  RunOptions quiet;
  quiet.verify_each = false;
  source::Diagnostics ignored;  // warnings of lowering: its result is not kept
  PassEnv own{env.ctx, ignored, env.kernels};
  return run_pipeline(own, module, passes, quiet);
}

}  // namespace

Result<std::vector<FunctionMemory>> memory_of(PassEnv& env, const Module* module, const DimValues& dims,
                                              std::string_view function) {
  const auto* wanted = function.empty() ? nullptr : as<Function>(module->find(function));
  if (!function.empty() && !wanted) return Failure(message(diag::PassNoFunction, function));
  const Module* after = nullptr;  // planned when the first function needs it
  std::vector<FunctionMemory> out;
  for (const ModuleEntry& entry : module->entries) {
    const auto* f = as<Function>(entry.function);
    if (!f || (wanted && f != wanted)) continue;
    const bool preview = !has_storages(f);
    if (preview && !after) {
      RLDB_TRY(after, planned(env, module));
    }
    const Module* in = preview ? after : module;
    const auto* shown = as<Function>(in->find(entry.name));
    if (!shown) continue;
    RLDB_TRY(FunctionMemory memory, Reporter(env.ctx, in, shown, dims).report(entry.name));
    memory.preview = preview;
    out.push_back(std::move(memory));
  }
  return out;
}

}  // namespace rldb::passes
