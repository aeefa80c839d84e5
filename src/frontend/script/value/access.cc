// a.b, f(x), a[i].
#include <fmt/format.h>

#include "frontend/cst/literal.h"
#include "frontend/script/metadata.h"
#include "frontend/script/module.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/calls.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/tensor_field.h"
#include "frontend/script/value/types.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"

namespace rldb::frontend::script {

namespace {

Val tuple_of(Reader& r, std::span<const ir::Expr* const> items) {
  std::vector<Val> out;
  for (const ir::Expr* e : items) out.push_back(Val::of(e));
  return Val::of_list(ValKind::Tuple, r.keep(out));
}

Val method(Reader& r, const Val& object, std::string_view name, Node n) {
  Val m = Val::of(ValKind::Method);
  m.text = name;
  m.items = r.keep(std::vector<Val>{object});
  m.cst = n;
  return m;
}

Val buffer_attribute(Reader& r, const Val& v, std::string_view name, Node n) {
  const ir::Buffer* b = v.buffer();
  if (name == "data") return Val::of(b->data);
  if (name == "shape") return tuple_of(r, b->shape);
  if (name == "strides") return tuple_of(r, b->strides);
  if (name == "elem_offset") return b->elem_offset ? Val::of(b->elem_offset) : Val::of_int(0);
  if (name == "byte_offset") {
    const ir::Expr* offset = b->elem_offset ? b->elem_offset : r.ctx.i32(0);
    return Val::of(ir::mul(r.ctx, offset, r.ctx.literal(offset->dtype(), double(b->dtype.bytes()))));
  }
  if (name == "dtype") return Val::of_dtype(b->dtype);
  if (name == "name") return Val::of_str(b->name);
  if (name == "ty") return v;
  return method(r, v, name, n);
}

// A call with an effect is made although only something that its type tells is asked of its result.
Val with_effect_kept(Reader& r, const Val& v, Node n) {
  const auto* call = ir::as<ir::Call>(v.expr());
  if (!call || r.in_tir() || !r.fn || !r.fn->body || !r.ctx.typer() || r.ctx.typer()->is_pure(*call)) return v;
  return Val::of(emit_temporary(r, call, n));
}

Val expr_attribute(Reader& r, const Val& object, std::string_view name, Node n) {
  const Val v = with_effect_kept(r, object, n.child(Field::Object));
  const ir::Expr* e = v.expr();
  if (name == "dtype") {
    if (const auto* t = ir::as<ir::TensorType>(e->type)) return Val::of_dtype(t->dtype);
    return Val::of_dtype(e->dtype());
  }
  if (name == "ty" || name == "struct_info" || name == "sinfo" || name == "checked_type") return Val::of(e->type);
  if (name == "name") {
    if (const auto* var = ir::as<ir::Var>(e)) return Val::of_str(var->name);
  }
  if (name == "buffer") {
    if (const auto* load = ir::as<ir::BufferLoad>(e)) return Val::of(load->buffer);
  }
  if (name == "shape") {
    const auto* t = ir::as<ir::TensorType>(e->type);
    if (t && t->has_shape) return tuple_of(r, t->shape);
    if (const ir::Expr* leaf = t ? as_leaf(r, e, n) : nullptr) return emit_call(r, r.ctx.call(op::ShapeOf, {leaf}), n);
  }
  if (const auto field = tensor_field(r, v, name, n)) return *field;
  return method(r, v, name, n);
}

// An attribute of a value.
Val attribute_of(Reader& r, const Val& object, Node n) {
  const Node attribute = n.child(Field::Attribute);
  const std::string_view name = attribute.text();
  if (object.poison()) return {};
  if (object.is(ValKind::Module)) return module_member(r, name, attribute);
  if (object.is(ValKind::Buffer)) return buffer_attribute(r, object, name, n);
  if (object.is(ValKind::Expr)) return expr_attribute(r, object, name, n);
  if (object.is(ValKind::Range) && name == "min") return object.items[0];
  if (object.is(ValKind::Range) && name == "extent") return object.items[1];
  if (object.is(ValKind::Region)) return name == "buffer" ? Val::of(object.buffer()) : method(r, object, name, n);
  return r.error(attribute, diag::NoAttribute, describe(r, object), name);
}

}  // namespace

Val eval_attribute(Reader& r, Node n) {
  if (const Path p = path_of(r, n)) {
    Val v = Val::of(ValKind::Path);
    v.space = p.space;
    v.text = p.rest;
    v.cst = n;
    return value_of_path(r, v);
  }
  const Node object_node = n.child(Field::Object);
  if (!may_be_dtype_field(r, n)) return attribute_of(r, eval(r, object_node), n);
  const Val owner = eval(r, object_node.child(Field::Object));
  if (owner.poison()) return {};
  const auto field = tensor_dtype_field(r, owner, n);
  return field ? *field : attribute_of(r, attribute_of(r, owner, object_node), n);
}

namespace {

// Relax calls within a scalar expression, each bound to a name of its own.
class RelaxCallBinder final : public ir::Rewriter {
 public:
  RelaxCallBinder(Reader& r, Node at) : Rewriter(r.ctx), r_(r), at_(at) {}

 private:
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    const auto* call = ir::as<ir::Call>(e);
    const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
    return op && !ir::is_tir_op(op) ? emit_temporary(r_, e, at_) : default_expr(e);
  }
  Reader& r_;
  Node at_;
};

// T.max(x.ndim, 2): what computes scalars cannot call Relax.
Val with_calls_bound(Reader& r, const Val& v, Node n) {
  const ir::Expr* e = v.expr();
  if (!e || r.in_tir() || !r.fn || !r.fn->body || !is_scalar_expr(e) || ir::isa<ir::Var>(e)) return v;
  const auto* call = ir::as<ir::Call>(e);
  if (call && !ir::is_tir_op(call->callee)) return v;
  const ir::Expr* bound = RelaxCallBinder(r, n).rewrite(e);
  if (bound == e) return v;
  Val out = Val::of(bound);
  out.cst = v.cst;
  return out;
}

}  // namespace

Val eval_call(Reader& r, Node n) {
  CallNode call;
  call.node = n;
  call.function = n.child(Field::Function);
  call.arguments = n.child(Field::Arguments);
  if (const Path p = path_of(r, call.function)) {
    call.space = p.space;
    call.path = p.rest;
    if (const Handler h = find_handler(p.space, p.rest))
      return p.space == Space::Tir ? with_calls_bound(r, h(r, call), n) : h(r, call);
    switch (p.space) {
      case Space::Relax:
        return relax_operator(r, call);
      case Space::Tir:
        return with_calls_bound(r, tir_intrinsic(r, call), n);
      case Space::Ir:
      case Space::Tvm:
      case Space::Other:
      case Space::None:
        break;
    }
    return r.error(call.function, diag::UnknownCallee, call.function.text());
  }
  if (call.function.is(Kind::Identifier) && !find_name(r, call.function.text()))
    if (const Handler h = find_handler(Space::None, call.function.text())) {
      call.path = call.function.text();
      return h(r, call);
    }
  const Val callee = eval(r, call.function);
  if (callee.poison()) {
    // Names used in the arguments of an unknown function should still be reported; their values do not matter.
    return {};
  }
  return call_value(r, callee, call);
}

namespace {

std::vector<Node> index_nodes(Node n) {
  std::vector<Node> out;
  for (Node c : n.children())
    if (c.field() == Field::Index) out.push_back(c);
  return out;
}

Val slice_of(Reader& r, Node n) {
  const auto part = [&](Field f) {
    const Node c = n.child(f);
    return c ? eval(r, c) : Val::none();
  };
  Val v =
      Val::of_list(ValKind::Slice, r.keep(std::vector<Val>{part(Field::Start), part(Field::Stop), part(Field::Step)}));
  v.cst = n;
  return v;
}

std::vector<Val> eval_indices(Reader& r, Node n) {
  std::vector<Val> out;
  const std::vector<Node> nodes = index_nodes(n);
  for (Node i : nodes) {
    if (i.is(Kind::Slice)) {
      out.push_back(slice_of(r, i));
      continue;
    }
    if (i.is(Kind::Splat)) {
      const Val v = eval(r, i.child(Field::Value));
      if (v.is_sequence()) {
        out.insert(out.end(), v.items.begin(), v.items.end());
      } else if (!v.poison()) {
        out.push_back(r.error(i, diag::CannotSplat, describe(r, v)));
      } else {
        out.push_back(v);
      }
      continue;
    }
    Val v = eval(r, i);
    if (!v.is(ValKind::Lambda)) v.cst = i;
    // A[()], A[(i, j)], A[[i, j]]: the items are the indices.
    if (nodes.size() == 1 && v.is_sequence()) return std::vector<Val>(v.items.begin(), v.items.end());
    out.push_back(v);
  }
  return out;
}

Val index_sequence(Reader& r, const Val& object, const std::vector<Val>& index, Node n) {
  if (index.size() == 1 && index[0].is(ValKind::Slice)) {
    const std::int64_t size = std::int64_t(object.items.size());
    const auto bound = [&](const Val& v, std::int64_t otherwise) -> std::int64_t {
      if (!v.is(ValKind::Int)) return otherwise;
      return std::clamp<std::int64_t>(v.integer < 0 ? v.integer + size : v.integer, 0, size);
    };
    const std::int64_t from = bound(index[0].items[0], 0), to = bound(index[0].items[1], size);
    return Val::of_list(object.kind, from < to ? object.items.subspan(std::size_t(from), std::size_t(to - from))
                                               : std::span<const Val>());
  }
  if (index.size() != 1) return r.error(n, diag::ExpectedInteger, "several indices");
  const auto i = to_int(r, index[0], n);
  if (!i) return {};
  const std::int64_t size = std::int64_t(object.items.size());
  const std::int64_t at = *i < 0 ? *i + size : *i;
  if (at < 0 || at >= size) return r.error(n, diag::IndexOutOfRange, *i, size);
  return object.items[std::size_t(at)];
}

Val index_expr(Reader& r, const Val& object, const std::vector<Val>& index, Node n) {
  const ir::Expr* e = object.expr();
  if (index.size() == 1 && index[0].is(ValKind::Int) && !is_scalar_expr(e)) {
    const ir::Expr* leaf = as_leaf(r, e, n);
    if (!leaf) return {};
    const auto* t = ir::as<ir::TupleType>(leaf->type);
    std::int64_t i = index[0].integer;
    if (t && i < 0) i += std::int64_t(t->fields.size());
    auto got = r.ctx.tuple_get(leaf, i);
    if (got.ok()) return Val::of(static_cast<const ir::Expr*>(r.at(*got, n)));
    r.report(index[0].cst ? index[0].cst.span() : n.span(), std::move(got).error());
    return {};
  }
  return r.error(n, diag::NotSubscriptable, describe(r, object));
}

}  // namespace

Val eval_indexed(Reader& r, Node n) { return n.is(Kind::Identifier) ? lookup(r, n.text(), n) : eval(r, n); }

Val eval_subscript(Reader& r, Node n) {
  const Node object_node = n.child(Field::Object);
  if (const Path p = path_of(r, object_node)) return type_subscript(r, p, n);
  if (object_node.is(Kind::Subscript) && object_node.child(Field::Object).text() == "metadata" &&
      !find_name(r, "metadata"))
    return metadata_constant(r, object_node.child(Field::Index), n.child(Field::Index), n);
  const bool may_be_field = may_be_axis_field(r, n);
  Val object = may_be_field ? eval(r, object_node.child(Field::Object)) : eval_indexed(r, object_node);
  if (object.poison()) return {};
  const std::vector<Val> index = eval_indices(r, n);
  for (const Val& i : index)
    if (i.poison()) return {};
  if (may_be_field) {
    if (const auto field = index.size() == 1 ? tensor_axis_field(r, object, index[0], n) : std::nullopt) return *field;
    object = attribute_of(r, object, object_node);
    if (object.poison()) return {};
  }
  if (object.is(ValKind::Buffer)) return index_buffer(r, object.buffer(), index, n);
  if (object.is_sequence()) return index_sequence(r, object, index, n);
  if (object.is(ValKind::Expr)) return index_expr(r, object, index, n);
  if (object.is(ValKind::Dict) && index.size() == 1 && index[0].is(ValKind::Str)) {
    for (std::size_t i = 0; i + 1 < object.items.size(); i += 2)
      if (object.items[i].is(ValKind::Str) && object.items[i].text == index[0].text) return object.items[i + 1];
    return r.error(n.child(Field::Index), diag::NoKey, index[0].text);
  }
  return r.error(n, diag::NotSubscriptable, describe(r, object));
}

}  // namespace rldb::frontend::script
