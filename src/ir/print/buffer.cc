// Buffers: declarations of every form, symbolic shapes, uses with indices and regions.
#include <algorithm>

#include "ir/print/printer_impl.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::print_detail {

std::vector<const Var*> buffer_vars(const Buffer* b) {
  std::vector<const Var*> vars;
  for (const Expr* e : b->shape) collect_vars(e, vars);
  for (const Expr* e : b->strides) collect_vars(e, vars);
  if (b->elem_offset != nullptr) collect_vars(b->elem_offset, vars);
  return vars;
}

// ---- variables of declarations ----

// T.int64(), T.handle("float32", "global"): the declaration of a variable.
void Printer::var_creation(const Var* v) {
  const auto* p = as<PointerType>(v->type);
  if (p != nullptr) return pointer_type(p, true);
  if (rfc()) {
    t("var(");
    dtype_literal(v->dtype());
    out_ += ')';
    return;
  }
  t(runtime::to_string(v->dtype()));
  out_ += "()";
}

// `m, n = T.int32(), T.int32()`
void Printer::variable_lines(const std::vector<const Var*>& fresh) {
  if (fresh.empty()) return;
  line(nullptr);
  bool first = true;
  for (const Var* v : fresh) {
    comma(first);
    out_ += names_.find(v);
  }
  out_ += " = ";
  first = true;
  for (const Var* v : fresh) {
    comma(first);
    var_creation(v);
  }
}

// Symbolic variables of a declaration that are not defined yet are declared on a line of their own.
void Printer::declare_fresh(const Buffer* b) {
  std::vector<const Var*> fresh;
  for (const Var* v : buffer_vars(b)) {
    if (names_.has(v) || open_offsets_.count(v) != 0) continue;
    define(v);
    fresh.push_back(v);
  }
  if (!fragment_) variable_lines(fresh);
}

void Printer::define_buffer(const Buffer* b) {
  std::string_view name = define(b);
  if (b->data != nullptr) names_.alias(b->data, std::string(name) + ".data");
}

// ---- the parts of a declaration ----

void Printer::buffer_dim(const Expr* e, bool param) {
  if (!param || !current() || opt_.pep695 || isa<IntImm>(e)) return expr(e);
  std::vector<const Var*> vars;
  collect_vars(e, vars);
  bool compound = !isa<Var>(e);
  bool quote = false;
  for (const Var* v : vars) {
    bool type_var = type_vars_.count(v) != 0;
    quote = quote || (type_var && compound) || (!type_var && met_.insert(v).second);
  }
  quoted(e, quote);
}

void Printer::buffer_dims(Span<const Expr*> dims, bool param) {
  out_ += '(';
  bool first = true;
  for (const Expr* e : dims) {
    comma(first);
    buffer_dim(e, param);
  }
  out_ += dims.size() == 1 ? ",)" : ")";
}

void Printer::buffer_keywords(const Buffer* b, bool param, bool with_data, bool& first) {
  auto keyword = [&](std::string_view name) {
    comma(first);
    out_ += name;
    out_ += '=';
  };
  if (with_data && b->data != nullptr && names_.has(b->data)) {
    keyword("data");
    out_ += names_.find(b->data);
  }
  if (!b->strides.empty()) {
    keyword("strides");
    buffer_dims(b->strides, param);
  }
  const bool open = open_offsets_.count(b->elem_offset) != 0;
  if (b->elem_offset != nullptr && !is_int(b->elem_offset, 0) && !open) {
    keyword("elem_offset");
    buffer_dim(b->elem_offset, param);
  }
  if (!b->scope.empty() && b->scope != "global") {
    keyword("scope");
    string_literal(b->scope);
  }
  if (b->data_alignment != 64 && b->data_alignment > 0) {
    keyword("align");
    out_ += std::to_string(b->data_alignment);
  }
  if (b->offset_factor != 0 || open) {
    keyword("offset_factor");
    out_ += std::to_string(std::max(b->offset_factor, 1));
  }
  if (b->buffer_type != 0) {
    keyword("buffer_type");
    out_ += "\"auto\"";
  }
  if (!b->axis_separators.empty()) {
    keyword("axis_separators");
    out_ += '[';
    exprs(b->axis_separators);
    out_ += ']';
  }
  if (b->layout != nullptr) {
    keyword("layout");
    attr(b->layout);
  }
}

void Printer::buffer_shape(const Buffer* b, bool param, bool always_dtype, bool& first) {
  comma(first);
  buffer_dims(b->shape, param);
  if (always_dtype || b->dtype != DType::Float(32)) {
    comma(first);
    dtype_literal(b->dtype);
  }
}

void Printer::buffer_arguments(const Buffer* b, bool with_data, bool& first) {
  buffer_shape(b, false, false, first);
  buffer_keywords(b, false, with_data, first);
}

// A: T.Buffer((2, n), "float32")
void Printer::param_buffer(const Buffer* b) {
  t("Buffer(");
  bool first = true;
  buffer_shape(b, true, true, first);
  buffer_keywords(b, true, true, first);
  out_ += ')';
}

// ---- declarations ----

// x = T.sblock_alloc_buffer(...)
void Printer::sblock_alloc(const Buffer* b) {
  declare_fresh(b);
  line(b);
  out_ += define(b);
  out_ += " = ";
  t(current() ? "sblock_alloc_buffer(" : "alloc_buffer(");
  bool first = true;
  buffer_arguments(b, true, first);
  out_ += ')';
  define_buffer(b);
}

void Printer::alloc_stmt(const AllocBuffer* s) {
  const Buffer* b = s->buffer;
  declare_fresh(b);
  line(s);
  out_ += define(b);
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
  buffer_arguments(&plain, false, first);
  if (!s->annotations.empty() && current()) {
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
  out_ += define(b);
  out_ += " = ";
  t(s->data != nullptr ? "decl_buffer(" : "Buffer(");  // T.decl_buffer without data allocates
  bool first = true;
  buffer_shape(b, false, false, first);
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
  std::string text = captured([&] {
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
  });
  out_ += define(s->var);
  out_ += " = " + text;
}

void Printer::allocate_const_stmt(const AllocateConstStmt* s) {
  line(s);
  out_ += define(s->var);
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

// ---- uses ----

// A buffer that is declared nowhere is declared at the start of the function, together with its data.
void Printer::declare_undefined(const Buffer* b) {
  std::string text = captured([&] {
    t("Buffer(");
    bool first = true;
    buffer_arguments(b, true, first);
    out_ += ')';
  });
  std::string name(names_.define_at(function_->depth, b, wanted(b)));
  if (b->data != nullptr) names_.alias_at(function_->depth, b->data, name + ".data");
  prelude(name + " = " + text);
}

void Printer::buffer_use(const Buffer* b) {
  if (!names_.has(b)) {
    if (fragment_ || function_ == nullptr)
      define_buffer(b);
    else
      declare_undefined(b);
  }
  out_ += names_.find(b);
}

void Printer::indices(Span<const Expr*> items) {
  if (items.empty()) {
    out_ += "[()]";
    return;
  }
  out_ += '[';
  bool first = true;
  for (const Expr* e : items) {
    comma(first);
    const auto* ramp = as<Ramp>(e);
    const auto* stride = ramp != nullptr ? as<IntImm>(ramp->stride) : nullptr;
    const auto* lanes = ramp != nullptr ? as<IntImm>(ramp->lanes) : nullptr;
    // A slice that runs backwards would not read back.
    if (stride == nullptr || lanes == nullptr || stride->value <= 0) {
      expr(e);
      continue;
    }
    expr(ramp->base);
    out_ += ':';
    IntImm length = *lanes;
    length.value = lanes->value * stride->value;
    sum(ramp->base, &length);
    if (stride->value != 1) {
      out_ += ':';
      expr(stride);
    }
  }
  out_ += ']';
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

}  // namespace rldb::ir::print_detail
