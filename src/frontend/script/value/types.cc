// Annotations in every spelling to types.
#include "frontend/script/value/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "frontend/script/module.h"
#include "frontend/script/symbols.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/calls.h"
#include "frontend/script/value/convert.h"
#include "rldb/ir/any_target.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_type.h"

namespace rldb::frontend::script {

namespace {

bool is_any_name(std::string_view p) { return p == "Any" || p == "Object"; }

// ---- devices ----

const ir::VDevice* find_vdevice(Reader& r, std::string_view kind, std::int64_t index, std::string_view scope, Node at) {
  if (r.lone_type) {  // without a module the name is all that is known of a device
    ir::VDevice named{.target_kind = r.ctx.str(kind), .device_id = int(index)};
    if (!scope.empty()) named.memory_scope = r.ctx.str(scope);
    return r.ctx.vdevice(named);
  }
  const ir::VDevice* scope_less = nullptr;
  std::int64_t seen = 0;
  // "vdevice:1" is the second of all devices.
  if (kind == ir::kAnyTarget && scope.empty() && r.module && index >= 0 &&
      index < std::int64_t(r.module->vdevices.size()))
    return r.module->vdevices[std::size_t(index)];
  for (const ir::VDevice* d : r.module ? r.module->vdevices : std::vector<const ir::VDevice*>{}) {
    if (d->target_kind != kind) continue;
    if (seen++ != index) continue;
    scope_less = d;
    if (scope.empty() || d->memory_scope == scope) return d;
  }
  if (scope_less) {
    r.error_hint(at, fmt::format("that device has the memory scope \"{}\"", scope_less->memory_scope),
                 diag::UnknownVDevice, fmt::format("{}:{}:{}", kind, index, scope));
    return nullptr;
  }
  r.error(at, diag::UnknownVDevice, fmt::format("{}:{}{}{}", kind, index, scope.empty() ? "" : ":", scope));
  return nullptr;
}

const ir::VDevice* vdevice_of_string(Reader& r, std::string_view text, Node at) {
  const std::size_t first = text.find(':');
  const std::string_view kind = text.substr(0, first);
  std::int64_t index = 0;
  std::string_view scope;
  if (first != std::string_view::npos) {
    std::string_view rest = text.substr(first + 1);
    const std::size_t second = rest.find(':');
    const std::string_view number = rest.substr(0, second);
    if (second != std::string_view::npos) scope = rest.substr(second + 1);
    const auto [end, ec] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (ec != std::errc() || end != number.data() + number.size()) {
      r.error(at, diag::UnknownVDevice, text);
      return nullptr;
    }
  }
  return find_vdevice(r, kind, index, scope, at);
}

}  // namespace

const ir::VDevice* read_vdevice(Reader& r, const Val& v, Node at) {
  if (v.is(ValKind::Str)) return vdevice_of_string(r, v.text, at);
  if (const ir::Attr* a = v.attr(); a && a->is(ir::AttrKind::Opaque)) return vdevice_of_attr(r, a);
  if (!v.poison()) r.error(at, diag::ExpectedString, describe(r, v));
  return nullptr;
}

namespace {

// ---- R.Tensor ----

struct TensorParts {
  std::optional<std::vector<const ir::Expr*>> dims;
  const ir::Expr* shape_var = nullptr;
  ir::DType dtype = ir::DType::Void();
  std::optional<std::int64_t> ndim;
  const ir::VDevice* vdevice = nullptr;
  bool bad = false;
};

// The shape operand: dims, a variable of shape type, None, or `_`.
void read_shape(Reader& r, Node at, const Val& v, TensorParts& out) {
  if (v.is(ValKind::None) || v.is(ValKind::Nothing)) return;
  if (v.poison()) {
    out.bad = true;
    return;
  }
  if (const ir::Expr* e = v.expr(); e && !is_scalar_expr(e)) {
    if (const auto* shape = ir::as<ir::ShapeExpr>(e)) {
      out.dims.emplace(shape->values.begin(), shape->values.end());
    } else if (ir::as<ir::ShapeType>(e->type) && ir::isa<ir::Var>(e)) {
      out.shape_var = e;
    } else {
      r.error(at, diag::NotAShape, describe(r, v));
      out.bad = true;
    }
    return;
  }
  if (!v.is_sequence()) {
    if (v.is(ValKind::Int) || v.is(ValKind::Expr) || v.is(ValKind::Str)) {
      const std::string text(at.text());
      const bool bracketed = at.is(Kind::Parenthesized);
      r.error_hint(at,
                   bracketed ? fmt::format("a tuple of one needs a comma: `({},)`", at.child(Field::Value).text())
                             : fmt::format("write `({},)`", text),
                   diag::ShapeNotTuple, text);
    } else {
      r.error(at, diag::NotAShape, describe(r, v));
    }
    out.bad = true;
    return;
  }
  out.dims = to_dims(r, v, at, ir::DType::Int(64));
  out.bad = out.bad || !out.dims;
}

bool is_ndim(std::int64_t given) { return given >= -1 && given <= std::numeric_limits<int>::max(); }

const ir::Type* make_tensor(Reader& r, Node at, const TensorParts& p) {
  if (p.bad) return nullptr;
  if (p.ndim && !is_ndim(*p.ndim)) {
    r.error(at, diag::BadNdim, *p.ndim);
    return nullptr;
  }
  if (p.dims) {
    if (p.ndim && *p.ndim != std::int64_t(p.dims->size())) {
      r.error(at, diag::NdimContradictsShape, *p.ndim, p.dims->size());
      return nullptr;
    }
    for (const ir::Expr* d : *p.dims)
      if (const auto i = ir::const_int(d); i && *i < 0) r.error(at, diag::NegativeDim, *i);
    return r.ctx.tensor(*p.dims, p.dtype, p.vdevice);
  }
  const int ndim = p.ndim ? int(*p.ndim) : ir::kUnknownNdim;
  if (p.shape_var) {
    const auto* t = ir::as<ir::ShapeType>(p.shape_var->type);
    return r.ctx.tensor_of(p.shape_var, p.ndim ? ndim : t->ndim, p.dtype, p.vdevice);
  }
  return r.ctx.tensor_ndim(ndim, p.dtype, p.vdevice);
}

void read_dtype(Reader& r, const Val& v, Node at, TensorParts& p) {
  if (v.is(ValKind::None)) return;
  const auto t = to_dtype(r, v, at);
  p.bad = p.bad || !t;
  if (t) p.dtype = *t;
}

TensorParts tensor_parts(Reader& r, Arguments& args) {
  TensorParts p;
  if (Argument* a = args.find(0, "shape")) {
    const Val v = args.value(a);
    // R.Tensor("float32", ndim=2): TVM accepts a lone dtype too.
    if (v.is(ValKind::Str) && runtime::parse_dtype(v.text) && args.positional_count() == 1) {
      read_dtype(r, v, a->node, p);
    } else if (v.is(ValKind::Str) && runtime::parse_dtype(v.text)) {
      r.error_hint(a->node, fmt::format("write `dtype=\"{}\"`", v.text), diag::DTypeAsShape, v.text);
      p.bad = true;
    } else {
      read_shape(r, a->node, v, p);
    }
  }
  if (Argument* a = args.find(1, "dtype")) read_dtype(r, args.value(a), a->node, p);
  // Both orders occur: R.Tensor(shape, dtype, vdevice, ndim).
  for (const auto& [position, keyword] : {std::pair<std::size_t, std::string_view>{2, "vdevice"}, {3, "ndim"}}) {
    Argument* a = args.find(position, keyword);
    if (!a) continue;
    const Val v = args.value(a);
    if (v.is(ValKind::None)) continue;
    if (keyword == "ndim" || v.is(ValKind::Int)) {
      p.ndim = to_int(r, v, a->node);
      p.bad = p.bad || !p.ndim;
    } else {
      p.vdevice = read_vdevice(r, v, a->node);
      p.bad = p.bad || !p.vdevice;
    }
  }
  return p;
}

Val tensor_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const TensorParts p = tensor_parts(r, args);
  args.finish();
  return Val::of(make_tensor(r, call.node, p));
}

// R.DTensor((m, n), "float32", device_mesh="mesh[0]", placement="S[0], R")
Val dtensor_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  TensorParts p;
  if (Argument* a = args.find(0, "shape")) read_shape(r, a->node, args.value(a), p);
  if (Argument* a = args.find(1, "dtype")) read_dtype(r, args.value(a), a->node, p);
  const ir::Attr* mesh = r.ctx.attr("");
  std::string_view placement;
  if (Argument* a = args.find(2, "device_mesh")) {
    const Val v = args.value(a);
    mesh = to_attr(r, v, a->node);
  }
  if (Argument* a = args.find(3, "placement"))
    if (const auto s = to_str(r, args.value(a), a->node)) placement = *s;
  if (Argument* a = args.find("ndim")) p.ndim = to_int(r, args.value(a), a->node);
  args.finish();
  const ir::Type* tensor = make_tensor(r, call.node, p);
  if (!tensor || !mesh) return {};
  return Val::of(
      static_cast<const ir::Type*>(r.ctx.dtensor(ir::as<ir::TensorType>(tensor), mesh, r.ctx.str(placement))));
}

// ---- the others ----

Val shape_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  int ndim = ir::kUnknownNdim;
  const ir::Type* out = nullptr;
  if (Argument* a = args.find("ndim"))
    if (const auto given = to_int(r, args.value(a), a->node)) {
      if (is_ndim(*given))
        ndim = int(*given);
      else
        r.error(call.node, diag::BadNdim, *given);
    }
  Argument* a = args.find(0, "values");
  const Val v = a ? args.value(a) : Val::none();
  if (v.poison()) {
    args.finish();
    return {};
  }
  if (v.is(ValKind::None) || (v.is_sequence() && v.items.empty())) {
    // An empty list of values is an unknown rank in TVM's parser.
    out = r.ctx.shape_type_ndim(ndim);
  } else if (const auto dims = to_dims(r, v, a->node, ir::DType::Int(64))) {
    out = r.ctx.shape_type(*dims);
  }
  args.finish();
  return Val::of(out);
}

Val prim_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  const ir::Type* out = nullptr;
  if (Argument* a = args.find(0, "dtype")) {
    if (const auto t = to_dtype(r, args.value(a), a->node)) out = r.ctx.prim(*t);
  } else if (Argument* v = args.find("value")) {
    // OLD: R.Prim(value="n") binds the variable; only its dtype remains.
    const Val value = args.value(v);
    const ir::Expr* e = value.is(ValKind::Str) ? symbol_expr(r, value, v->node, ir::DType::Int(64))
                                               : to_scalar(r, value, v->node, ir::DType::Int(64));
    if (e) out = r.ctx.prim(e->dtype());
  } else {
    r.error(call.node, diag::MissingArgument, "dtype", call.shown());
  }
  args.finish();
  return Val::of(out);
}

Val tuple_call(Reader& r, const CallNode& call) {
  std::vector<Node> nodes;
  for (Node n : call.arguments.children()) nodes.push_back(n);
  if (nodes.size() == 1 && (nodes[0].is(Kind::List) || nodes[0].is(Kind::Tuple))) {
    const Node only = nodes[0];
    nodes.clear();
    for (Node n : only.children()) nodes.push_back(n);
  }
  std::vector<const ir::Type*> fields;
  bool good = true;
  // relax.Tuple([x, y]): a value.
  if (const Val* v = !nodes.empty() && nodes[0].is(Kind::Identifier) ? find_name(r, nodes[0].text()) : nullptr;
      v && v->expr()) {
    std::vector<const ir::Expr*> items;
    for (Node n : nodes) {
      items.push_back(to_leaf(r, eval(r, n), n));
      if (!items.back()) return {};
    }
    return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.tuple(items), call.node)));
  }
  for (Node n : nodes) {
    if (n.is(Kind::KeywordArgument)) n = n.child(Field::Value);
    fields.push_back(read_type(r, n));
    good = good && fields.back();
  }
  if (!good) return {};
  return Val::of(static_cast<const ir::Type*>(r.ctx.tuple_type(fields)));
}

bool read_param_types(Reader& r, Node n, std::vector<const ir::Type*>& out) {
  if (n.is(Kind::Tuple) || n.is(Kind::List)) {
    bool good = true;
    for (Node c : n.children()) {
      out.push_back(read_type(r, c));
      good = good && out.back();
    }
    return good;
  }
  // `(T)` without a comma: one parameter.
  if (n.is(Kind::Parenthesized)) n = n.child(Field::Value);
  out.push_back(read_type(r, n));
  return out.back() != nullptr;
}

Val callable_call(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  Argument* params = args.find(0, "params");
  Argument* ret = args.find(1, "ret");
  Argument* purity = args.find(2, "purity");
  Argument* derive = args.find(3, "derive_func");
  bool good = true;
  const ir::Type* ret_type = nullptr;
  if (ret) {
    ret->used = true;
    ret_type = read_type(r, ret->node);
    good = ret_type != nullptr;
  }
  std::optional<bool> pure;
  if (purity) pure = to_bool(r, args.value(purity), purity->node);
  std::string_view derive_name;
  if (derive)
    if (const Val v = args.value(derive); !v.is(ValKind::None))
      if (const auto s = to_str(r, v, derive->node)) derive_name = r.ctx.str(*s);
  const ir::Type* out = nullptr;
  std::vector<const ir::Type*> types;
  const bool opaque = !params || params->node.is(Kind::None);
  if (params) params->used = true;
  if (!opaque) good = read_param_types(r, params->node, types) && good;
  args.finish();
  if (!good) return {};
  if (opaque) {
    out = r.ctx.opaque_func_type(ret_type, pure.value_or(false), derive_name);
  } else {
    out = r.ctx.func_type(types, ret_type ? ret_type : r.ctx.void_type(), pure.value_or(true));
  }
  return Val::of(out);
}

Val packed_func_call(Reader& r, const CallNode&) {
  return Val::of(static_cast<const ir::Type*>(r.ctx.opaque_func_type()));
}
Val any_call(Reader& r, const CallNode&) { return Val::of(static_cast<const ir::Type*>(r.ctx.any())); }

}  // namespace

std::span<const HandlerRow> type_handlers() {
  static constexpr HandlerRow kRows[] = {
      {"Tensor", tensor_call},
      {"DTensor", dtensor_call},
      {"Shape", shape_call},
      {"Prim", prim_call},
      {"Tuple", tuple_call},
      {"Callable", callable_call},
      {"Any", any_call},
      {"Object", any_call},
      {"PackedFunc", packed_func_call},
      {"dist.DTensor", dtensor_call},
  };
  return kRows;
}

const ir::Type* type_of_path(Reader& r, const Val& path) {
  const std::string_view p = path.text;
  if (path.space == Space::Relax) {
    if (p == "Tensor") return r.ctx.tensor_ndim(ir::kUnknownNdim, ir::DType::Void());
    if (p == "Shape") return r.ctx.shape_type_ndim();
    if (is_any_name(p)) return r.ctx.any();
    if (p == "Tuple") return r.ctx.void_type();
    if (p == "Callable" || p == "PackedFunc") return r.ctx.opaque_func_type();
    if (p == "Prim") return nullptr;
  }
  if (path.space == Space::Tir) {
    if (p == "handle") return r.ctx.pointer();
    if (p == "boolean") return r.ctx.boolean();
    if (const auto t = runtime::parse_dtype(p))
      return t->is_void() ? static_cast<const ir::Type*>(r.ctx.void_type()) : r.ctx.prim(*t);
  }
  return nullptr;
}

const ir::Type* type_of_string(Reader& r, const Val& string, Node at) {
  const ir::Type* out = nullptr;
  with_inner_tree(r, string, at, [&](Node n) {
    out = read_type(r, n);
    return Val::nothing();
  });
  return out;
}

namespace {

// A name under `R.` that is not a type, where a type is required: misspelt, or an operator.
bool not_a_type(Reader& r, Node n) {
  const Node name = n.is(Kind::Call) ? n.child(Field::Function) : n;
  const Path p = path_of(r, name);
  if (p.space != Space::Relax || p.rest.empty() || p.rest.find('.') != std::string_view::npos) return false;
  static const std::vector<std::string_view> kTypes = {"Tensor", "Shape",  "Prim",       "Tuple",  "Callable",
                                                       "Any",    "Object", "PackedFunc", "DTensor"};
  if (std::find(kTypes.begin(), kTypes.end(), p.rest) != kTypes.end()) return false;
  const std::string_view near = source::nearest(p.rest, kTypes);
  // R.const and the like give a value: it is reported with its type.
  if (near.empty() && find_handler(Space::Relax, p.rest) != nullptr) return false;
  r.error_hint(name, near.empty() ? std::string() : fmt::format("did you mean `R.{}`?", near), diag::NotAType,
               name.text());
  return true;
}

}  // namespace

const ir::Type* read_type(Reader& r, Node n) {
  if (n.is(Kind::Parenthesized)) return read_type(r, n.child(Field::Value));
  if (n.is(Kind::Call)) {
    // T.handle(...) as an annotation; as an expression it would be a new variable.
    const Path p = path_of(r, n.child(Field::Function));
    if (p.space == Space::Tir && p.rest == "handle") {
      CallNode call{n, n.child(Field::Function), n.child(Field::Arguments), p.space, p.rest};
      return pointer_type(r, call);
    }
    if (p.space == Space::Tir && runtime::parse_dtype(p.rest) && n.child(Field::Arguments).children().empty())
      return r.ctx.prim(*runtime::parse_dtype(p.rest));
  }
  if (not_a_type(r, n)) return nullptr;
  const Val v = eval(r, n);
  if (v.is(ValKind::Tuple) && n.is(Kind::Tuple) && r.rfc_spelling()) {
    r.error(n, diag::ExpectedType, describe(r, v));
    return nullptr;
  }
  return to_type(r, v, n);
}

namespace {

// RFC 0089: R.Tensor[(n, m), "float32"], R.Tensor[_, "float32"], R.Tensor[(n, m)].
Val tensor_subscript(Reader& r, Node n) {
  TensorParts p;
  std::vector<Node> parts;
  for (Node c : n.children())
    if (c.field() == Field::Index) parts.push_back(c);
  const bool declares = r.fn && r.fn->in_signature;
  if (!parts.empty() && !parts[0].is(Kind::String)) {
    const Node shape = parts[0];
    if (!(shape.is(Kind::Identifier) && shape.text() == "_")) {
      const bool before = r.fn && r.fn->declare_bare;
      if (declares) r.fn->declare_bare = true;
      const Val v = eval(r, shape);
      if (r.fn) r.fn->declare_bare = before;
      read_shape(r, shape, v, p);
    }
  }
  const std::size_t dtype_at = !parts.empty() && parts[0].is(Kind::String) ? 0 : 1;
  const bool any_dtype = parts.size() > dtype_at && parts[dtype_at].text() == "_";
  if (parts.size() > dtype_at && !any_dtype) read_dtype(r, eval(r, parts[dtype_at]), parts[dtype_at], p);
  if (parts.size() > dtype_at + 1) {
    r.error(parts[dtype_at + 1], diag::ExtraArgument, "R.Tensor[...]");
    p.bad = true;
  }
  return Val::of(make_tensor(r, n, p));
}

}  // namespace

Val type_subscript(Reader& r, const Path& object, Node n) {
  if (object.space == Space::Relax) {
    if (object.rest == "Tensor") return tensor_subscript(r, n);
    if (object.rest == "Tuple") {
      std::vector<const ir::Type*> fields;
      for (Node c : n.children()) {
        if (c.field() != Field::Index) continue;
        fields.push_back(read_type(r, c));
        if (!fields.back()) return {};
      }
      return Val::of(static_cast<const ir::Type*>(r.ctx.tuple_type(fields)));
    }
    if (object.rest == "Shape") {
      for (Node c : n.children())
        if (c.field() == Field::Index) {
          const auto dims = to_dims(r, eval(r, c), c, ir::DType::Int(64));
          if (!dims) return {};
          return Val::of(static_cast<const ir::Type*>(r.ctx.shape_type(*dims)));
        }
    }
  }
  if (object.space == Space::Tir && (object.rest == "Ptr" || object.rest == "handle")) {
    // OLD: T.Ptr[T.int32], T.Ptr[T.int32, "shared"]
    ir::DType element = ir::DType::Void();
    std::string_view scope;
    bool first = true;
    for (Node c : n.children()) {
      if (c.field() != Field::Index) continue;
      const Val v = eval(r, c);
      if (first) {
        const auto t = to_dtype(r, v, c);
        if (!t) return {};
        element = *t;
      } else if (const auto s = to_str(r, v, c)) {
        scope = *s;
      }
      first = false;
    }
    return Val::of(r.ctx.pointer(element, r.ctx.str(scope)));
  }
  if (object.space == Space::Tir && object.rest == "let") {
    for (Node c : n.children())
      if (c.field() == Field::Index) return Val::of(read_type(r, c));
  }
  return r.error(n, diag::NotSubscriptable, fmt::format("`{}`", n.child(Field::Object).text()));
}

}  // namespace rldb::frontend::script
