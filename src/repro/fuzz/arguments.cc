// Arguments and attributes by the kinds in an operator's row. Small numbers are chosen: most of them fit somewhere, and
// the typer decides which.
#include "repro/fuzz/arguments.h"

#include <algorithm>

#include "rldb/ops/arguments.h"

namespace rldb::repro {

using ir::DType;
using ops::ArgKind;
using ops::AttrType;

namespace {

constexpr double kFloats[] = {0.5, 0.1, 1.0, 2.0};
constexpr std::size_t kMaxAxes = 4;

class Arguments {
 public:
  Arguments(ir::Context& ctx, Random& random, const Choices& from) : ctx_(ctx), random_(random), from_(from) {}

  // False: one of them cannot be generated.
  bool make(const ops::OpInfo& info) {
    return std::all_of(info.params.begin(), info.params.end(), [&](const ops::ParamInfo& p) {
      return p.is_attr ? add_attr(info.attrs[std::size_t(p.index)]) : add_arg(info.args[std::size_t(p.index)]);
    });
  }
  const std::vector<ops::CallArg>& list() const { return list_; }

 private:
  bool add_arg(const ops::ArgInfo& arg) {
    if (arg.variadic) return arg.optional;
    if (arg.optional && random_.one_in(2)) return true;
    const ir::Expr* e = argument(arg.kind);
    if (e) list_.push_back({arg.name, e, nullptr});
    return e || arg.optional;
  }

  bool add_attr(const ops::AttrInfo& attr) {
    if (!attr.required && random_.one_in(2)) return true;
    const ir::Attr* a = attribute(attr.type);
    if (a) list_.push_back({attr.name, nullptr, a});
    return a || !attr.required;
  }

  const ir::Expr* argument(ArgKind kind) {
    switch (kind) {
      case ArgKind::Tensor:
        return from_.tensor();
      case ArgKind::Tensors:
        return tuple_of(2 + random_.below(2), [&] { return from_.tensor(); });
      case ArgKind::Shape:
        return shape();
      case ArgKind::Prim:
        return ctx_.i64(small());
      case ArgKind::Prims:
        return tuple_of(1 + random_.below(2), [&] { return ctx_.i64(small()); });
      case ArgKind::DType:
        return ctx_.dtype(dtype());
      case ArgKind::String:
      case ArgKind::Any:
        break;
    }
    return nullptr;
  }

  const ir::Attr* attribute(AttrType type) {
    switch (type) {
      case AttrType::Bool:
        return ctx_.attr(random_.one_in(2));
      case AttrType::Int:
        return ctx_.attr(small());
      case AttrType::Float:
        return ctx_.attr(kFloats[random_.below(std::size(kFloats))]);
      case AttrType::DType:
        return ctx_.attr(dtype());
      case AttrType::Ints:
        return axes();
      case AttrType::Ints1:
      case AttrType::Dims1:
        return sizes(1, 1);
      case AttrType::Ints2:
      case AttrType::Dims2:
        return sizes(2, 1);
      case AttrType::Ints3:
      case AttrType::Dims3:
        return sizes(3, 1);
      case AttrType::Pads1:
        return sizes(2, 0);
      case AttrType::Pads2:
        return sizes(4, 0);
      case AttrType::Pads3:
        return sizes(6, 0);
      case AttrType::Any:  // sections of a split, mostly
        return random_.one_in(2) ? ctx_.attr(std::int64_t(2)) : sizes(1, 1);
      case AttrType::String:
      case AttrType::Floats:
      case AttrType::Scalar:
      case AttrType::Scalars:
        break;
    }
    return nullptr;
  }

  std::int64_t small() { return std::int64_t(random_.below(5)) - 1; }

  DType dtype() {
    constexpr DType kDTypes[] = {DType::Float(32), DType::Int(32), DType::Int(64)};
    return kDTypes[random_.below(std::size(kDTypes))];
  }

  template <class Make>
  const ir::Expr* tuple_of(std::size_t n, const Make& make) {
    std::vector<const ir::Expr*> items;
    for (std::size_t i = 0; i < n; ++i) items.push_back(make());
    return ctx_.tuple(items);
  }

  const ir::Expr* shape() {
    std::vector<const ir::Expr*> dims;
    for (std::size_t i = 0, n = 1 + random_.below(3); i < n; ++i)
      dims.push_back(from_.dims[random_.below(from_.dims.size())]);
    return ctx_.shape(dims);
  }

  // Some of 0, 1, 2, ... in any order, or the last one.
  const ir::Attr* axes() {
    std::vector<std::int64_t> all;
    const std::size_t n = 1 + random_.below(kMaxAxes);
    for (std::size_t i = 0; i < n; ++i) all.push_back(std::int64_t(i));
    for (std::size_t i = n; i-- > 1;) std::swap(all[i], all[random_.below(i + 1)]);
    if (random_.one_in(2)) all.resize(1 + random_.below(n));
    if (random_.one_in(4)) all = {-1};
    return ctx_.attr_ints(all);
  }

  const ir::Attr* sizes(std::size_t n, std::size_t least) {
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(std::int64_t(least + random_.below(2)));
    return ctx_.attr_ints(all);
  }

  ir::Context& ctx_;
  Random& random_;
  const Choices& from_;
  std::vector<ops::CallArg> list_;
};

}  // namespace

const ir::Call* random_call(ir::Context& ctx, Random& random, const ops::OpInfo& info, const Choices& from) {
  Arguments arguments(ctx, random, from);
  if (!arguments.make(info)) return nullptr;
  auto spec = ops::normalize_arguments(ctx, info.name, arguments.list());
  if (!spec.ok()) return nullptr;
  auto made = ctx.call(*spec);
  return made.ok() ? *made : nullptr;
}

}  // namespace rldb::repro
