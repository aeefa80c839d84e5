// Buffers: declarations in every form, accesses, stores, pointers, methods.
#include <fmt/format.h>

#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/intrinsic/vector.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_tir.h"
#include "rldb/source/diagnostic_script_type.h"
#include "rldb/support/text.h"

namespace rldb::frontend::script {

void declare_bare_dims(Reader& r, Node shape) {
  if (shape.is(Kind::Identifier)) {
    if (find_name(r, shape.text())) return;
    r.report(shape.span(), source::message(diag::ImplicitDimension, shape.text()));
    define_symbol(r, shape, ir::DType::Int(64));
    return;
  }
  if (shape.is(Kind::Tuple) || shape.is(Kind::List) || shape.is(Kind::Parenthesized))
    for (Node c : shape.children()) declare_bare_dims(r, c);
}

bool is_index(const ir::Expr* e) {
  return e->type->kind == ir::TypeKind::Prim && e->dtype().is_integral() && e->dtype().is_scalar();
}

namespace {

std::optional<std::vector<const ir::Expr*>> exprs_of(Reader& r, const Val& v, Node at) {
  return to_dims(r, v, at, ir::DType::Int(32));
}

// A string in a body names a new variable, which the buffer defines: strides=["s0", "s1"], elem_offset="off".
Val name_variables(Reader& r, const Val& v, Node at, ir::DType dtype) {
  if (v.is_sequence()) {
    std::vector<Val> items;
    for (const Val& i : v.items) items.push_back(name_variables(r, i, i.cst ? i.cst : at, dtype));
    return Val::of_list(v.kind, r.keep(items));
  }
  if (!v.is(ValKind::Str) || !is_identifier(v.text)) return v;
  if (const Val* known = r.fn && r.fn->in_signature ? find_name(r, v.text) : nullptr;
      known && known->expr() && is_scalar_expr(known->expr()))
    return *known;  // a parameter
  if (r.fn && r.fn->in_signature) return Val::of(declare_symbol(r, v.text, at));
  return Val::of(r.at(r.ctx.var(v.text, r.ctx.prim(dtype)), at));
}

// byte_offset=: the offset of the first element in bytes, where elem_offset= counts elements. Null after a report.
const ir::Expr* read_byte_offset(Reader& r, const Val& v, Node at, const ir::Buffer& b) {
  const ir::Expr* bytes = to_scalar(r, v, at);
  if (bytes && b.elem_offset) r.error(at, diag::OffsetGivenTwice);
  if (!bytes || b.elem_offset) return nullptr;
  const ir::Expr* bits = ir::mul(r.ctx, bytes, r.ctx.int_imm(bytes->dtype(), 8));
  return ir::floor_div(r.ctx, bits, r.ctx.int_imm(bytes->dtype(), b.dtype.bits));
}

// Places between dimensions, in order.
bool are_axis_separators(const std::vector<const ir::Expr*>& separators, std::size_t ndim) {
  std::int64_t before = 0;
  for (const ir::Expr* e : separators) {
    const auto at = ir::const_int(e);
    if (!at || *at < before || *at > std::int64_t(ndim)) return false;
    before = *at;
  }
  return true;
}

}  // namespace

const ir::Buffer* read_buffer(Reader& r, Arguments& args, std::size_t skip, std::string_view name, Node at,
                              const ir::Var* data, bool need_shape) {
  ir::Buffer b{};
  b.name = name;
  b.dtype = ir::DType::Float(32);
  b.scope = "global";
  b.data_alignment = 64;
  bool good = true;
  std::vector<const ir::Expr*> shape, strides, separators;
  if (Argument* a = args.find(skip, "shape")) {
    const auto dims = exprs_of(r, args.value(a), a->node);
    good = good && dims;
    if (dims) shape = *dims;
  } else if (need_shape) {
    r.error(at, diag::MissingArgument, "shape", at.is(Kind::Call) ? at.child(Field::Function).text() : at.text());
    good = false;
  }
  if (Argument* a = args.find(skip + 1, "dtype")) {
    const auto t = to_dtype(r, args.value(a), a->node);
    good = good && t;
    if (t) b.dtype = *t;
  }
  const ir::DType index = shape.empty() ? ir::DType::Int(32) : shape[0]->dtype();
  const ir::Expr* data_expr = nullptr;
  if (Argument* a = args.find(skip + 2, "data"))
    if (const Val v = args.value(a); !v.is(ValKind::None)) {
      data_expr = to_scalar(r, v, a->node);
      good = good && data_expr;
    }
  if (Argument* a = args.find(skip + 3, "strides"))
    if (const Val v = args.value(a); !v.is(ValKind::None)) {
      const auto s = exprs_of(r, name_variables(r, v, a->node, index), a->node);
      good = good && s;
      if (s) strides = *s;
    }
  if (Argument* a = args.find(skip + 4, "elem_offset"))
    if (const Val v = args.value(a); !v.is(ValKind::None)) {
      b.elem_offset = to_scalar(r, name_variables(r, v, a->node, index), a->node);
      good = good && b.elem_offset;
    }
  if (Argument* a = args.find(skip + 5, "scope"))
    if (const Val v = args.value(a); !v.is(ValKind::None)) {
      const auto s = to_str(r, v, a->node);
      good = good && s;
      if (s) b.scope = *s;
    }
  for (const auto& [position, keyword] :
       {std::pair<std::size_t, std::string_view>{skip + 6, "align"}, {skip + 7, "offset_factor"}}) {
    Argument* a = args.find(position, keyword);
    if (!a) continue;
    const Val v = args.value(a);
    if (v.is(ValKind::None)) continue;
    const auto i = to_int(r, v, a->node);
    good = good && i;
    if (i && keyword == "align") b.data_alignment = *i < 0 ? 64 : int(*i);
    if (i && keyword == "offset_factor") b.offset_factor = int(*i);
  }
  if (Argument* a = args.find(skip + 8, "buffer_type"))
    if (const Val v = args.value(a); v.is(ValKind::Str))
      b.buffer_type = v.text == "auto" || v.text == "auto_broadcast" ? 1 : 0;
  if (Argument* a = args.find(skip + 9, "axis_separators"))
    if (const Val v = args.value(a); !v.is(ValKind::None)) {
      const auto s = exprs_of(r, v, a->node);
      good = good && s;
      if (s) separators = *s;
      if (s && !are_axis_separators(*s, shape.size())) {
        r.error(a->node, diag::BadAxisSeparators, shape.size());
        good = false;
      }
    }
  if (Argument* a = args.find("byte_offset"))
    if (const Val v = args.value(a); !v.is(ValKind::None)) {
      b.elem_offset = read_byte_offset(r, v, a->node, b);
      good = good && b.elem_offset;
    }
  if (Argument* a = args.find("layout"))
    if (const Val v = args.value(a); !v.is(ValKind::None)) b.layout = to_attr(r, v, a->node);
  if (!good) return nullptr;
  if (b.elem_offset && ir::is_const(b.elem_offset, 0)) b.elem_offset = nullptr;
  b.shape = shape;
  b.strides = strides;
  b.axis_separators = separators;
  if (!data) data = ir::as<ir::Var>(data_expr);
  b.data = data ? data : r.ctx.var(name, r.ctx.pointer(b.dtype, b.scope));
  return r.ctx.buffer(b);
}

std::vector<ir::NamedAttr> read_annotations(Reader& r, Arguments& args) {
  Argument* a = args.find("annotations");
  if (!a) return {};
  const Val v = args.value(a);
  if (v.is(ValKind::Dict)) return to_fields(r, v, a->node);
  if (!v.is(ValKind::None) && !v.poison()) r.error(a->node, diag::ExpectedDictionary, describe(r, v));
  return {};
}

const ir::Buffer* over_memory(Reader& r, const ir::Buffer* b) {
  if (!b || b->offset_factor == 0) return b;
  ir::Buffer made = *b;
  const ir::DType index = b->shape.empty() ? ir::DType::Int(32) : b->shape[0]->dtype();
  if (!b->elem_offset) made.elem_offset = r.ctx.var("elem_offset", r.ctx.prim(index));
  if (b->offset_factor == 1) made.offset_factor = 0;  // any offset: also the meaning without it
  return r.ctx.buffer(made);
}

const ir::Type* pointer_type(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  ir::DType element = ir::DType::Void();
  std::string_view scope;
  if (Argument* a = args.find(0, "dtype")) {
    const Val v = args.value(a);
    if (v.is(ValKind::None)) {
    } else if (const auto t = to_dtype(r, v, a->node)) {
      element = *t;
    } else {
      return nullptr;
    }
  }
  if (Argument* a = args.find(1, "storage_scope")) {
    const auto s = to_str(r, args.value(a), a->node);
    if (!s) return nullptr;
    scope = *s;
  }
  args.find("is_size_var");
  args.finish();
  return r.ctx.pointer(element, r.ctx.str(scope));
}

// ---- accesses ----

std::optional<std::pair<const ir::Expr*, const ir::Expr*>> slice_bounds(Reader& r, const ir::Buffer* buffer,
                                                                        std::size_t i, const Val& slice, Node at) {
  const ir::Expr* whole = i < buffer->shape.size() ? buffer->shape[i] : nullptr;
  const ir::DType dtype = whole ? whole->dtype() : ir::DType::Int(32);
  const ir::Expr* begin = slice.items[0].is(ValKind::None) ? r.ctx.int_imm(dtype, 0) : to_scalar(r, slice.items[0], at);
  const ir::Expr* end = slice.items[1].is(ValKind::None) ? whole : to_scalar(r, slice.items[1], at);
  if (!begin || !end) return std::nullopt;
  auto both = ir::match_dtypes(r.ctx, begin, end);
  if (!both.ok()) {
    r.report(at.span(), std::move(both).error());
    return std::nullopt;
  }
  if (!is_index(both->first)) {
    r.error(at, diag::IndexNotInteger, describe(r, Val::of(both->first)));
    return std::nullopt;
  }
  return std::pair{both->first, both->second};
}

std::optional<std::vector<const ir::Expr*>> to_indices(Reader& r, const ir::Buffer* buffer, std::span<const Val> index,
                                                       Node at) {
  std::vector<const ir::Expr*> out;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const Val& item = index[i];
    const Node where = item.cst ? item.cst : at;
    if (!item.is(ValKind::Slice)) {
      const ir::Expr* e = to_scalar(r, item, where);
      if (!e) return std::nullopt;
      if (e->type->kind != ir::TypeKind::Prim || !e->dtype().is_integral()) {
        r.error(where, diag::IndexNotInteger, describe(r, Val::of(e)));
        return std::nullopt;
      }
      out.push_back(e);
      continue;
    }
    const auto bounds = slice_bounds(r, buffer, i, item, where);
    if (!bounds) return std::nullopt;
    const auto [begin, end] = *bounds;
    const ir::Expr* step = item.items[2].is(ValKind::None) ? r.ctx.int_imm(begin->dtype(), 1)
                                                           : to_scalar(r, item.items[2], where, begin->dtype());
    if (!step) return std::nullopt;
    const ir::Expr* length = region_extent(r, begin, end);
    const auto n = ir::const_int(length), s = ir::const_int(step);
    if (n && s && *s > 0) {
      const std::int64_t lanes = *n / *s + (*n % *s > 0 ? 1 : 0);
      if (lanes == 1) {
        out.push_back(begin);
        continue;
      }
      if (lanes < 1 || lanes > 32767) {
        r.error(where, diag::BadLanes, lanes);
        return std::nullopt;
      }
      out.push_back(r.ctx.ramp(begin, ir::cast_to(r.ctx, begin->dtype(), step), r.ctx.i32(lanes)));
      continue;
    }
    // T.vscale() * 4 lanes.
    if (ir::vscale_factor(length)) {
      out.push_back(r.ctx.ramp(begin, ir::cast_to(r.ctx, begin->dtype(), step), length));
      continue;
    }
    r.error(where, diag::SliceNotConstant);
    return std::nullopt;
  }
  if (out.size() != buffer->shape.size()) {
    r.error(at, diag::IndexCount, buffer->name, support::counted(buffer->shape.size(), "dimension"), out.size());
    return std::nullopt;
  }
  return out;
}

Val index_buffer(Reader& r, const ir::Buffer* buffer, const std::vector<Val>& index, Node at) {
  bool slices = false;
  for (const Val& i : index) slices = slices || i.is(ValKind::Slice);
  if (!slices) {
    const auto indices = to_indices(r, buffer, index, at);
    if (!indices) return {};
    return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.load(buffer, *indices), at)));
  }
  Val v = Val::of(buffer);
  v.kind = ValKind::Region;
  v.items = r.keep(index);
  v.cst = at;
  return v;
}

const ir::Expr* load_of_region(Reader& r, const Val& region, Node at) {
  const auto indices = to_indices(r, region.buffer(), region.items, at);
  if (!indices) return nullptr;
  return r.at(r.ctx.load(region.buffer(), *indices), at);
}

bool is_address(const ir::Expr* e) {
  const bool handle =
      e->type->kind == ir::TypeKind::Pointer || (e->type->kind == ir::TypeKind::Prim && e->dtype().is_handle());
  return handle && ir::isa<ir::Var>(e);
}

const ir::Expr* cast_value(Reader& r, ir::DType dtype, const ir::Expr* e, Node at) {
  if (!dtype.is_handle() && is_address(e)) {
    // It would be a different number in each run.
    r.error(at, diag::ExpectedScalar, describe(r, Val::of(e)));
    return nullptr;
  }
  if (e->dtype() == dtype) return e;
  if (e->type->kind != ir::TypeKind::Prim) return e;
  if (e->dtype().lanes != dtype.lanes) {
    if (e->dtype().lanes == 1) {
      const ir::Expr* lanes = r.ctx.i32(dtype.lanes < 0 ? -dtype.lanes : dtype.lanes);
      if (dtype.is_scalable())
        lanes = r.ctx.binary(ir::BinaryKind::Mul, r.ctx.intrin(ir::DType::Int(32), ir::intrin::Vscale, {}), lanes);
      return r.ctx.broadcast(ir::cast_to(r.ctx, dtype.element(), e), lanes);
    }
    r.error(at, diag::LanesDiffer, runtime::to_string(e->dtype()), runtime::to_string(dtype));
    return nullptr;
  }
  if (dtype.is_handle()) return e;
  if (e->dtype().is_handle()) return e;  // an intrinsic whose type depends on its use
  return ir::cast_to(r.ctx, dtype, e);
}

void emit_store(Reader& r, const ir::Buffer* buffer, std::span<const Val> index, const Val& value, Node at,
                Node value_at, const ir::Expr* predicate) {
  const auto indices = to_indices(r, buffer, index, at.child(Field::Target) ? at.child(Field::Target) : at);
  if (!indices) return;
  int lanes = buffer->dtype.lanes;
  bool scalable = false;
  for (const ir::Expr* i : *indices) {
    scalable = scalable || i->dtype().is_scalable();
    lanes *= i->dtype().is_scalable() ? -i->dtype().lanes : i->dtype().lanes;
  }
  const ir::DType dtype = buffer->dtype.with_lanes(scalable ? -lanes : lanes);
  const ir::Expr* e = to_scalar(r, value, value_at, value.is_number() ? dtype.element() : ir::DType::Void());
  if (!e) return;
  e = cast_value(r, dtype, e, value_at);
  if (!e) return;
  r.fn->tir->emit(r.at(r.ctx.store(buffer, e, *indices, predicate), at));
}

// ---- methods ----

namespace {

// A.vload([i], "float32x4", predicate=...)
Val vload(Reader& r, const ir::Buffer* b, const CallNode& call) {
  Arguments args(r, call);
  const auto begin = args.require(0, "begin");
  const auto dtype = args.get(1, "dtype");
  const auto predicate = args.get(2, "predicate");
  args.finish();
  if (!begin || begin->poison()) return {};
  const std::vector<Val> one = {*begin};
  auto indices = to_indices(r, b, begin->is_sequence() ? begin->items : std::span<const Val>(one), call.node);
  if (!indices) return {};
  if (dtype) {
    const auto t = to_dtype(r, *dtype, call.node);
    if (!t) return {};
    if (t->lanes > 1 && !indices->empty() && indices->back()->dtype().lanes == 1)
      indices->back() = r.ctx.ramp(indices->back(), r.ctx.int_imm(indices->back()->dtype(), 1), r.ctx.i32(t->lanes));
  }
  const ir::Expr* p = predicate ? to_scalar(r, *predicate, call.node) : nullptr;
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.load(b, *indices, p), call.node)));
}

Val vstore(Reader& r, const ir::Buffer* b, const CallNode& call) {
  Arguments args(r, call);
  const auto begin = args.require(0, "begin");
  const auto value = args.require(1, "value");
  const auto predicate = args.get(2, "predicate");
  args.finish();
  if (!begin || !value || begin->poison() || value->poison() || !r.in_tir()) return {};
  const ir::Expr* p = predicate ? to_scalar(r, *predicate, call.node) : nullptr;
  std::vector<Val> index = {*begin};
  if (begin->is_sequence()) index.assign(begin->items.begin(), begin->items.end());
  // A vector at a scalar index covers that many elements.
  const ir::Expr* e = value->expr();
  if (const int lanes = e ? e->dtype().lanes / b->dtype.lanes : 0; lanes > 1 && !index.empty())
    if (const ir::Expr* last = to_scalar(r, index.back(), args.node(0, "begin")); last && is_index(last))
      index.back() =
          Val::of(static_cast<const ir::Expr*>(r.ctx.ramp(last, r.ctx.int_imm(last->dtype(), 1), r.ctx.i32(lanes))));
  emit_store(r, b, index, *value, call.node, args.node(1, "value"), p);
  return Val::nothing();
}

// A.access_ptr("r", offset=..., extent=...): tvm_access_ptr.
Val access_ptr(Reader& r, const ir::Buffer* b, const CallNode& call) {
  Arguments args(r, call);
  std::int64_t mask = 0;
  if (const auto m = args.require(0, "access_mask")) {
    if (m->is(ValKind::Str)) {
      for (const char c : m->text) mask |= c == 'r' ? 1 : c == 'w' ? 2 : 0;
    } else {
      mask = to_int(r, *m, call.node).value_or(0);
    }
  }
  args.find(1, "ptr_type");
  args.find(2, "content_lanes");
  const auto offset = args.get(3, "offset");
  const auto extent = args.get(4, "extent");
  args.finish();
  const ir::Expr* base = b->elem_offset ? b->elem_offset : r.ctx.i32(0);
  if (offset) {
    const ir::Expr* o = to_scalar(r, *offset, call.node);
    if (!o) return {};
    base = ir::add(r.ctx, base, o);
  }
  const ir::Expr* size = nullptr;
  if (extent) {
    size = to_scalar(r, *extent, call.node);
  } else if (!b->strides.empty() && !b->shape.empty()) {
    size = ir::mul(r.ctx, b->strides[0], b->shape[0]);
  } else {
    size = b->shape.empty() ? static_cast<const ir::Expr*>(r.ctx.i32(1)) : ir::product(r.ctx, b->shape);
  }
  if (!size) return {};
  if (offset && !extent) size = ir::sub(r.ctx, size, base);
  const ir::Expr* tag = r.ctx.call_typed(r.ctx.op(ir::info(ir::intrin::TypeAnnotation).op), {}, r.ctx.prim(b->dtype));
  const ir::Expr* list[] = {tag, b->data, base, size, r.ctx.i32(mask)};
  return Val::of(static_cast<const ir::Expr*>(
      r.at(r.ctx.call_typed(r.ctx.op(ir::info(ir::intrin::TvmAccessPtr).op), list, r.ctx.prim(ir::DType::Handle())),
           call.node)));
}

// A.view(shape, dtype): another buffer over the same data.
Val view(Reader& r, const ir::Buffer* b, const CallNode& call) {
  if (!r.in_tir()) return r.error(call.function, diag::Misplaced, call.shown());
  Arguments args(r, call);
  ir::Buffer fields = *b;
  fields.name = r.fn->tir->target(0, b->name);
  std::vector<const ir::Expr*> dims;
  for (Argument& a : args.all()) {
    a.used = true;
    const Val v = args.value(&a);
    if (a.keyword == "dtype" || try_dtype(v)) {
      const auto t = to_dtype(r, v, a.node);
      if (t) fields.dtype = *t;
    } else if (a.keyword == "layout") {
      fields.layout = to_attr(r, v, a.node);
    } else if (const auto d = to_dims(r, v, a.node, ir::DType::Int(32))) {
      dims.insert(dims.end(), d->begin(), d->end());
    } else {
      return {};
    }
  }
  if (!dims.empty()) fields.shape = dims;
  fields.strides = {};
  const ir::Buffer* made = r.at(r.ctx.buffer(fields), call.node);
  r.fn->tir->emit(r.at(r.ctx.decl_buffer(made, b->data), call.node));
  return Val::of(made);
}

}  // namespace

Val buffer_method(Reader& r, const Val& method, const CallNode& call) {
  const ir::Buffer* b = method.items[0].buffer();
  if (method.text == "vload") return vload(r, b, call);
  if (method.text == "vstore") return vstore(r, b, call);
  if (method.text == "access_ptr") return access_ptr(r, b, call);
  if (method.text == "view") return view(r, b, call);
  if (method.text == "scope") return Val::of_str(b->scope);
  if (method.text == "offset_of") return r.error(call.function, diag::UnsupportedMethod, method.text);
  return r.error(call.function, diag::NoAttribute, fmt::format("the buffer `{}`", b->name), method.text);
}

namespace {

// T.Buffer(...) as a value.
Val buffer_value(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  bool has_data = args.positional_count() > 2;
  for (const Argument& a : args.all()) has_data = has_data || a.keyword == "data";
  const std::string_view name = r.in_tir() ? r.fn->tir->target(0, "buffer") : std::string_view("buffer");
  const ir::Buffer* b = read_buffer(r, args, 0, name, call.node);
  args.finish();
  if (!b) return {};
  // OLD: B = T.Buffer(..., data=p) in a body: an alias that takes effect at its first use.
  if (r.in_tir() && !r.fn->in_signature && !r.fn->tir->targets.empty())
    r.fn->tir->emit(r.at(r.ctx.decl_buffer(b, has_data ? b->data : nullptr), call.node));
  return Val::of(r.at(b, call.node));
}

// x = T.decl_buffer((..), data=p)
Val decl_buffer(Reader& r, const CallNode& call) {
  if (!r.in_tir()) return r.error(call.function, diag::Misplaced, call.shown());
  TirFunction& tir = *r.fn->tir;
  Arguments args(r, call);
  const ir::Expr* data = nullptr;
  for (Argument& a : args.all())
    if (a.keyword == "data") {
      const Val v = args.value(&a);
      if (!v.is(ValKind::None)) data = to_scalar(r, v, a.node);
    }
  const ir::Buffer* b = read_buffer(r, args, 0, tir.target(0, "buffer"), call.node);
  args.finish();
  if (!b) return {};
  r.at(b, call.node);
  // Without data it is an allocation: the flat one of texts until 2026.
  const ir::Stmt* made = data ? static_cast<const ir::Stmt*>(r.ctx.decl_buffer(b, data)) : r.ctx.alloc_buffer(b);
  tir.emit(r.at(made, call.node));
  return Val::of(b);
}

Val alloc_scoped(Reader& r, const CallNode& call, std::string_view scope) {
  if (!r.in_tir()) return r.error(call.function, diag::Misplaced, call.shown());
  TirFunction& tir = *r.fn->tir;
  Arguments args(r, call);
  const std::vector<ir::NamedAttr> annotations = read_annotations(r, args);
  const ir::Buffer* plain = read_buffer(r, args, 0, tir.target(0, "buffer"), call.node);
  args.finish();
  if (!plain) return {};
  ir::Buffer fields = *plain;
  fields.scope = scope;
  fields.data = r.ctx.var(plain->name, r.ctx.pointer(plain->dtype, scope));
  const ir::Buffer* b = r.at(r.ctx.buffer(fields), call.node);
  tir.emit(r.at(r.ctx.alloc_buffer(b, annotations), call.node));
  return Val::of(b);
}
Val alloc_local(Reader& r, const CallNode& c) { return alloc_scoped(r, c, "local"); }
Val alloc_shared(Reader& r, const CallNode& c) { return alloc_scoped(r, c, "shared"); }

// T.local_scalar("int32"): one element. `scope`: null where the call gives it.
Val one_scalar(Reader& r, const CallNode& call, const char* scope_of_name) {
  if (!r.in_tir()) return r.error(call.function, diag::Misplaced, call.shown());
  TirFunction& tir = *r.fn->tir;
  Arguments args(r, call);
  std::optional<ir::DType> t = ir::DType::Float(32);
  if (Argument* a = args.find(0, "dtype")) t = to_dtype(r, args.value(a), a->node);
  std::string_view scope = scope_of_name ? scope_of_name : "global";
  if (Argument* a = scope_of_name ? nullptr : args.find(1, "scope")) {
    const auto given = to_str(r, args.value(a), a->node);
    if (!given) return {};
    scope = *given;
  }
  args.finish();
  if (!t) return {};
  const ir::Expr* one = r.ctx.i32(1);
  const ir::Buffer* b = r.at(r.ctx.buffer(tir.target(0, "scalar"), {&one, 1}, *t, scope), call.node);
  tir.scalars.insert(b);
  tir.emit(r.at(r.ctx.alloc_buffer(b), call.node));
  return Val::of(b);
}
Val local_scalar(Reader& r, const CallNode& c) { return one_scalar(r, c, "local"); }
Val shared_scalar(Reader& r, const CallNode& c) { return one_scalar(r, c, "shared"); }
Val alloc_scalar(Reader& r, const CallNode& c) { return one_scalar(r, c, nullptr); }

}  // namespace

std::span<const HandlerRow> tir_buffer_handlers() {
  static constexpr HandlerRow kRows[] = {
      {"Buffer", buffer_value},       {"buffer_decl", buffer_value},    {"decl_buffer", decl_buffer},
      {"buffer", buffer_value},       {"alloc_local", alloc_local},     {"alloc_shared", alloc_shared},
      {"local_scalar", local_scalar}, {"shared_scalar", shared_scalar}, {"alloc_scalar", alloc_scalar},
  };
  return kRows;
}

}  // namespace rldb::frontend::script
