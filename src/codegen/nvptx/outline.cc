// Parameters of a launch: the scalars that its statements and the shapes of its buffers use, then its memory. Memory of
// threads that is allocated around it, and views that are declared there, become part of it.
#include "codegen/nvptx/outline.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/codegen/gpu/host_walk.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_nvptx.h"

namespace rldb::codegen {

using ir::as;

namespace {

template <class T>
void add_once(std::vector<T>& all, T item) {
  if (std::find(all.begin(), all.end(), item) == all.end()) all.push_back(item);
}

bool is_pointer(const ir::Var* v) { return as<ir::PointerType>(v->type) || v->dtype().is_handle(); }

// The variables that the statements of a launch use and define.
struct Uses {
  std::vector<const ir::Var*> memory;  // pointers behind buffers
  std::vector<const ir::Var*> scalars;
  std::unordered_set<const ir::Var*> defined;
  std::unordered_set<const ir::Var*> read, written;
};

void add_sizes(const ir::Buffer* b, std::vector<const ir::Var*>& vars) {
  for (const ir::Expr* e : b->shape) ir::collect_vars(e, vars);
  for (const ir::Expr* e : b->strides) ir::collect_vars(e, vars);
  if (b->elem_offset) ir::collect_vars(b->elem_offset, vars);
}

Uses uses_of(const ir::Stmt* s) {
  Uses uses;
  std::vector<const ir::Var*> vars;
  const auto access = [&](const ir::Buffer* b, std::unordered_set<const ir::Var*>& how) {
    add_once(uses.memory, b->data);
    how.insert(b->data);
    add_sizes(b, vars);
  };
  ir::walk(s, [&](const ir::Node* n) {
    if (const auto* v = as<ir::Var>(n)) vars.push_back(v);
    if (const auto* l = as<ir::BufferLoad>(n)) access(l->buffer, uses.read);
    if (const auto* st = as<ir::BufferStore>(n)) access(st->buffer, uses.written);
    if (const auto* f = as<ir::ForStmt>(n)) uses.defined.insert(f->var);
    if (const auto* b = as<ir::BindStmt>(n)) uses.defined.insert(b->var);
    if (const auto* l = as<ir::LetExpr>(n)) uses.defined.insert(l->var);
    if (const auto* a = as<ir::AttrStmt>(n); a && a->thread_var) uses.defined.insert(a->thread_var);
    if (const auto* a = as<ir::AllocateStmt>(n)) uses.defined.insert(a->var);
    if (const auto* a = as<ir::AllocBuffer>(n)) {
      uses.defined.insert(a->buffer->data);
      add_sizes(a->buffer, vars);
    }
    if (const auto* d = as<ir::DeclBuffer>(n)) {
      if (const auto* data = d->data ? as<ir::Var>(d->data) : nullptr) {
        add_once(uses.memory, data);
        if (data != d->buffer->data) uses.defined.insert(d->buffer->data);
      }
      add_sizes(d->buffer, vars);
    }
    return true;
  });
  for (const ir::Var* v : vars)
    if (!is_pointer(v)) add_once(uses.scalars, v);
  return uses;
}

class Outline : public HostWalk {
 public:
  Outline(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name) : ctx_(ctx), name_(name) {
    out_.program.f = f;
    for (const ir::PrimParam& p : f->params) {
      if (!p.buffer) continue;
      parameters_[p.buffer->data] = p.buffer;
      if (p.var != p.buffer->data) out_.program.aliases[p.var] = p.buffer->data;
    }
  }

  ir::Result<Outlined> run() {
    walk(out_.program.f->body);
    if (!refused_.empty())
      return support::Failure(unscheduled_ ? source::message(diag::CudaUnscheduled, name_, refused_)
                                           : source::message(diag::CudaUnsupported, name_, refused_));
    return std::move(out_);
  }

 protected:
  void allocation(const ir::Stmt* s) override {
    const auto* b = as<ir::AllocBuffer>(s);
    const ir::Var* data = b ? b->buffer->data : as<ir::AllocateStmt>(s)->var;
    const std::string_view scope = b ? b->buffer->scope : as<ir::AllocateStmt>(s)->scope;
    if (scope.empty() || scope == "global")
      temporaries_[data] = s;
    else
      around_.push_back({data, s});
  }

  void declaration(const ir::DeclBuffer* s) override {
    around_.push_back({s->buffer->data, s});
    const ir::Var* data = s->data ? as<ir::Var>(s->data) : s->buffer->data;
    if (data && data != s->buffer->data) out_.program.aliases[s->buffer->data] = resolved(data);
  }

  void launch(const ir::AttrStmt* s) override {
    const ir::Stmt* body = with_memory_around(s);
    Launch made;
    made.function = fmt::format("{}_kernel{}", c_name(), out_.launches.empty() ? "" : fmt::format("_{}", count()));
    open_threads(s, made);
    Uses uses = uses_of(body);
    std::vector<ir::PrimParam> buffers;
    std::vector<const ir::Var*> sizes;
    for (const ir::Var* v : uses.memory) {
      if (uses.defined.contains(v)) continue;
      const ir::Var* data = resolved(v);
      if (std::any_of(buffers.begin(), buffers.end(), [&](const auto& p) { return p.buffer->data == data; })) continue;
      const ir::Buffer* b = buffer_of(data);
      if (!b) return refuse(fmt::format("the memory behind `{}` is not known", v->name));
      buffers.push_back({b->data, b});
      add_sizes(b, sizes);
      if (temporaries_.contains(data)) out_.program.temporaries.insert(data);
    }
    for (const ir::Var* v : sizes)
      if (!is_pointer(v)) add_once(uses.scalars, v);
    note(uses);
    std::vector<ir::PrimParam> params;
    for (const ir::Var* v : uses.scalars) {
      if (uses.defined.contains(v)) continue;
      params.push_back({v, nullptr});
      made.arguments.push_back({LaunchArgument::Kind::Scalar, v});
    }
    for (const ir::PrimParam& p : buffers) {
      params.push_back(p);
      made.arguments.push_back({LaunchArgument::Kind::Memory, p.buffer->data});
    }
    made.arguments.push_back({LaunchArgument::Kind::Fault});
    made.arguments.push_back({LaunchArgument::Kind::Stop});
    const ir::PrimFunc* f = out_.program.f;
    PtxLaunch ptx{made.function, ctx_.prim_func(params, f->ret_type, body, f->attrs, false), {}};
    for (const ThreadAxis& a : made.axes) ptx.axes.push_back(a.tag);
    out_.launches.push_back(std::move(ptx));
    out_.program.launch_of[s] = out_.program.launches.size();
    out_.program.launches.push_back(std::move(made));
  }

 private:
  struct Around {
    const ir::Var* data;
    const ir::Stmt* s;
  };

  std::size_t count() const { return out_.launches.size(); }

  // A letter or `_`, then letters, digits and `_`.
  std::string c_name() const {
    std::string made;
    for (const char c : name_) made += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return made.empty() || std::isdigit(static_cast<unsigned char>(made[0])) ? "_" + made : made;
  }

  const ir::Var* resolved(const ir::Var* v) const {
    const auto it = out_.program.aliases.find(v);
    return it == out_.program.aliases.end() ? v : it->second;
  }

  const ir::Buffer* buffer_of(const ir::Var* data) {
    if (const auto it = parameters_.find(data); it != parameters_.end()) return it->second;
    const auto it = temporaries_.find(data);
    if (it == temporaries_.end()) return nullptr;
    if (const auto* b = as<ir::AllocBuffer>(it->second)) return b->buffer;
    const auto* a = as<ir::AllocateStmt>(it->second);
    ir::Buffer made = *ctx_.buffer(a->var->name, a->extents, a->dtype);
    made.data = a->var;
    return ctx_.buffer(made);
  }

  // Memory of threads that is allocated, and views that are declared, around the launch: each launch has its own.
  const ir::Stmt* with_memory_around(const ir::AttrStmt* s) {
    std::vector<const ir::Stmt*> parts;
    std::vector<const ir::Var*> wanted = uses_of(s).memory;
    for (std::size_t i = around_.size(); i-- > 0;) {
      if (std::find(wanted.begin(), wanted.end(), around_[i].data) == wanted.end()) continue;
      parts.insert(parts.begin(), around_[i].s);
      if (const auto* d = as<ir::DeclBuffer>(around_[i].s)) {
        if (const auto* data = as<ir::Var>(d->data)) wanted.push_back(data);
      } else if (const auto [it, fresh] = used_by_.try_emplace(around_[i].data, count()); !fresh) {
        refuse(fmt::format("`{}`, memory of threads, is used by several launches", around_[i].data->name));
      }
    }
    if (parts.empty()) return s;
    parts.push_back(s);
    return ctx_.seq_stmt(parts);
  }

  void open_threads(const ir::Stmt* s, Launch& made) {
    std::vector<const ir::Var*> threads;
    ir::walk(s, [&](const ir::Node* n) {
      const auto* a = as<ir::AttrStmt>(n);
      const std::string_view tag = a ? ir::thread_tag(a) : "";
      if (tag.empty()) return true;
      const bool known_kind = ir::is_thread_idx(tag) || ir::is_block_idx(tag);
      if (!a->thread_var || !known_kind) refuse(fmt::format("threads of kind `{}`", tag));
      std::vector<const ir::Var*> vars;
      ir::collect_vars(a->value, vars);
      const bool depends = std::any_of(vars.begin(), vars.end(), [&](const ir::Var* v) {
        return std::find(threads.begin(), threads.end(), v) != threads.end();
      });
      if (!is_of_host(a->value) || depends)
        refuse(fmt::format("the number of `{}` depends on what the kernel computes", tag));
      threads.push_back(a->thread_var);
      const auto known =
          std::find_if(made.axes.begin(), made.axes.end(), [&](const ThreadAxis& x) { return x.tag == tag; });
      const auto extent = ir::const_int(a->value);
      if (known == made.axes.end())
        made.axes.push_back({tag, a->value});
      else if (known->extent != a->value && !(extent && ir::const_int(known->extent) == extent))
        refuse(fmt::format("`{}` is launched with two sizes", tag));
      return true;
    });
  }

  void note(const Uses& uses) {
    for (const ir::Var* v : uses.read) out_.program.read.insert(resolved(v));
    for (const ir::Var* v : uses.written) out_.program.written.insert(resolved(v));
  }

  ir::Context& ctx_;
  std::string_view name_;
  Outlined out_;
  std::unordered_map<const ir::Var*, const ir::Buffer*> parameters_;
  std::unordered_map<const ir::Var*, const ir::Stmt*> temporaries_;
  std::unordered_map<const ir::Var*, std::size_t> used_by_;
  std::vector<Around> around_;
};

}  // namespace

ir::Result<Outlined> outline(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name) {
  return Outline(ctx, f, name).run();
}

}  // namespace rldb::codegen
