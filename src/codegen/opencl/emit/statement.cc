// Statements of one thread.
#include <fmt/format.h>

#include "codegen/opencl/emit/emitter.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/profile_mark.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/tir_passes/memory_scope.h"

namespace rldb::codegen {

using ir::as;
using ir::DType;

void Emitter::line(std::string text) {
  if (body_.size() > kMostText) refuse("its code is too long");
  if (!refused_.empty()) return;
  body_.append(std::size_t(depth_) * 2, ' ').append(text).append("\n");
}

void Emitter::block(const ir::Stmt* s) {
  line("{");
  ++depth_;
  statement(s);
  --depth_;
  line("}");
}

void Emitter::statement(const ir::Stmt* s) {
  if (!refused_.empty()) return;
  if (const auto* seq = as<ir::SeqStmt>(s)) {
    for (const ir::Stmt* part : seq->stmts) statement(part);
  } else if (const auto* f = as<ir::ForStmt>(s)) {
    loop(f);
  } else if (const auto* st = as<ir::BufferStore>(s)) {
    store(st);
  } else if (const auto* i = as<ir::IfThenElse>(s)) {
    line(fmt::format("if ({}) {{", bare(value(i->cond))));
    ++depth_;
    const auto before = narrowed_;
    const int around = divergent_;
    if (!is_uniform(i->cond)) ++divergent_;
    narrow(i->cond);
    statement(i->then_case);
    narrowed_ = before;
    --depth_;
    if (i->else_case) {
      line("} else {");
      ++depth_;
      statement(i->else_case);
      --depth_;
    }
    divergent_ = around;
    line("}");
  } else if (const auto* w = as<ir::WhileStmt>(s)) {
    ++divergent_;  // also of its condition, which is written once
    const std::string leave = leaving_variable(w->body);
    const std::string condition = value(w->cond);
    line(fmt::format("while ({}) {{", leave.empty() ? bare(condition) : fmt::format("{} && !{}", condition, leave)));
    ++depth_;
    stop_in_loop(w->body, leave);
    statement(w->body);
    --depth_;
    --divergent_;
    line("}");
  } else if (const auto* a = as<ir::AttrStmt>(s)) {
    if (!ir::thread_tag(a).empty()) return open_threads(a);
    statement(a->body);
  } else if (const auto* b = as<ir::BindStmt>(s)) {
    bind(b);
  } else if (const auto* e = as<ir::Evaluate>(s)) {
    effect(e);
  } else if (const auto* assert_stmt = as<ir::AssertStmt>(s)) {
    assertion(assert_stmt);
  } else if (const auto* alloc = as<ir::AllocBuffer>(s)) {
    allocate_in_thread(alloc);
  } else if (const auto* old = as<ir::AllocateStmt>(s)) {
    allocate_in_thread(old);
  } else if (const auto* d = as<ir::DeclBuffer>(s)) {
    declare(d);
  } else {
    refuse("a statement has no form in OpenCL C: " + ir::print_stmt(s));
  }
}

// Takes `v < constant` and the like, parts of a condition that holds, into account.
void Emitter::narrow(const ir::Expr* cond) {
  if (ir::is_call_of(cond, ir::intrin::Likely)) return narrow(as<ir::Call>(cond)->args[0]);
  const auto* b = as<ir::BinaryExpr>(cond);
  if (!b) return;
  if (b->op() == ir::BinaryKind::And) {
    narrow(b->a);
    return narrow(b->b);
  }
  const auto* v = as<ir::Var>(b->a);
  const auto limit = ir::const_int(b->b);
  if (!v || !limit || *limit == INT64_MIN || !local_vars_.contains(v)) return;
  ir::Bounds& now = narrowed_.try_emplace(v, bounds_of(v)).first->second;
  if (b->op() == ir::BinaryKind::LT) now.max = std::min(now.max.value_or(*limit - 1), *limit - 1);
  if (b->op() == ir::BinaryKind::LE) now.max = std::min(now.max.value_or(*limit), *limit);
  if (b->op() == ir::BinaryKind::GE) now.min = std::max(now.min.value_or(*limit), *limit);
}

// The analyser takes a variable's bounds for its only ones.
void Emitter::note_range(const ir::Var* v, const ir::Bounds& bounds) {
  const auto [it, fresh] = ranges_.try_emplace(v, bounds);
  if (!fresh && (it->second.min != bounds.min || it->second.max != bounds.max)) proves_ = false;
  analyzer_.bind(v, bounds);
}

void Emitter::note_loop(const ir::ForStmt* s) {
  const ir::Bounds low = analyzer_.bounds(s->min), count = analyzer_.bounds(s->extent);
  ir::Bounds range{low.min, std::nullopt};
  std::int64_t end = 0;
  if (low.max && count.max && !__builtin_add_overflow(*low.max, *count.max, &end) && end != INT64_MIN)
    range.max = end - 1;
  note_range(s->var, range);
}

// Of an index: also of `v + constant`, where a condition around it bounds v.
ir::Bounds Emitter::bounds_of(const ir::Expr* e) {
  if (!proves_) return {};
  const auto* sum = as<ir::BinaryExpr>(e);
  const auto offset = sum && sum->op() == ir::BinaryKind::Add ? ir::const_int(sum->b) : std::nullopt;
  const auto it = narrowed_.find(as<ir::Var>(offset ? sum->a : e));
  if (it == narrowed_.end()) return analyzer_.bounds(e);
  ir::Bounds b = it->second;
  if (b.min && __builtin_add_overflow(*b.min, offset.value_or(0), &*b.min)) b.min.reset();
  if (b.max && __builtin_add_overflow(*b.max, offset.value_or(0), &*b.max)) b.max.reset();
  return b;
}

void Emitter::loop(const ir::ForStmt* s) {
  if (s->for_kind == ir::ForKind::ThreadBinding)
    return refuse(fmt::format("loop `{}` is bound to `{}` inside of code that runs in threads already", s->var->name,
                              s->thread_tag));
  note_loop(s);
  const Looks looks = looks_in(s);
  if (looks == Looks::Chunks) return loop_in_chunks(s);
  const DType t = s->var->dtype();
  const std::string_view type = value_type(t);
  const std::string first = value(s->min), count = value(s->extent);
  const std::string name = names_.of(s->var, s->var->name);
  const auto low = ir::const_int(s->min), extent = ir::const_int(s->extent);
  const std::string leave = looks == Looks::Each ? leaving_variable(s->body) : "";
  const std::string goes_on = leave.empty() ? "" : fmt::format(" && !{}", leave);
  const std::string step = s->step ? fmt::format("{} += {}", name, value(s->step)) : "++" + name;
  std::int64_t end = 0;
  if (low && extent && !__builtin_add_overflow(*low, *extent, &end)) {
    line(fmt::format("for ({0} {1} = {2}; {1} < {3}{5}; {4})", type, name, first, int_literal(end, t), step, goes_on));
  } else {
    const std::string limit = names_.fresh(name + "_end");
    line(fmt::format("for ({0} {1} = {2}, {3} = {1} + {4}; {1} < {3}{6}; {5})", type, name, bare(first), limit, count,
                     step, goes_on));
  }
  local_vars_[s->var] = name;
  line("{");
  ++depth_;
  if (looks == Looks::Each) stop_in_loop(s->body, leave);
  const bool together = is_uniform(s->min) && is_uniform(s->extent) && looks == Looks::Never && !leaves_loop(s->body);
  divergent_ += together ? 0 : 1;
  statement(s->body);
  divergent_ -= together ? 0 : 1;
  --depth_;
  line("}");
}

void Emitter::bind(const ir::BindStmt* s) {
  const DType t = s->var->dtype();
  const std::string_view type = value_type(t.element());
  if (type.empty()) return refuse(fmt::format("variable `{}` is {}", s->var->name, to_string(t)));
  if (t.is_scalar()) {
    if (t.is_integral() && ranges_.try_emplace(s->var).second) analyzer_.bind_value(s->var, s->value);
    const std::string text = bare(value(s->value));
    const std::string name = names_.of(s->var, s->var->name);
    line(fmt::format("const {} {} = {};", type, name, text));
    local_vars_[s->var] = name;
    if (!is_uniform(s->value)) varying_.insert(s->var);
    return;
  }
  std::vector<std::string> lanes;
  for (int i = 0; i < t.lanes && i < kMostLanes; ++i) {
    const std::string text = bare(value(s->value, i));
    lanes.push_back(names_.fresh(fmt::format("{}_{}", s->var->name, i)));
    line(fmt::format("const {} {} = {};", type, lanes.back(), text));
  }
  local_vectors_[s->var] = std::move(lanes);
}

void Emitter::effect(const ir::Evaluate* s) {
  const auto* c = as<ir::Call>(s->value);
  const ir::IntrinsicInfo* row = c ? ir::called_intrinsic(c) : nullptr;
  if (!c) {
    if (!ir::const_int(s->value) && !as<ir::FloatImm>(s->value)) line(fmt::format("(void){};", value(s->value)));
    return;
  }
  if (row && (row->id == ir::intrin::Ret || row->id == ir::intrin::ThreadReturn)) {
    some_left_ = some_left_ || divergent_ > 0;
    return line("return;");
  }
  if (ir::is_profile_mark(s->value)) return;
  if (row && row->id == ir::intrin::BreakLoop) return line("break;");
  if (row && row->id == ir::intrin::ContinueLoop) return line("continue;");
  if (row && row->id == ir::intrin::TvmStorageSync) {
    const auto* scope = c->args.empty() ? nullptr : as<ir::StringImm>(c->args[0]);
    if (scope &&
        (scope->value == passes::memory_scope::kShared || scope->value == passes::memory_scope::kSharedDynamic))
      return line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
    return refuse(fmt::format("a barrier over `{}` has no form in OpenCL C", scope ? scope->value : "?"));
  }
  line(fmt::format("(void){};", value(s->value)));
}

void Emitter::assertion(const ir::AssertStmt* s) {
  std::string message;
  for (const std::string_view part : s->message_parts) message += part;
  const std::size_t number = site(runtime::ErrorKind::AssertFailed, message.empty() ? "an assertion fails" : message);
  line(fmt::format("if (!{}) rldb_fault({}, {}, 0, 0, 0);", value(s->cond), faults(), number));
}

// ---- memory of threads ----

void Emitter::allocate_in_thread(const ir::Stmt* s) {
  if (const auto* a = as<ir::AllocBuffer>(s)) {
    return allocate(a->buffer->data, a->buffer->name, a->buffer->dtype, allocated_count(a->buffer), a->buffer->scope);
  }
  const auto* a = as<ir::AllocateStmt>(s);
  std::optional<std::int64_t> count = 1;
  for (const ir::Expr* e : a->extents) {
    const auto known = ir::const_int(e);
    std::int64_t all = 0;
    count = count && known && *known >= 0 && !__builtin_mul_overflow(*count, *known, &all) ? std::optional(all)
                                                                                           : std::nullopt;
  }
  allocate(a->var, a->var->name, a->dtype, count, a->scope);
}

void Emitter::allocate(const ir::Var* data, std::string_view name, DType dtype, std::optional<std::int64_t> count,
                       std::string_view scope) {
  const bool shared = scope == passes::memory_scope::kShared || scope == passes::memory_scope::kSharedDynamic;
  const bool own = scope == "local" || scope == passes::memory_scope::kGlobal || scope.empty();
  if (!shared && !own) return refuse(fmt::format("memory of scope `{}` (`{}`)", scope, name));
  if (!count) return refuse(fmt::format("the size of `{}`, memory of threads, is not a constant", name));
  const std::string_view type = memory_type(dtype);
  if (type.empty())
    return refuse(
        fmt::format("buffer `{}` has elements of {}, which has no type in OpenCL C here", name, to_string(dtype)));
  if (dtype.code == runtime::TypeCode::Float && dtype.bits == 64) need_float64();
  const std::int64_t elements = std::max<std::int64_t>(1, *count) * std::max(1, int(dtype.lanes));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, std::int64_t(dtype.element().bytes()), &bytes) ||
      (!shared && bytes > kMostThreadMemory))
    return refuse(fmt::format("`{}`, memory of threads, is too large", name));
  const std::string c_name = names_.of(data, name);
  // Aligned, because a buffer of another dtype may be declared over it.
  const std::string array = fmt::format("{} {}[{}] __attribute__((aligned(16)))", type, c_name, elements);
  if (shared) {
    shared_ += fmt::format("  __local {};\n", array);
    launch_->shared_bytes += std::size_t(bytes);
  } else {
    line(array + " = {0};");
    launch_->private_bytes += std::size_t(bytes);
  }
  memories_[data] = Memory{shared ? Space::Local : Space::Private, c_name, dtype.element(), bytes};
}

void Emitter::declare(const ir::DeclBuffer* s) {
  const ir::Var* data = s->data ? as<ir::Var>(s->data) : s->buffer->data;
  if (!data) return refuse(fmt::format("buffer `{}` is declared over `{}`", s->buffer->name, ir::print_expr(s->data)));
  if (const auto alias = program_.aliases.find(data); alias != program_.aliases.end()) data = alias->second;
  if (data != s->buffer->data) program_.aliases[s->buffer->data] = data;
  if (!launch_ || !ir::spans_memory(s)) return;
  const Memory* m = memory_of(data, s->buffer->name);
  if (m && m->bytes) spanned_[s->buffer] = *m->bytes / std::int64_t(s->buffer->dtype.bytes());
}

}  // namespace rldb::codegen
