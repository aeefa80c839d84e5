// Statements of TensorIR.
#include <fmt/format.h>

#include "printer_impl.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::print_detail {
namespace {

std::string_view hint(const Var* v) { return v->name.empty() ? std::string_view("v") : v->name; }

bool is_int(const Expr* e, std::int64_t value) {
  const auto* n = as<IntImm>(e);
  return n != nullptr && n->value == value;
}

bool trivial_step(const ForStmt* s) { return s->step == nullptr || is_int(s->step, 1); }

// The tag of the thread that an attribute statement launches: "threadIdx.x".
std::string_view thread_tag(const AttrStmt* s) {
  if (s->node == nullptr) return {};
  if (s->node->is(AttrKind::String)) return s->node->string;
  if (const Attr* tag = find_attr(s->node->fields, "thread_tag")) return tag->string;
  for (std::size_t k = s->node->items.size(); k-- > 0;)
    if (s->node->items[k]->is(AttrKind::String)) return s->node->items[k]->string;
  return {};
}

}  // namespace

void Printer::body(const Stmt* s) {
  const auto* seq = as<SeqStmt>(s);
  if (seq == nullptr) return stmt(s, true);
  for (std::size_t k = 0; k < seq->stmts.size(); ++k) stmt(seq->stmts[k], k + 1 == seq->stmts.size());
}

void Printer::nested(const Stmt* s) {
  ++indent_;
  names_.push();
  if (s != nullptr) {
    body(s);
  } else {
    line(nullptr);
    out_ += "pass";
  }
  names_.pop();
  --indent_;
}

void Printer::stmt(const Stmt* s, bool last) {
  if (depth_ >= kMaxDepth) {
    line(s);
    too_deep();
    return;
  }
  ++depth_;
  using enum NodeKind;
  switch (s->kind) {
    case Bind:
      bind_stmt(as<BindStmt>(s));
      break;
    case Attr:
      attr_stmt(as<AttrStmt>(s), last);
      break;
    case Assert:
      assert_stmt(as<AssertStmt>(s));
      break;
    case BufferStore:
      store(as<ir::BufferStore>(s));
      break;
    case AllocBuffer:
      alloc_stmt(as<ir::AllocBuffer>(s));
      break;
    case DeclBuffer:
      decl_stmt(as<ir::DeclBuffer>(s));
      break;
    case Allocate:
      allocate_stmt(as<AllocateStmt>(s));
      break;
    case AllocateConst:
      allocate_const_stmt(as<AllocateConstStmt>(s));
      break;
    case For:
      for_stmt(as<ForStmt>(s));
      break;
    case While:
      line(s);
      out_ += "while ";
      expr(as<WhileStmt>(s)->cond);
      out_ += ':';
      nested(as<WhileStmt>(s)->body);
      break;
    case IfThenElse:
      if_stmt(as<ir::IfThenElse>(s));
      break;
    case Seq:
      names_.push();
      body(s);
      names_.pop();
      break;
    case Evaluate:
      evaluate(as<ir::Evaluate>(s));
      break;
    case SBlock:
      sblock(as<ir::SBlock>(s), nullptr);
      break;
    case SBlockRealize:
      sblock(as<ir::SBlockRealize>(s)->block, as<ir::SBlockRealize>(s));
      break;
    // Not statements.
    case Var:
    case DataflowVar:
    case GlobalVar:
    case Constant:
    case MetaConstant:
    case ShapeExpr:
    case ExternFunc:
    case Op:
    case Call:
    case Tuple:
    case TupleGetItem:
    case If:
    case SeqExpr:
    case Function:
    case PrimFunc:
    case OpaqueFunc:
    case StringImm:
    case DTypeImm:
    case IntImm:
    case FloatImm:
    case Add:
    case Sub:
    case Mul:
    case Div:
    case Mod:
    case FloorDiv:
    case FloorMod:
    case Min:
    case Max:
    case EQ:
    case NE:
    case LT:
    case LE:
    case GT:
    case GE:
    case And:
    case Or:
    case Not:
    case Cast:
    case Select:
    case BufferLoad:
    case ProducerLoad:
    case Ramp:
    case Broadcast:
    case Shuffle:
    case Let:
    case CommReducer:
    case Lambda:
    case Buffer:
    case VarBinding:
    case MatchCast:
    case BindingBlock:
    case DataflowBlock:
      break;
  }
  --depth_;
}

void Printer::bind_stmt(const BindStmt* s) {
  line(s);
  std::size_t at = out_.size();
  expr(s->value);
  std::string value = out_.substr(at);
  out_.resize(at);
  bool fresh = !names_.has(s->var);
  out_ += names_.define(s->var, hint(s->var));
  bool typed = as<PrimType>(s->var->type) != nullptr || as<PointerType>(s->var->type) != nullptr;
  if (fresh && current()) {
    out_ += ": ";
    t("let");
    if (typed) {
      out_ += '[';
      parameter_type(s->var->type);
      out_ += ']';
    }
  } else if (fresh && typed) {
    out_ += ": ";
    parameter_type(s->var->type);
  }
  out_ += " = ";
  out_ += value;
}

void Printer::attr_stmt(const AttrStmt* s, bool last) {
  bool launch = s->key == "thread_extent" || s->key == "virtual_thread";
  const Var* defined = nullptr;
  if (launch && s->thread_var != nullptr && env_threads_.count(s->thread_var) != 0 && !names_.has(s->thread_var)) {
    std::string_view name = outer_ != nullptr ? names_.define_at(outer_->depth, s->thread_var, hint(s->thread_var))
                                              : names_.define(s->thread_var, hint(s->thread_var));
    std::size_t at = out_.size();
    t("env_thread(");
    string_literal(thread_tag(s));
    std::string text = std::string(name) + " = " + out_.substr(at) + ")";
    out_.resize(at);
    prelude(std::move(text));
  }
  line(s);
  std::size_t at = out_.size();
  if (launch && s->thread_var != nullptr) {
    t("launch_thread(");
    if (names_.has(s->thread_var)) {
      out_ += names_.find(s->thread_var);
    } else {
      string_literal(thread_tag(s));
      defined = s->thread_var;
    }
    out_ += ", ";
    expr(s->value);
    out_ += ')';
  } else if (launch && s->node != nullptr && s->node->is(AttrKind::Expr)) {
    t("launch_thread(");
    attr(s->node);
    out_ += ", ";
    expr(s->value);
    out_ += ')';
  } else if (s->node == nullptr || s->node->is(AttrKind::None)) {
    t("attr({");
    string_literal(s->key);
    out_ += ": ";
    expr(s->value);
    out_ += "})";
  } else {
    t("attr(");
    attr(s->node);
    out_ += ", ";
    string_literal(s->key);
    out_ += ", ";
    expr(s->value);
    out_ += ')';
  }
  std::string text = out_.substr(at);
  out_.resize(at);
  names_.push();
  std::string_view name = defined != nullptr ? names_.define(defined, hint(defined)) : std::string_view{};
  if (last) {  // the rest of the sequence is its body: no indentation needed
    if (!name.empty()) {
      out_ += name;
      out_ += " = ";
    }
    out_ += text;
    body(s->body);
  } else {
    out_ += "with " + text;
    if (!name.empty()) {
      out_ += " as ";
      out_ += name;
    }
    out_ += ':';
    nested(s->body);
  }
  names_.pop();
}

void Printer::assert_stmt(const AssertStmt* s) {
  line(s);
  out_ += "assert ";
  expr(s->cond);
  out_ += ", ";
  if (!current()) {
    std::string joined;
    for (std::string_view part : s->message_parts) joined += part;
    return string_literal(joined);
  }
  out_ += '(';
  string_literal(s->error_kind);
  out_ += ", [";
  bool first = true;
  for (std::string_view part : s->message_parts) {
    comma(first);
    string_literal(part);
  }
  out_ += "])";
}

void Printer::store(const BufferStore* s) {
  line(s);
  buffer_use(s->buffer);
  if (s->predicate == nullptr) {
    indices(s->indices);
    out_ += " = ";
    expr(s->value);
    return;
  }
  out_ += ".vstore([";
  exprs(s->indices);
  out_ += "], ";
  expr(s->value);
  out_ += ", predicate=";
  expr(s->predicate);
  out_ += ')';
}

// x = T.sblock_alloc_buffer(...)
void Printer::sblock_alloc(const Buffer* b) {
  declare_fresh(b);
  line(b);
  std::string_view name = names_.define(b, b->name.empty() ? std::string_view("buffer") : b->name);
  out_ += name;
  out_ += " = ";
  t(current() ? "sblock_alloc_buffer(" : "alloc_buffer(");
  bool first = true;
  buffer_arguments(b, false, b->data != nullptr && names_.has(b->data), false, first);
  out_ += ')';
  define_buffer(b);
}

void Printer::alloc_stmt(const AllocBuffer* s) {
  const Buffer* b = s->buffer;
  declare_fresh(b);
  line(s);
  out_ += names_.define(b, b->name.empty() ? std::string_view("buffer") : b->name);
  out_ += " = ";
  bool short_form = current() && (b->scope == "local" || b->scope == "shared");
  ir::Buffer plain = *b;
  if (short_form) plain.scope = "global";
  if (!current())
    t("decl_buffer(");
  else if (short_form)
    t(b->scope == "local" ? "alloc_local(" : "alloc_shared(");
  else
    t("alloc_buffer(");
  bool first = true;
  buffer_arguments(&plain, false, false, false, first);
  if (!s->annotations.empty()) {
    comma(first);
    out_ += "annotations=";
    attr_dict(s->annotations);
  }
  out_ += ')';
  define_buffer(b);
}

void Printer::decl_stmt(const DeclBuffer* s) {
  const Buffer* b = s->buffer;
  declare_fresh(b);
  line(s);
  out_ += names_.define(b, b->name.empty() ? std::string_view("buffer") : b->name);
  out_ += " = ";
  t("decl_buffer(");
  bool first = true;
  comma(first);
  buffer_dims(b->shape, false);
  if (b->dtype != DType::Float(32)) {
    comma(first);
    dtype_literal(b->dtype);
  }
  if (s->data != nullptr) {
    comma(first);
    out_ += "data=";
    expr(s->data);
  }
  buffer_keywords(b, false, s->data == nullptr, first);
  out_ += ')';
  define_buffer(b);
}

void Printer::allocate_stmt(const AllocateStmt* s) {
  line(s);
  std::size_t at = out_.size();
  t("allocate([");
  exprs(s->extents);
  out_ += "], ";
  dtype_literal(s->dtype);
  out_ += ", ";
  string_literal(s->scope.empty() ? std::string_view("global") : s->scope);
  if (!s->annotations.empty()) {
    out_ += ", annotations=";
    attr_dict(s->annotations);
  }
  out_ += ')';
  std::string text = out_.substr(at);
  out_.resize(at);
  out_ += names_.define(s->var, hint(s->var));
  out_ += " = " + text;
}

void Printer::allocate_const_stmt(const AllocateConstStmt* s) {
  line(s);
  out_ += names_.define(s->var, hint(s->var));
  out_ += " = ";
  t("allocate_const([");
  const runtime::Tensor& x = s->value->as_tensor();
  DType d = x.dtype();
  bool first = true;
  for (std::int64_t k = 0; k < x.element_count(); ++k) {
    comma(first);
    const std::byte* at = x.data() + std::size_t(k) * d.bytes();
    if (d.is_integral())
      out_ += std::to_string(runtime::load_as_int(at, d));
    else
      float_literal(runtime::load_as_double(at, d));
  }
  out_ += "], ";
  dtype_literal(d);
  out_ += ", [";
  first = true;
  for (std::int64_t n : x.shape()) {
    comma(first);
    out_ += std::to_string(n);
  }
  out_ += "])";
}

void Printer::grid(const std::vector<const ForStmt*>& loops) {
  bool first = true;
  for (const ForStmt* l : loops) {
    comma(first);
    out_ += names_.define(l->var, hint(l->var));
  }
  out_ += " in ";
  t("grid(");
  first = true;
  for (const ForStmt* l : loops) {
    comma(first);
    expr(l->extent);
  }
  out_ += "):";
}

void Printer::for_stmt(const ForStmt* s) {
  std::vector<const ForStmt*> loops;
  std::unordered_set<const Node*> vars;
  for (const ForStmt* l = s; l != nullptr; l = as<ForStmt>(l->body)) {
    if (l->for_kind != ForKind::Serial || !is_int(l->min, 0) || !l->annotations.empty() || !trivial_step(l)) break;
    std::vector<const Var*> used;
    collect_vars(l->extent, used);
    bool depends = false;
    for (const Var* v : used) depends = depends || vars.count(v) != 0;
    if (depends) break;
    loops.push_back(l);
    vars.insert(l->var);
  }
  names_.push();
  line(s);
  out_ += "for ";
  const Stmt* inner = s->body;
  if (loops.size() > 1) {
    grid(loops);
    inner = loops.back()->body;
  } else {
    loops.assign(1, s);
    out_ += names_.define(s->var, hint(s->var));
    out_ += " in ";
    bool range = false;
    switch (s->for_kind) {
      case ForKind::Serial:
        range = s->annotations.empty();
        if (range)
          out_ += "range";
        else
          t("serial");
        break;
      case ForKind::Parallel:
        t("parallel");
        break;
      case ForKind::Vectorized:
        t("vectorized");
        break;
      case ForKind::Unrolled:
        t("unroll");
        break;
      case ForKind::ThreadBinding:
        t("thread_binding");
        break;
    }
    out_ += '(';
    bool first = true;
    if (!is_int(s->min, 0) || !trivial_step(s)) {
      comma(first);
      expr(s->min);
      comma(first);
      sum(s->min, s->extent);
    } else {
      comma(first);
      expr(s->extent);
    }
    if (range && !trivial_step(s)) {
      comma(first);
      expr(s->step);
    }
    if (s->for_kind == ForKind::ThreadBinding) {
      comma(first);
      out_ += "thread=";
      string_literal(s->thread_tag);
    }
    if (!s->annotations.empty()) {
      comma(first);
      out_ += "annotations=";
      attr_dict(s->annotations);
    }
    if (!range && !trivial_step(s)) {
      comma(first);
      out_ += "step=";
      expr(s->step);
    }
    out_ += "):";
  }
  for (const ForStmt* l : loops) loops_[l->var] = l;
  nested(inner);
  for (const ForStmt* l : loops) loops_.erase(l->var);
  names_.pop();
}

void Printer::if_stmt(const IfThenElse* s) {
  line(s);
  out_ += "if ";
  expr(s->cond);
  out_ += ':';
  nested(s->then_case);
  if (s->else_case == nullptr) return;
  line(nullptr);
  out_ += "else:";
  nested(s->else_case);
}

void Printer::evaluate(const Evaluate* s) {
  line(s);
  const auto* c = as<Call>(s->value);
  if (c == nullptr) {
    t("evaluate(");
    expr(s->value);
    out_ += ')';
    return;
  }
  const auto* op = as<Op>(c->callee);
  if (op != nullptr && (op->name == "tir.ret" || op->name == "tirx.ret") && c->args.size() == 1) {
    out_ += "return ";
    expr(c->args[0]);
    return;
  }
  expr(s->value);
}

const ForStmt* Printer::loop_of(const Var* v) const {
  auto it = loops_.find(v);
  return it == loops_.end() ? nullptr : it->second;
}

void Printer::axis(const IterVar& v, const Expr* value, const Node* node) {
  line(node);
  out_ += names_.define(v.var, hint(v.var));
  out_ += " = ";
  t("axis.");
  switch (v.kind) {
    case IterKind::Spatial:
      out_ += "spatial(";
      break;
    case IterKind::Reduce:
      out_ += "reduce(";
      break;
    case IterKind::Scan:
      out_ += "scan(";
      break;
    case IterKind::Opaque:
      out_ += "opaque(";
      break;
  }
  if (is_int(v.dom.min, 0)) {
    expr(v.dom.extent);
  } else {
    out_ += '(';
    expr(v.dom.min);
    out_ += ", ";
    sum(v.dom.min, v.dom.extent);
    out_ += ')';
  }
  if (value != nullptr) {
    out_ += ", ";
    expr(value);
  }
  out_ += ')';
}

// Axes that are loop variables over the same domain are remapped, two or more in a row.
void Printer::axes(const SBlock* b, const SBlockRealize* realize) {
  auto value_of = [&](std::size_t k) {
    return realize != nullptr && k < realize->iter_values.size() ? realize->iter_values[k] : nullptr;
  };
  auto remappable = [&](std::size_t k) {
    const IterVar& v = b->iter_vars[k];
    if (v.kind != IterKind::Spatial && v.kind != IterKind::Reduce) return false;
    const auto* value = as<Var>(value_of(k));
    const ForStmt* loop = value != nullptr ? loop_of(value) : nullptr;
    return loop != nullptr && expr_equal(loop->min, v.dom.min) && expr_equal(loop->extent, v.dom.extent);
  };
  for (std::size_t k = 0; k < b->iter_vars.size();) {
    std::size_t end = k;
    while (end < b->iter_vars.size() && remappable(end)) ++end;
    if (end - k < 2) {
      axis(b->iter_vars[k], value_of(k), b);
      ++k;
      continue;
    }
    line(b);
    std::string kinds;
    bool first = true;
    for (std::size_t j = k; j < end; ++j) {
      comma(first);
      out_ += names_.define(b->iter_vars[j].var, hint(b->iter_vars[j].var));
      kinds += b->iter_vars[j].kind == IterKind::Spatial ? 'S' : 'R';
    }
    out_ += " = ";
    t("axis.remap(\"" + kinds + "\", [");
    exprs(realize->iter_values.subspan(k, end - k));
    out_ += "])";
    k = end;
  }
}

void Printer::region(const BufferRegion& r) {
  buffer_use(r.buffer);
  if (r.region.empty()) {
    out_ += "[()]";
    return;
  }
  out_ += '[';
  bool first = true;
  for (const Range& range : r.region) {
    comma(first);
    expr(range.min);
    if (is_int(range.extent, 1)) continue;
    out_ += ':';
    sum(range.min, range.extent);
  }
  out_ += ']';
}

void Printer::sblock(const SBlock* b, const SBlockRealize* realize) {
  const Node* node = realize != nullptr ? static_cast<const Node*>(realize) : b;
  line(node);
  out_ += "with ";
  t(current() ? "sblock(" : "block(");
  string_literal(b->name);
  out_ += realize != nullptr ? "):" : ", no_realize=True):";
  ++indent_;
  names_.push();
  axes(b, realize);
  if (realize != nullptr && realize->predicate != nullptr && !is_int(realize->predicate, 1)) {
    line(node);
    t("where(");
    expr(realize->predicate);
    out_ += ')';
  }
  auto regions = [&](std::string_view name, Span<BufferRegion> list) {
    line(node);
    t(name);
    out_ += '(';
    bool first = true;
    for (const BufferRegion& x : list) {
      comma(first);
      region(x);
    }
    out_ += ')';
  };
  regions("reads", b->reads);
  regions("writes", b->writes);
  if (!b->annotations.empty()) {
    line(node);
    t(current() ? "sblock_attr(" : "block_attr(");
    attr_dict(b->annotations);
    out_ += ')';
  }
  for (const Buffer* x : b->alloc_buffers) sblock_alloc(x);
  for (const MatchBufferRegion& m : b->match_buffers) {
    declare_fresh(m.buffer);
    line(m.buffer);
    out_ += names_.define(m.buffer, m.buffer->name.empty() ? std::string_view("buffer") : m.buffer->name);
    out_ += " = ";
    t("match_buffer(");
    region(m.source);
    bool first = false;
    buffer_arguments(m.buffer, false, false, false, first);
    out_ += ')';
    define_buffer(m.buffer);
  }
  if (b->init != nullptr) {
    line(b->init);
    out_ += "with ";
    t("init():");
    nested(b->init);
  }
  if (b->body != nullptr) body(b->body);
  names_.pop();
  --indent_;
}

}  // namespace rldb::ir::print_detail
