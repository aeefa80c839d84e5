// Type inference of operators: static, symbolic and unknown inputs, and rejected ones.
#include <doctest/doctest.h>

#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ops/arguments.h"

using namespace rldb;
using ir::Attr;
using ir::DType;
using ir::Expr;

namespace {

struct World {
  ir::Context ctx;
  const ir::Var* n = ctx.var("n", ctx.int64());
  const ir::Var* m = ctx.var("m", ctx.int64());
  World() { ops::install(ctx); }

  const Expr* dim(std::int64_t v) { return ctx.i64(v); }
  const Expr* dim(const Expr* e) { return e; }
  template <class... D>
  const Expr* tensor(DType t, D... dims) {
    std::vector<const Expr*> shape{dim(dims)...};
    return ctx.var("x", ctx.tensor(shape, t));
  }
  template <class... D>
  const Expr* f32(D... dims) {
    return tensor(DType::Float(32), dims...);
  }
  const Expr* rank(int ndim, DType t = DType::Float(32)) { return ctx.var("x", ctx.tensor_ndim(ndim, t)); }

  ops::CallArg arg(const Expr* e) { return {"", e, nullptr}; }
  ops::CallArg arg(const Attr* a) { return {"", nullptr, a}; }
  ops::CallArg key(std::string_view k, const Attr* a) { return {k, nullptr, a}; }
  const Attr* ints(std::initializer_list<std::int64_t> v) { return ctx.attr_ints(std::vector<std::int64_t>(v)); }

  const ir::Call* call(std::string_view name, std::vector<ops::CallArg> args) {
    auto spec = ops::normalize_arguments(ctx, name, args);
    if (!spec.ok()) FAIL("arguments: " << spec.error().text);
    auto c = ctx.call(*spec);
    if (!c.ok()) FAIL("type: " << c.error().text);
    return *c;
  }
  std::string type(std::string_view name, std::vector<ops::CallArg> args) {
    return ir::print_type(call(name, std::move(args))->type);
  }
  std::string error(std::string_view name, std::vector<ops::CallArg> args) {
    auto spec = ops::normalize_arguments(ctx, name, args);
    if (!spec.ok()) return spec.error().text + (spec.error().hint.empty() ? "" : " | " + spec.error().hint);
    auto c = ctx.call(*spec);
    return c.ok() ? "no error" : c.error().text;
  }
  std::string tensor_text(std::vector<const Expr*> shape, DType t) { return ir::print_type(ctx.tensor(shape, t)); }
};

}  // namespace

TEST_CASE("ops: every row parses and has inference") {
  CHECK(ops::all().size() > 200);
  for (const ops::OpInfo& info : ops::all()) {
    CHECK(bool(info.infer));
    CHECK(ops::find(info.name) == &info);
    CHECK(ops::find(info.short_name()) == &info);
    ir::Context ctx;
    for (const ops::AttrInfo& a : info.attrs)
      if (!a.required) CHECK(ops::default_value(ctx, a) != nullptr);
  }
  CHECK(ops::find("no_such") == nullptr);
  CHECK(ops::nearest_name("nn.rleu") == "nn.relu");
}

TEST_CASE("ops: elementwise inference") {
  World w;
  DType f = DType::Float(32);
  CHECK(w.type("exp", {w.arg(w.f32(2, w.n))}) == w.tensor_text({w.dim(2), w.n}, f));
  CHECK(w.type("exp", {w.arg(w.rank(3))}) == ir::print_type(w.ctx.tensor_ndim(3, f)));
  CHECK(w.error("exp", {w.arg(w.tensor(DType::Int(32), 2))}).find("float dtype") != std::string::npos);
  CHECK(w.type("add", {w.arg(w.f32(1, 2, 3)), w.arg(w.f32(4, 3, 2, 1))}) ==
        w.tensor_text({w.dim(4), w.dim(3), w.dim(2), w.dim(3)}, f));
  CHECK(w.type("add", {w.arg(w.f32(w.n, 1)), w.arg(w.f32(w.m))}) == w.tensor_text({w.n, w.m}, f));
  // n against m: not provable, only the rank is kept
  CHECK(w.type("add", {w.arg(w.f32(w.n)), w.arg(w.f32(w.m))}) == ir::print_type(w.ctx.tensor_ndim(1, f)));
  CHECK(w.type("add", {w.arg(w.rank(-1)), w.arg(w.f32(2))}) == ir::print_type(w.ctx.tensor_ndim(-1, f)));
  CHECK(w.type("less", {w.arg(w.f32(2)), w.arg(w.f32(2))}) == w.tensor_text({w.dim(2)}, DType::Bool()));
  CHECK(w.error("add", {w.arg(w.f32(2)), w.arg(w.f32(3))}).find("do not broadcast") != std::string::npos);
  CHECK(w.error("add", {w.arg(w.f32(2)), w.arg(w.tensor(DType::Int(32), 2))}).find("same dtype") != std::string::npos);
  CHECK(w.type("astype", {w.arg(w.f32(w.n)), w.arg(w.ctx.attr("int8"))}) == w.tensor_text({w.n}, DType::Int(8)));
  // A Python number takes the tensor's dtype.
  const ir::Call* c = w.call("multiply", {w.arg(w.f32(2)), w.arg(w.ctx.attr(2))});
  CHECK(ir::isa<ir::Constant>(c->args[1]));
  CHECK(ir::print_type(c->type) == w.tensor_text({w.dim(2)}, f));
}

TEST_CASE("ops: shapes") {
  World w;
  DType f = DType::Float(32);
  const Expr* n2 = ir::mul(w.ctx, w.n, w.ctx.i64(2));
  CHECK(w.type("permute_dims", {w.arg(w.f32(2, w.n, 4)), w.arg(w.ints({2, 0, 1}))}) ==
        w.tensor_text({w.dim(4), w.dim(2), w.n}, f));
  CHECK(w.type("reshape", {w.arg(w.f32(2, 6)), w.arg(w.ints({3, -1}))}) == w.tensor_text({w.dim(3), w.dim(4)}, f));
  CHECK(w.type("reshape", {w.arg(w.f32(w.n, 2)), w.arg(w.ints({-1}))}) == w.tensor_text({n2}, f));
  CHECK(w.error("reshape", {w.arg(w.f32(2, 6)), w.arg(w.ints({5, 2}))}).find("with product 12") != std::string::npos);
  CHECK(w.type("flatten", {w.arg(w.f32(2, 3, 4))}) == w.tensor_text({w.dim(24)}, f));
  CHECK(w.type("squeeze", {w.arg(w.f32(1, w.n, 1)), w.key("axis", w.ints({0, -1}))}) == w.tensor_text({w.n}, f));
  CHECK(w.type("expand_dims", {w.arg(w.f32(w.n)), w.key("axis", w.ctx.attr(0))}) == w.tensor_text({w.dim(1), w.n}, f));
  CHECK(w.type("sum", {w.arg(w.f32(2, w.n)), w.arg(w.ctx.attr(1))}) == w.tensor_text({w.dim(2)}, f));
  CHECK(w.type("sum", {w.arg(w.rank(3)), w.key("axis", w.ints({1})), w.key("keepdims", w.ctx.attr(true))}) ==
        ir::print_type(w.ctx.tensor_ndim(3, f)));
  CHECK(w.error("sum", {w.arg(w.f32(2)), w.arg(w.ctx.attr(3))}).find("out of range") != std::string::npos);
  const Expr* pair[] = {w.f32(2, w.n), w.f32(2, w.n)};
  CHECK(w.type("concat", {w.arg(w.ctx.tuple(pair)), w.key("axis", w.ctx.attr(1))}) == w.tensor_text({w.dim(2), n2}, f));
  CHECK(w.type("split", {w.arg(w.f32(4, 3)), w.arg(w.ctx.attr(2)), w.key("axis", w.ctx.attr(0))}) ==
        ir::print_type(w.ctx.tuple_type(std::vector<const ir::Type*>(2, w.f32(2, 3)->type))));
  CHECK(w.type("strided_slice",
               {w.arg(w.f32(8, 9, 10, 10)), w.key("axes", w.ints({0, 1, 3})), w.key("begin", w.ints({1, 0, 8})),
                w.key("end", w.ints({8, 9, 0})), w.key("strides", w.ints({2, 1, -3}))}) ==
        w.tensor_text({w.dim(4), w.dim(9), w.dim(10), w.dim(3)}, f));
  CHECK(w.type("take", {w.arg(w.f32(w.n, 4)), w.arg(w.tensor(DType::Int(64), 3, 2)), w.key("axis", w.ctx.attr(0))}) ==
        w.tensor_text({w.dim(3), w.dim(2), w.dim(4)}, f));
  CHECK(w.type("unique", {w.arg(w.f32(3, 4))}) == ir::print_type(w.ctx.tensor_ndim(1, f)));
  CHECK(w.type("shape_of", {w.arg(w.f32(w.n, 4))}) ==
        ir::print_type(w.ctx.shape_type(std::vector<const Expr*>{w.n, w.dim(4)})));
}

TEST_CASE("ops: products and windows") {
  World w;
  DType f = DType::Float(32);
  CHECK(w.type("matmul", {w.arg(w.f32(w.n, 3, 4)), w.arg(w.f32(4, 5))}) == w.tensor_text({w.n, w.dim(3), w.dim(5)}, f));
  CHECK(w.type("matmul", {w.arg(w.f32(4)), w.arg(w.f32(4))}) == w.tensor_text({}, f));
  CHECK(w.error("matmul", {w.arg(w.f32(2, 3)), w.arg(w.f32(4, 5))}).find("to be equal") != std::string::npos);
  const ir::Call* conv = w.call("nn.conv2d", {w.arg(w.f32(2, 128, 28, 28)), w.arg(w.f32(64, 16, 3, 3)),
                                              w.key("strides", w.ctx.attr(2)), w.key("padding", w.ints({1, 1})),
                                              w.key("dilation", w.ctx.attr(2)), w.key("groups", w.ctx.attr(8))});
  CHECK(ir::print_type(conv->type) == w.tensor_text({w.dim(2), w.dim(64), w.dim(13), w.dim(13)}, f));
  CHECK(ir::print_attr(ir::find_attr(conv->attrs, "padding")) == "[1, 1, 1, 1]");
  CHECK(ir::find_attr(conv->attrs, "out_layout")->string == "NCHW");
  CHECK(ir::find_attr(conv->attrs, "out_dtype")->is(ir::AttrKind::None));
  CHECK(w.type("nn.max_pool2d",
               {w.arg(w.f32(4, 6, 112, 112)), w.key("pool_size", w.ints({3, 3})), w.key("strides", w.ints({3, 3})),
                w.key("padding", w.ints({1, 1})), w.key("ceil_mode", w.ctx.attr(true))}) ==
        w.tensor_text({w.dim(4), w.dim(6), w.dim(38), w.dim(38)}, f));
}

TEST_CASE("ops: arguments") {
  World w;
  CHECK(w.error("sum", {w.arg(w.f32(2)), w.key("keepdim", w.ctx.attr(true))}).find("did you mean `keepdims`") !=
        std::string::npos);
  CHECK(w.error("exp", {}).find("missing argument `x`") != std::string::npos);
  CHECK(w.error("exp", {w.arg(w.f32(2)), w.arg(w.f32(2))}).find("takes 1 positional") != std::string::npos);
  CHECK(w.error("zeros", {w.arg(w.ints({2})), w.arg(w.ctx.attr("flot32"))}).find("must be a dtype") !=
        std::string::npos);
  CHECK(ir::print_type(w.call("arange", {w.arg(w.ctx.attr(1)), w.arg(w.ctx.attr(10)), w.arg(w.ctx.attr(2))})->type) ==
        w.tensor_text({w.dim(5)}, DType::Int(64)));
  const Expr* args[] = {w.f32(2)};
  const ir::GlobalVar* f = w.ctx.global_var("f", w.ctx.opaque_func_type());
  const ir::Call* call =
      w.call("call_tir", {w.arg(f), w.arg(w.ctx.tuple(args)), w.key("out_ty", w.ctx.attr(w.f32(2, w.n)->type))});
  CHECK(ir::print_type(call->type) == w.tensor_text({w.dim(2), w.n}, DType::Float(32)));
  CHECK(call->args.size() == 2);
  const ir::Call* print = w.call("print", {w.arg(w.f32(2)), w.key("format", w.ctx.attr("{}"))});
  CHECK(ir::isa<ir::StringImm>(print->args[0]));
  CHECK_FALSE(ops::is_pure_call(print));
  CHECK(ops::is_pure_call(call));
}
