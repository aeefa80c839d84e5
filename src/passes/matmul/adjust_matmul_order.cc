// AdjustMatmulOrder: (a @ b) @ c and a @ (b @ c) become whichever of the two takes fewer multiplications, counted for
// naive matmuls. Two operands that are known ahead of time are multiplied with each other, so that the product can be
// lifted out (LiftTransformParams).
//
// Stricter than TVM: permutations between the products have to swap the two dims of the matrices, a vector must be at
// an end and next to matrices without batch dims, and a product with an `out_dtype` of its own stays.
#include <algorithm>

#include "passes/matmul/ahead_of_time.h"
#include "passes/matmul/matrix_dims.h"
#include "passes/operators/call_expander.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/scalar.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

using Dims = std::vector<const Expr*>;

// a, b and c of a product of three; `swapped`: the operand is transposed in the program.
struct Factors {
  const Expr* operand[3];
  bool swapped[3] = {false, false, false};
  bool left_first = false;  // in the order of the program
};

std::optional<Dims> dims_of(const Expr* e, bool swapped) {
  const auto* t = as<TensorType>(e->type);
  if (!t || !t->has_shape || t->shape.empty()) return std::nullopt;
  Dims dims(t->shape.begin(), t->shape.end());
  if (swapped && dims.size() < 2) return std::nullopt;
  if (swapped) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

// A count of multiplications: a sum of products of sizes, as long as each is a number or a variable.
struct Count {
  double factor = 0;
  std::vector<const Var*> vars;  // of a product
};
using Counts = std::vector<Count>;

// The product of dims; nullopt when one of them is an expression.
std::optional<Count> product_of(std::initializer_list<const Dims*> groups) {
  Count out{1, {}};
  for (const Dims* dims : groups)
    for (const Expr* d : *dims) {
      if (const auto value = const_int(d))
        out.factor *= double(*value);
      else if (const auto* v = as<Var>(d))
        out.vars.push_back(v);
      else
        return std::nullopt;
    }
  return out;
}

// Known facts about sizes: none is 0, and the bounds given by the function's attributes.
class Sizes {
 public:
  explicit Sizes(const Function* f) {
    std::vector<const Var*> vars;
    for (const Var* p : f->params) collect_vars(p->type, vars);
    const Attr* upper = find_attr(f->attrs, attr_name::TirVarUpperBound);
    const Attr* lower = find_attr(f->attrs, attr_name::TirVarLowerBound);
    for (const Var* v : vars) {
      Limits& limits = limits_[v];
      if (const auto least = bound(lower, v->name)) limits.least = std::max(1.0, double(*least));
      // As in TVM, the bound itself is exclusive.
      if (const auto most = bound(upper, v->name)) limits.most = std::max(limits.least, double(*most) - 1);
    }
  }

  // a < b whatever the sizes are. A sum in which a size occurs once in each product is linear in it, so it is positive
  // between two values when it is positive at both, and beyond one when it is positive there and does not decrease.
  bool less(const Counts& a, Counts b) const {
    for (Count c : a) {
      c.factor = -c.factor;
      b.push_back(std::move(c));
    }
    return positive(b, true, 0);
  }

 private:
  static constexpr int kMaxVars = 8;  // each doubles the work
  struct Limits {
    double least = 1;
    std::optional<double> most;
  };

  static std::optional<std::int64_t> bound(const Attr* table, std::string_view name) {
    const Attr* a = table && table->is(AttrKind::Dict) ? find_attr(table->fields, name) : nullptr;
    if (!a) return std::nullopt;
    return a->is(AttrKind::Expr) ? const_int(as<Expr>(a->node)) : std::optional(a->integer);
  }

  bool positive(const Counts& sum, bool strictly, int depth) const {
    const Var* v = nullptr;
    double number = 0;
    for (const Count& c : sum) {
      if (c.vars.empty()) number += c.factor;
      if (!c.vars.empty() && !v) v = c.vars.front();
      for (std::size_t i = 0; i + 1 < c.vars.size(); ++i)
        if (std::find(c.vars.begin() + std::ptrdiff_t(i) + 1, c.vars.end(), c.vars[i]) != c.vars.end()) return false;
    }
    if (!v) return strictly ? number > 0 : number >= 0;
    if (depth == kMaxVars) return false;
    const auto found = limits_.find(v);
    const Limits limits = found == limits_.end() ? Limits{} : found->second;
    if (!positive(at(sum, v, limits.least), strictly, depth + 1)) return false;
    return limits.most ? positive(at(sum, v, *limits.most), strictly, depth + 1)
                       : positive(slope(sum, v), false, depth + 1);
  }

  static Counts at(const Counts& sum, const Var* v, double value) {
    Counts out = sum;
    for (Count& c : out)
      if (const auto found = std::find(c.vars.begin(), c.vars.end(), v); found != c.vars.end()) {
        c.vars.erase(found);
        c.factor *= value;
      }
    return out;
  }
  static Counts slope(const Counts& sum, const Var* v) {
    Counts out;
    for (Count c : sum)
      if (const auto found = std::find(c.vars.begin(), c.vars.end(), v); found != c.vars.end()) {
        c.vars.erase(found);
        out.push_back(std::move(c));
      }
    return out;
  }

  std::unordered_map<const Var*, Limits> limits_;
};

class OrderAdjuster : public CallExpander {
 public:
  OrderAdjuster(Context& ctx, const Function* f) : CallExpander(ctx), ahead_(f), sizes_(f) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = CallExpander::visit_binding(b);
    for (const Binding* m : made)
      if (!m->is_match_cast()) ahead_.learn(m->var, m->value);
    return made;
  }

  const Expr* expand(const Call* call) override {
    if (!plain_matmul(call)) return nullptr;
    const auto factors = factors_of(call);
    if (!factors) return nullptr;
    const auto left_first = better_order(*factors);
    if (!left_first || (*left_first == factors->left_first && !transposed(*factors))) return nullptr;
    if (!may_rewrite([] { return std::string("a product of three is computed in another order"); })) return nullptr;
    const Expr* made = product(*factors, *left_first);
    return made && made->type == call->type ? made : nullptr;
  }

 private:
  static bool transposed(const Factors& f) { return f.swapped[0] || f.swapped[1] || f.swapped[2]; }

  const Call* plain_matmul(const Expr* e) const {
    const Call* call = call_of(e, op::Matmul);
    const Attr* out = call ? find_attr(call->attrs, op_attr::OutDtype) : nullptr;
    return call && (!out || out->is(AttrKind::None)) ? call : nullptr;
  }

  std::optional<Factors> factors_of(const Call* call) const {
    const Expr *x = call->args[0], *y = call->args[1];
    if (const Call* inner = plain_matmul(x)) return Factors{{inner->args[0], inner->args[1], y}, {}, true};
    if (const Call* inner = plain_matmul(y)) return Factors{{x, inner->args[0], inner->args[1]}, {}, false};
    if (const Call* inner = turned_matmul(x))
      return Factors{{inner->args[1], inner->args[0], y}, {true, true, false}, true};
    if (const Call* inner = turned_matmul(y))
      return Factors{{x, inner->args[1], inner->args[0]}, {false, true, true}, false};
    return std::nullopt;
  }

  const Call* turned_matmul(const Expr* e) const {
    const Call* turn = call_of(e, op::PermuteDims);
    const Call* inner = turn ? plain_matmul(turn->args[0]) : nullptr;
    const auto* t = inner ? as<TensorType>(inner->type) : nullptr;
    return t && t->ndim >= 2 && swaps_matrix_dims(turn, std::size_t(t->ndim)) ? inner : nullptr;
  }

  // Whether a and b are to be multiplied first; nullopt when that is not known or makes no difference.
  std::optional<bool> better_order(const Factors& f) {
    std::optional<Dims> dims[3];
    bool vector = false, batch = false;
    for (std::size_t i = 0; i < 3; ++i) {
      dims[i] = dims_of(f.operand[i], f.swapped[i]);
      if (!dims[i]) return std::nullopt;
      vector = vector || dims[i]->size() == 1;
      batch = batch || dims[i]->size() > 2;
    }
    if (dims[1]->size() == 1 || (vector && batch)) return std::nullopt;
    bool ahead[3];
    for (std::size_t i = 0; i < 3; ++i) ahead[i] = ahead_.has(f.operand[i]);
    if (ahead[0] && ahead[1] && ahead[2]) return std::nullopt;
    // An operand that has to be transposed first is not available ahead of time.
    if (ahead[0] && ahead[1] && !f.swapped[1]) return true;
    if (ahead[1] && ahead[2] && !f.swapped[1]) return false;
    return cheaper(*dims[0], *dims[1], *dims[2]);
  }

  std::optional<bool> cheaper(Dims a, const Dims& b, Dims c) {
    if (a.size() == 1) a = Dims{ctx_.i64(1), a[0]};
    if (c.size() == 1) c = Dims{c[0], ctx_.i64(1)};
    const auto ab = batch(a, b), bc = batch(b, c);
    const auto outer_left = ab ? batch(with_matrix(*ab), c) : std::nullopt;
    const auto outer_right = bc ? batch(a, with_matrix(*bc)) : std::nullopt;
    if (!outer_left || !outer_right) return std::nullopt;
    const Expr *rows = a[a.size() - 2], *first = a.back(), *second = c[c.size() - 2], *columns = c.back();
    const Dims left_inner{rows, first, second}, left_outer{rows, second, columns};
    const Dims right_inner{first, second, columns}, right_outer{rows, first, columns};
    const auto left = sum_of(product_of({&*ab, &left_inner}), product_of({&*outer_left, &left_outer}));
    const auto right = sum_of(product_of({&*bc, &right_inner}), product_of({&*outer_right, &right_outer}));
    if (!left || !right) return std::nullopt;
    if (sizes_.less(*left, *right)) return true;
    return sizes_.less(*right, *left) ? std::optional(false) : std::nullopt;
  }

  static std::optional<Counts> sum_of(std::optional<Count> a, std::optional<Count> b) {
    if (!a || !b) return std::nullopt;
    return Counts{*std::move(a), *std::move(b)};
  }

  Dims with_matrix(Dims batch) {
    batch.insert(batch.end(), 2, ctx_.i64(1));
    return batch;
  }

  // The batch dims of a product.
  std::optional<Dims> batch(const Dims& a, const Dims& b) {
    const std::size_t rank = std::max(a.size(), b.size()) - 2;
    Dims out;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t a_lacks = rank + 2 - a.size(), b_lacks = rank + 2 - b.size();
      const Expr* x = i < a_lacks ? ctx_.i64(1) : a[i - a_lacks];
      const Expr* y = i < b_lacks ? ctx_.i64(1) : b[i - b_lacks];
      const Expr *const dx[] = {x}, *const dy[] = {y};
      if (is_const(x, 1))
        out.push_back(y);
      else if (is_const(y, 1) || prove_shapes_equal(ctx_, dx, dy))
        out.push_back(x);
      else
        return std::nullopt;
    }
    return out;
  }

  const Expr* product(const Factors& f, bool left_first) {
    const Expr* x = operand(f, 0);
    const Expr* y = operand(f, 1);
    if (left_first) {
      const Expr* inner = multiply(x, y);
      const Expr* z = operand(f, 2);
      return inner && z ? value_or_null(ctx_.call(op::Matmul, {inner, z})) : nullptr;
    }
    const Expr* z = operand(f, 2);
    const Expr* inner = multiply(y, z);
    return x && inner ? value_or_null(ctx_.call(op::Matmul, {x, inner})) : nullptr;
  }

  const Expr* multiply(const Expr* x, const Expr* y) { return x && y ? emit(ctx_.call(op::Matmul, {x, y})) : nullptr; }

  const Expr* operand(const Factors& f, std::size_t i) {
    if (!f.swapped[i]) return f.operand[i];
    const auto rank = as<TensorType>(f.operand[i]->type)->shape.size();
    if (rank == 2) return emit(ctx_.call(op::PermuteDims, {f.operand[i]}));
    std::vector<std::int64_t> axes;
    for (std::size_t k = 0; k < rank; ++k) axes.push_back(std::int64_t(k));
    std::swap(axes[rank - 1], axes[rank - 2]);
    return emit(ctx_.call(op::PermuteDims, {f.operand[i]}, {ctx_.named(op_attr::Axes, ctx_.attr_ints(axes))}));
  }

  AheadOfTime ahead_;
  Sizes sizes_;
};

}  // namespace

Result<const Module*> adjust_matmul_order(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return OrderAdjuster(env.ctx, f).run(f);
  });
}

}  // namespace rldb::passes
