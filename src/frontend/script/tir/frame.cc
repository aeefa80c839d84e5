// T. names that are statements or open a scope: attributes, threads, allocations, lets.
#include <fmt/format.h>

#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/expr.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/runtime/value.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_tir.h"
#include "rldb/source/diagnostic_script_type.h"

namespace rldb::frontend::script {

Val make_frame(Reader& r, FrameSpec spec) {
  r.fn->tir->frames.push_back(std::move(spec));
  Val v = Val::of(ValKind::Frame);
  v.pointer = &r.fn->tir->frames.back();
  return v;
}

namespace {

bool need_tir(Reader& r, const CallNode& call) {
  if (r.in_tir()) return true;
  r.error(call.function, diag::Misplaced, call.shown());
  return false;
}

// `first` and then the body.
FrameSpec prefix(const ir::Stmt* first, Val result) {
  return {result, [first](ir::Context& ctx, const ir::Stmt* body) {
            const ir::Stmt* both[] = {first, body};
            return ctx.seq_stmt(both);
          }};
}

Val evaluate(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto v = args.require(0, "value");
  args.finish();
  if (!v) return {};
  const ir::Expr* e = to_operand(r, *v, args.node(0, "value"));
  if (e) r.fn->tir->emit(r.at(r.ctx.evaluate(e), call.node));
  return Val::nothing();
}

Val func_attr(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto v = args.require(0, "attrs");
  args.finish();
  if (!v || v->poison()) return {};
  if (!v->is(ValKind::Dict)) return r.error(args.node(0, "attrs"), diag::ExpectedDictionary, describe(r, *v));
  for (const ir::NamedAttr& a : to_fields(r, *v, call.node)) {
    if (ir::find_attr(r.fn->attrs, a.name)) {
      r.error(call.node, diag::RepeatedKey, a.name);
    } else {
      r.fn->attrs.push_back(a);
    }
  }
  return Val::nothing();
}

Val noalias(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  r.fn->attrs.push_back(r.ctx.named(attr_name::NoAlias, r.ctx.attr(true)));
  return Val::nothing();
}

// ---- attributes ----

// The thread's tag of T.iter_var(v, dom, "ThreadIndex", "threadIdx.x"), and its variable.
std::string_view iter_var_tag(const ir::Attr* a, const ir::Var*& var) {
  std::string_view tag;
  for (const ir::Attr* item : a->items) {
    if (item->is(ir::AttrKind::String)) tag = item->string;
    if (!var && item->is(ir::AttrKind::Expr)) var = ir::as<ir::Var>(item->node);
  }
  return tag;
}

const ir::Attr* thread_node(Reader& r, std::string_view tag) {
  const ir::Attr* items[] = {r.ctx.attr(tag)};
  return r.ctx.attr_opaque("T.iter_var", items, {});
}

FrameSpec attr_frame(const ir::Attr* node, std::string_view key, const ir::Expr* value, const ir::Var* thread, Node at,
                     Reader& r) {
  const source::Span span = at.span();
  (void)r;
  return {Val::none(), [=](ir::Context& ctx, const ir::Stmt* body) -> const ir::Stmt* {
            const ir::Stmt* s = ctx.attr_stmt(node, key, value, body, thread);
            ctx.spans().set(s->id, span);
            return s;
          }};
}

Val attr(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  // T.attr({"key": value}): attributes without a node. TVM's pragmas have the number 0 instead of one.
  if (args.positional_count() == 1) {
    const auto dict = args.require(0, "attrs");
    args.finish();
    if (!dict || !dict->is(ValKind::Dict))
      return dict && !dict->poison() ? r.error(call.node, diag::ExpectedDictionary, describe(r, *dict)) : Val();
    FrameSpec all{Val::none(), [](ir::Context&, const ir::Stmt* body) { return body; }};
    for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2) {
      const auto key = to_str(r, dict->items[i], call.node);
      const ir::Expr* value = to_operand(r, dict->items[i + 1], call.node);
      if (!key || !value) return {};
      const ir::Attr* node = key->starts_with("pragma_") ? r.ctx.attr(0) : r.ctx.attr_none();
      all.wrap = [outer = all.wrap, inner = attr_frame(node, r.ctx.str(*key), value, nullptr, call.node, r).wrap](
                     ir::Context& ctx, const ir::Stmt* body) { return outer(ctx, inner(ctx, body)); };
    }
    return make_frame(r, std::move(all));
  }
  const auto node = args.require(0, "node");
  const auto key_value = args.require(1, "attr_key");
  const auto value_value = args.require(2, "value");
  args.finish();
  if (!node || !key_value || !value_value || node->poison()) return {};
  const auto key = to_str(r, *key_value, args.node(1, "attr_key"));
  const ir::Expr* value =
      value_value->is(ValKind::None) ? r.ctx.i32(0) : to_operand(r, *value_value, args.node(2, "value"));
  if (!key || !value) return {};
  const ir::Var* thread = nullptr;
  const ir::Attr* node_attr = nullptr;
  if (ir::launches_threads(*key)) {
    std::string_view tag;
    if (const ir::Attr* a = node->attr(); a && a->is(ir::AttrKind::Opaque)) {
      tag = iter_var_tag(a, thread);
    } else if (const auto* v = ir::as<ir::Var>(node->expr())) {
      if (const auto it = r.fn->tir->thread_tags.find(v); it != r.fn->tir->thread_tags.end()) {
        thread = v;
        tag = it->second;
      }
    }
    if (thread) node_attr = thread_node(r, tag);
  }
  if (!node_attr) node_attr = to_attr(r, *node, args.node(0, "node"));
  if (!node_attr) return {};
  return make_frame(r, attr_frame(node_attr, r.ctx.str(*key), value, thread, call.node, r));
}

Val env_thread(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto v = args.require(0, "thread_tag");
  ir::DType dtype = ir::DType::Int(32);
  if (Argument* a = args.find(1, "dtype"))
    if (const auto t = to_dtype(r, args.value(a), a->node)) dtype = *t;
  args.finish();
  const auto tag = v ? to_str(r, *v, args.node(0, "thread_tag")) : std::nullopt;
  if (!tag) return {};
  const ir::Var* var = r.at(r.ctx.var(r.fn->tir->target(0, "thread"), r.ctx.prim(dtype)), call.node);
  r.fn->tir->thread_tags[var] = r.ctx.str(*tag);
  Val out = Val::of(var);
  out.fresh = true;
  return out;
}

// T.launch_thread("threadIdx.x", 16) makes the variable; T.launch_thread(v, 16) takes one of T.env_thread.
Val launch_thread(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto thread = args.require(0, "thread");
  const auto extent_value = args.require(1, "extent");
  args.finish();
  if (!thread || !extent_value || thread->poison()) return {};
  const ir::Expr* extent = to_number(r, *extent_value, args.node(1, "extent"));
  if (!extent) return {};
  const ir::Var* var = nullptr;
  std::string_view tag;
  if (thread->is(ValKind::Str)) {
    tag = r.ctx.str(thread->text);
    var = r.at(r.ctx.var(r.fn->tir->target(0, "thread"), r.ctx.prim(extent->dtype())), call.node);
    r.fn->tir->thread_tags[var] = tag;
  } else {
    var = ir::as<ir::Var>(thread->expr());
    const auto it = r.fn->tir->thread_tags.find(var);
    if (!var || it == r.fn->tir->thread_tags.end())
      return r.error(args.node(0, "thread"), diag::NotAThread, describe(r, *thread));
    tag = it->second;
    extent = ir::cast_to(r.ctx, var->dtype(), extent);
  }
  const bool virtual_thread = ir::is_vthread(tag);
  FrameSpec spec = attr_frame(thread_node(r, tag), virtual_thread ? ir::kVirtualThread : ir::kThreadExtent, extent, var,
                              call.node, r);
  spec.result = Val::of(var);
  spec.result.fresh = true;
  return make_frame(r, std::move(spec));
}

// ---- lets, asserts, allocations ----

Val let_stmt(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto v = args.require(0, "value");
  const auto given = args.get("var");
  Argument* type_arg = args.find(1, "ty");
  const ir::Type* type = nullptr;
  if (type_arg)
    if (const Val t = args.value(type_arg); !t.is(ValKind::None)) type = to_type(r, t, type_arg->node);
  args.finish();
  const auto* p = ir::as<ir::PrimType>(type);
  const ir::Expr* e = v ? to_scalar(r, *v, args.node(0, "value"), p ? p->dtype : ir::DType::Void()) : nullptr;
  if (!e) return {};
  const ir::Var* var = given ? ir::as<ir::Var>(given->expr()) : nullptr;
  if (!var) var = r.at(r.ctx.var(r.fn->tir->target(0, "v"), type ? type : e->type), call.node);
  Val result = Val::of(var);
  result.fresh = true;
  return make_frame(r, prefix(r.at(r.ctx.bind(var, e), call.node), result));
}

// x = T.bind(e)
Val bind(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto v = args.require(0, "value");
  const auto given = args.get("var");
  Argument* type_arg = args.find(1, "type_annotation");
  const ir::Type* type = nullptr;
  if (type_arg)
    if (const Val t = args.value(type_arg); !t.is(ValKind::None)) type = to_type(r, t, type_arg->node);
  args.finish();
  const ir::Expr* e = v ? to_scalar(r, *v, args.node(0, "value")) : nullptr;
  if (!e) return {};
  const ir::Var* var = given ? ir::as<ir::Var>(given->expr()) : nullptr;
  if (!var) var = r.at(r.ctx.var(r.fn->tir->target(0, "v"), type ? type : e->type), call.node);
  r.fn->tir->emit(r.at(r.ctx.bind(var, e), call.node));
  Val out = Val::of(var);
  out.fresh = true;
  return out;
}

Val assert_frame(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto c = args.require(0, "condition");
  const auto m = args.require(1, "message");
  args.finish();
  const ir::Expr* cond = c ? to_scalar(r, *c, args.node(0, "condition")) : nullptr;
  const auto text = m ? to_str(r, *m, args.node(1, "message")) : std::nullopt;
  if (!cond || !text) return {};
  const std::string_view parts[] = {*text};
  return make_frame(r, prefix(r.at(r.ctx.assert_stmt(cond, "RuntimeError", parts), call.node), Val::none()));
}

// p = T.allocate([n], "float32", "global"): old form.
Val allocate(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto extents = args.require(0, "extents");
  const auto dtype_value = args.require(1, "dtype");
  std::string_view scope = "global";
  if (Argument* a = args.find(2, "scope"))
    if (const Val s = args.value(a); s.is(ValKind::Str)) scope = s.text;
  args.find(3, "condition");
  const std::vector<ir::NamedAttr> annotations = read_annotations(r, args);
  args.finish();
  if (!extents || !dtype_value) return {};
  const auto dims = to_dims(r, *extents, args.node(0, "extents"), ir::DType::Int(32));
  const auto dtype = to_dtype(r, *dtype_value, args.node(1, "dtype"));
  if (!dims || !dtype) return {};
  const ir::Var* var = r.at(r.ctx.var(r.fn->tir->target(0, "p"), r.ctx.pointer(*dtype, r.ctx.str(scope))), call.node);
  Val result = Val::of(var);
  result.fresh = true;
  return make_frame(r, prefix(r.at(r.ctx.allocate(var, *dtype, *dims, scope, annotations), call.node), result));
}

void flatten(const Val& v, std::vector<Val>& out) {
  if (!v.is_sequence()) {
    out.push_back(v);
    return;
  }
  for (const Val& i : v.items) flatten(i, out);
}

Val allocate_const(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto data = args.require(0, "data");
  const auto dtype_value = args.require(1, "dtype");
  const auto extents = args.require(2, "extents");
  args.finish();
  if (!data || !dtype_value || !extents) return {};
  const auto dtype = to_dtype(r, *dtype_value, args.node(1, "dtype"));
  if (!dtype) return {};
  std::vector<std::int64_t> shape;
  if (!extents->is_sequence()) return r.error(args.node(2, "extents"), diag::NotAShape, describe(r, *extents));
  for (const Val& e : extents->items) {
    const auto n = to_int(r, e, args.node(2, "extents"));
    if (!n) return {};
    shape.push_back(*n);
  }
  std::vector<Val> numbers;
  flatten(*data, numbers);
  auto tensor = runtime::Tensor::empty(shape, *dtype);
  if (!tensor.ok()) return r.error(call.node, diag::BadConstant, tensor.error().message);
  if (std::int64_t(numbers.size()) != (*tensor)->element_count())
    return r.error(args.node(0, "data"), diag::BadConstant,
                   fmt::format("{} values for a shape of {}", numbers.size(), (*tensor)->element_count()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i].is_number()) return r.error(args.node(0, "data"), diag::BadConstant, describe(r, numbers[i]));
    std::byte* at = (*tensor)->data() + i * dtype->bytes();
    if (numbers[i].is(ValKind::Float) || !dtype->is_integral()) {
      runtime::store_double(at, *dtype,
                            numbers[i].is(ValKind::Float) ? numbers[i].floating : double(numbers[i].integer));
    } else {
      runtime::store_int(at, *dtype, numbers[i].integer);
    }
  }
  const ir::Var* var = r.at(r.ctx.var(r.fn->tir->target(0, "p"), r.ctx.pointer(*dtype, "global")), call.node);
  Val result = Val::of(var);
  result.fresh = true;
  return make_frame(r, prefix(r.at(r.ctx.allocate_const(var, runtime::Value(*tensor)), call.node), result));
}

Val unsupported_frame(Reader& r, const CallNode& call) {
  return r.error(call.function, diag::UnsupportedTir, call.shown());
}

// T.buffer_store(B, value, [i, j])
Val buffer_store(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto b = args.require(0, "buffer");
  const auto v = args.require(1, "value");
  const auto index = args.require(2, "indices");
  const auto p = args.get(3, "predicate");
  args.finish();
  if (!b || !v || !index || b->poison() || v->poison() || index->poison()) return {};
  if (!b->buffer()) return r.error(args.node(0, "buffer"), diag::NotABuffer, describe(r, *b));
  const ir::Expr* predicate = p ? to_scalar(r, *p, args.node(3, "predicate")) : nullptr;
  const std::span<const Val> items = index->is_sequence() ? index->items : std::span<const Val>(&*index, 1);
  emit_store(r, b->buffer(), items, *v, call.node, args.node(1, "value"), predicate);
  return Val::nothing();
}

// with T.While(cond):
Val while_frame(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto c = args.require(0, "condition");
  args.finish();
  const ir::Expr* cond = c ? to_scalar(r, *c, args.node(0, "condition")) : nullptr;
  if (!cond) return {};
  const source::Span span = call.node.span();
  return make_frame(r, {Val::none(), [cond, span](ir::Context& ctx, const ir::Stmt* body) -> const ir::Stmt* {
                          const ir::Stmt* s = ctx.while_stmt(cond, body);
                          ctx.spans().set(s->id, span);
                          return s;
                        }});
}

// T.prefetch(A, bounds) is a statement of old texts; T.prefetch(pointer, ...) an intrinsic.
Val prefetch(Reader& r, const CallNode& call) {
  Arguments args(r, call);
  if (const auto v = args.get(0, "buffer"); v && v->buffer()) return unsupported_frame(r, call);
  return tir_intrinsic(r, call);
}

Val func_name(Reader& r, const CallNode& call) { return need_tir(r, call) ? Val::nothing() : Val(); }

// T.func_ret(T.int32)
Val func_ret(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto v = args.require(0, "ret_type");
  const ir::Type* type = v ? to_type(r, *v, args.node(0, "ret_type")) : nullptr;
  args.finish();
  if (type) r.fn->tir->ret = type;
  return Val::nothing();
}

// with T.let(x, value):
Val let(Reader& r, const CallNode& call) {
  if (!need_tir(r, call)) return {};
  Arguments args(r, call);
  const auto v = args.require(0, "var");
  const auto value = args.require(1, "value");
  args.finish();
  if (!v || !value || v->poison()) return {};
  const auto* var = ir::as<ir::Var>(v->expr());
  if (!var) return r.error(args.node(0, "var"), diag::ExpectedVariable);
  const ir::Expr* e = to_scalar(r, *value, args.node(1, "value"), var->dtype());
  return e ? make_frame(r, prefix(r.at(r.ctx.bind(var, e), call.node), Val::of(var))) : Val();
}

}  // namespace

std::span<const HandlerRow> tir_statement_handlers() {
  static constexpr HandlerRow kRows[] = {
      {"evaluate", evaluate},
      {"func_attr", func_attr},
      {"noalias", noalias},
      {"attr", attr},
      {"env_thread", env_thread},
      {"launch_thread", launch_thread},
      {"LetStmt", let_stmt},
      {"bind", bind},
      {"Bind", bind},
      {"Assert", assert_frame},
      {"allocate", allocate},
      {"allocate_const", allocate_const},
      {"realize", unsupported_frame},
      {"buffer_realize", unsupported_frame},
      {"func_name", func_name},
      {"prefetch", prefetch},
      {"func_ret", func_ret},
      {"buffer_store", buffer_store},
      {"While", while_frame},
      {"let", let},
  };
  return kRows;
}

}  // namespace rldb::frontend::script
