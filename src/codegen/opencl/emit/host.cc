// The launches, and the statements around them: checked here, executed by codegen/gpu/call.cc.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/opencl/emit/emitter.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_opencl.h"
#include "rldb/tir_passes/memory_scope.h"

namespace rldb::codegen {

using ir::as;
using ir::DType;

namespace {}  // namespace

Emitter::Emitter(ir::Context& ctx, const ir::PrimFunc* f, const EmitOptions& options)
    : options_(options), analyzer_(ctx) {
  program_.f = f;
  for (const ir::PrimParam& p : f->params) {
    if (!p.buffer) {
      if (as<ir::PointerType>(p.var->type) || p.var->dtype().is_handle()) parameters_[p.var] = &p;
      continue;
    }
    parameters_[p.buffer->data] = &p;
    if (p.var != p.buffer->data) program_.aliases[p.var] = p.buffer->data;
    for (const ir::Expr* d : p.buffer->shape)
      if (const auto* v = as<ir::Var>(d)) analyzer_.mark_non_negative(v);
  }
}

ir::Result<Program> Emitter::run() {
  walk(program_.f->body);
  if (!refused_.empty())
    return support::Failure(unscheduled_ ? source::message(diag::OpenClUnscheduled, options_.name, refused_)
                                         : source::message(diag::OpenClUnsupported, options_.name, refused_));
  program_.text = prelude() + program_.text;
  return std::move(program_);
}

void Emitter::host_loop(const ir::ForStmt* s) { note_loop(s); }

void Emitter::host_bind(const ir::BindStmt* s) {
  if (s->var->dtype().is_integral() && ranges_.try_emplace(s->var).second) analyzer_.bind_value(s->var, s->value);
}

void Emitter::allocation(const ir::Stmt* s) {
  const auto* alloc = as<ir::AllocBuffer>(s);
  if (alloc && is_host_memory(s) && !alloc->buffer->strides.empty())
    return refuse(fmt::format("buffer `{}` is allocated with strides", alloc->buffer->name));
  outside_[alloc ? alloc->buffer->data : as<ir::AllocateStmt>(s)->var] = s;
}

void Emitter::declaration(const ir::DeclBuffer* s) { declare(s); }

// ---- memory that the host allocates ----

// Also shared memory that outlives a launch: there is one block, whose memory it is.
bool Emitter::is_host_memory(const ir::Stmt* s) {
  const auto* b = as<ir::AllocBuffer>(s);
  const std::string_view scope = b ? b->buffer->scope : as<ir::AllocateStmt>(s)->scope;
  if (scope.empty() || scope == passes::memory_scope::kGlobal) return true;
  const ir::Var* data = b ? b->buffer->data : as<ir::AllocateStmt>(s)->var;
  bool several_blocks = false;
  if (launches_with(data, several_blocks) < 2) return false;
  if (scope != passes::memory_scope::kShared && scope != passes::memory_scope::kSharedDynamic)
    refuse(fmt::format("`{}`, memory of scope `{}`, is used by several launches", data->name, scope));
  if (several_blocks)
    refuse(fmt::format("`{}`, memory of scope `{}`, is used by several launches of several blocks", data->name, scope));
  return true;
}

// How many launches use the memory.
int Emitter::launches_with(const ir::Var* data, bool& several_blocks) {
  const auto uses = [&](const ir::Stmt* launch) {
    bool found = false, blocks = false;
    ir::walk(launch, [&](const ir::Node* n) {
      const auto* l = as<ir::BufferLoad>(n);
      const auto* s = as<ir::BufferStore>(n);
      const auto* d = as<ir::DeclBuffer>(n);
      const ir::Var* used = l ? l->buffer->data : s ? s->buffer->data : d && d->data ? as<ir::Var>(d->data) : nullptr;
      const auto alias = program_.aliases.find(used);
      found = found || (used && (used == data || (alias != program_.aliases.end() && alias->second == data)));
      if (const auto* a = as<ir::AttrStmt>(n)) blocks = blocks || ir::is_block_idx(ir::thread_tag(a));
      return true;
    });
    several_blocks = several_blocks || (found && blocks);
    return found;
  };
  int count = 0;
  ir::walk(program_.f->body, [&](const ir::Node* n) {
    const auto* a = as<ir::AttrStmt>(n);
    const bool opens = a && !ir::thread_tag(a).empty();
    if (opens && uses(a)) ++count;
    return !opens;
  });
  return count;
}
DType Emitter::allocated_dtype(const ir::Stmt* s) const {
  const auto* b = as<ir::AllocBuffer>(s);
  return (b ? b->buffer->dtype : as<ir::AllocateStmt>(s)->dtype).element();
}
std::optional<std::int64_t> Emitter::allocated_bytes(const ir::Stmt* s) {
  if (const auto* b = as<ir::AllocBuffer>(s)) {
    const auto count = allocated_count(b->buffer);
    return count ? std::optional(*count * std::int64_t(b->buffer->dtype.bytes())) : std::nullopt;
  }
  const auto* a = as<ir::AllocateStmt>(s);
  std::int64_t bytes = std::int64_t(a->dtype.bytes());
  for (const ir::Expr* e : a->extents) {
    const auto known = ir::const_int(e);
    if (!known || *known < 0 || __builtin_mul_overflow(bytes, *known, &bytes)) return std::nullopt;
  }
  return bytes;
}
void Emitter::allocate_for_launch(const ir::Stmt* s) {
  std::string rest;
  std::swap(rest, body_);
  const int depth = std::exchange(depth_, 1);
  allocate_in_thread(s);
  std::swap(rest, body_);
  depth_ = depth;
  outer_arrays_ += rest;
}

// ---- launches ----

void Emitter::launch(const ir::AttrStmt* s) {
  Launch made;
  // A driver may use the name for a file (PoCL): that of a fused kernel can be hundreds of characters long.
  constexpr std::size_t kLongestName = 64;
  made.function = names_.fresh(fmt::format("{}_kernel{}", options_.name.substr(0, kLongestName),
                                           program_.launches.empty() ? "" : std::to_string(program_.launches.size())));
  launch_ = &made;
  some_left_ = false;
  body_.clear(), shared_.clear(), outer_arrays_.clear();
  memories_.clear(), threads_.clear(), local_vars_.clear(), local_vectors_.clear();
  depth_ = 1;
  open_threads(s);
  launch_ = nullptr;
  if (!refused_.empty()) return;
  program_.text += kernel_head(made);
  program_.launch_of[s] = program_.launches.size();
  program_.launches.push_back(std::move(made));
}

// A thread's index is defined at the top of the kernel, once for each tag.
void Emitter::open_threads(const ir::AttrStmt* s) {
  const std::string_view tag = ir::thread_tag(s);
  if (!s->thread_var || !(ir::is_thread_idx(tag) || ir::is_block_idx(tag)) || tag.size() < 2)
    return refuse(fmt::format("threads of kind `{}`", tag));
  if (!is_of_host(s->value) || uses_threads(s->value))
    return refuse(fmt::format("the number of `{}` depends on what the kernel computes", tag));
  const auto known =
      std::find_if(launch_->axes.begin(), launch_->axes.end(), [&](const ThreadAxis& a) { return a.tag == tag; });
  const auto extent = ir::const_int(s->value);
  if (known == launch_->axes.end()) {
    launch_->axes.push_back({tag, s->value});
    std::string name = names_.fresh(std::string(tag.substr(0, tag.size() - 2)) + "_" + tag.back());
    threads_.emplace(tag, name);
  } else if (!(known->extent == s->value || (extent && ir::const_int(known->extent) == extent))) {
    return refuse(fmt::format("`{}` is launched with two sizes", tag));
  }
  // Arithmetic on the variable is that of its dtype.
  const std::string& name = threads_.find(tag)->second;
  const DType t = s->thread_var->dtype();
  if (ir::is_thread_idx(tag)) varying_.insert(s->thread_var);
  local_vars_[s->thread_var] = t == DType::Int(32) ? name : fmt::format("(({}){})", value_type(t), name);
  note_range(s->thread_var, {0, extent ? std::optional(*extent - 1) : std::nullopt});
  const auto* inner = as<ir::AttrStmt>(s->body);
  if (!inner || ir::thread_tag(inner).empty()) stop_at_head(s->body);
  statement(s->body);
}

bool Emitter::uses_threads(const ir::Expr* e) const {
  std::vector<const ir::Var*> vars;
  ir::collect_vars(e, vars);
  return std::any_of(vars.begin(), vars.end(), [&](const ir::Var* v) { return local_vars_.contains(v); });
}

// The number of the thread, in the order in which the evaluator runs them.
std::string Emitter::thread_number() {
  std::string number;
  for (const ThreadAxis& a : launch_->axes) {
    const std::string& name = threads_.find(a.tag)->second;
    number = number.empty() ? fmt::format("(uint){}", name)
                            : fmt::format("({}) * (uint){} + (uint){}", number, value(a.extent), name);
  }
  return number;
}

std::string Emitter::kernel_head(Launch& made) {
  launch_ = &made;
  some_left_ = false;
  const bool reports = std::any_of(made.arguments.begin(), made.arguments.end(),
                                   [](const LaunchArgument& a) { return a.kind == LaunchArgument::Kind::Fault; });
  const std::string number = reports ? thread_number() : "";  // may add arguments
  std::vector<std::string> parameters;
  for (const LaunchArgument& a : made.arguments) {
    switch (a.kind) {
      case LaunchArgument::Kind::Memory:
        parameters.push_back(
            fmt::format("__global {}* {}", memory_type(memories_.at(a.var).dtype), memories_.at(a.var).name));
        break;
      case LaunchArgument::Kind::Bytes:
        parameters.push_back(fmt::format("long rldb_bytes_{}", names_.of(a.var, a.var->name)));
        break;
      case LaunchArgument::Kind::Scalar:
        parameters.push_back(fmt::format("{} {}", a.var->dtype().is_bool() ? "uchar" : value_type(a.var->dtype()),
                                         names_.of(a.var, a.var->name)));
        break;
      case LaunchArgument::Kind::Stop:
        parameters.push_back("volatile __global uint* rldb_stop");
        break;
      case LaunchArgument::Kind::Fault:
        parameters.push_back("volatile __global uint* rldb_f, uint rldb_only");
        break;
    }
  }
  std::string text = fmt::format("\n__kernel void {}(", made.function);
  for (std::size_t i = 0; i < parameters.size(); ++i) text += (i ? ", " : "") + parameters[i];
  text += ") {\n" + shared_;
  for (const ThreadAxis& a : made.axes)
    text += fmt::format("  const int {} = (int){}({});\n", threads_.find(a.tag)->second,
                        ir::is_thread_idx(a.tag) ? "get_local_id" : "get_group_id", a.tag.back() - 'x');
  if (reports) text += fmt::format("  const uint rldb_me = {};\n", number);
  launch_ = nullptr;
  return text + outer_arrays_ + body_ + "}\n";
}

ir::Result<Program> emit_program(ir::Context& ctx, const ir::PrimFunc* f, const EmitOptions& options) {
  return Emitter(ctx, f, options).run();
}

}  // namespace rldb::codegen
