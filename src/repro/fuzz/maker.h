// Maker: writes the body of a random function binding by binding, over values whose bounds are known. Room-private.
//
// The solvers (solve.h) ask it for operands that meet conditions. An operand is a value of the function; if none meets
// them, a parameter or a constant that does, or a value cut down to the range by `R.clip`.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "repro/fuzz/random.h"
#include "repro/fuzz/value.h"
#include "rldb/ops/op_info.h"

namespace rldb::repro {

// Of one program.
struct Setting {
  ir::ModuleBuilder& module;
  Random& random;
  std::vector<std::int64_t> sizes;  // that dims have, so that shapes fit together
  std::vector<ir::DType> floats, ints;
  std::vector<std::string_view> operators;  // called so far
  std::size_t solved = 0, refused = 0;      // calls that type inference accepted, and did not
  std::vector<std::string> why;             // it did not
};

enum class Kind { Any, Float, Int, Signed, Bool, Number };  // Signed: floats and signed integers

struct Wanted {
  Kind kind = Kind::Any;
  int min_ndim = 0, max_ndim = 4;
  Range within = kEverything;
  bool exact = false;
  std::function<bool(const Known&)> also = {};
};

using Dims = std::vector<const ir::Expr*>;

class Maker {
 public:
  Maker(ir::Context& ctx, Setting& setting) : ctx(ctx), random(setting.random), setting_(setting) {}

  ir::Context& ctx;
  Random& random;
  Setting& setting() { return setting_; }

  // ---- functions ----
  void begin(bool symbolic);
  // A function that exists: bindings are added after its own. Its values are in `range`, as far as is known.
  void continue_function(std::span<const ir::Var* const> params, std::span<const ir::BindingBlock* const> blocks,
                         Range range);
  const ir::Function* finish(const ir::Expr* result, std::string_view symbol);
  Known add_param(std::string_view name, const ir::TensorType* type);
  const std::vector<const ir::Var*>& params() const { return params_; }
  // Bindings of `body` as a sequence of its own, as in a branch; null: it made none, or failed.
  const ir::SeqExpr* nested(const std::function<std::optional<Known>()>& body, Image* image);
  void maybe_open_dataflow();
  void close_block();
  bool in_branch() const { return depth_ > 0; }

  // ---- values ----
  const std::vector<Known>& pool() const { return pool_; }
  std::vector<Known>& pool() { return pool_; }
  Known operand(const Wanted& wanted);
  std::optional<Known> find(const std::function<bool(const Known&)>& fits);
  Known of(const Dims& shape, ir::DType dtype, Range within, bool exact = false);
  Known fresh(const Dims& shape, ir::DType dtype, Range within);
  // Static dims only. Elements of `at` by their index.
  Known constant(const Dims& shape, ir::DType dtype, const std::function<double(std::size_t)>& at, Range range);
  Known integers(const Dims& shape, ir::DType dtype, std::int64_t low, std::int64_t high);
  Known within(const Known& v, Range range);
  // The next operand is this one, if it meets the conditions.
  void prefer(const Known& v) { preferred_ = v; }

  // ---- bindings ----
  // A call that type inference accepts becomes a binding; the fields of a tuple become values of their own.
  std::optional<Known> emit(const ops::OpInfo& op, std::initializer_list<const ir::Expr*> args,
                            std::vector<ir::NamedAttr> attrs, const Image& image) {
    return emit(op, std::span<const ir::Expr* const>(args.begin(), args.size()), std::move(attrs), image);
  }
  std::optional<Known> emit(const ops::OpInfo& op, std::span<const ir::Expr* const> args,
                            std::vector<ir::NamedAttr> attrs, const Image& image);
  std::optional<Known> emit(std::string_view op, std::initializer_list<const ir::Expr*> args,
                            std::vector<ir::NamedAttr> attrs, const Image& image);
  std::optional<Known> add(const ir::Expr* value, const Image& image);
  const ir::Var* bind(const ir::Expr* value, const ir::Type* cast = nullptr);

  // ---- choices ----
  ir::DType dtype(Kind kind);
  Dims shape(int min_ndim, int max_ndim);
  const ir::Expr* dim();  // a number or a symbolic one
  std::int64_t size() { return setting_.sizes[random.below(setting_.sizes.size())]; }
  std::int64_t axis_of(int ndim);  // negative ones as well
  std::int64_t either(int axis, int ndim) { return random.one_in(2) ? axis : axis - ndim; }
  std::vector<std::int64_t> axes_of(int ndim);  // some, in any order, negative or not
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[random.below(all.size())];
  }
  bool flip() { return random.one_in(2); }
  // Its variables are those of the parameters' shapes.
  bool is_expressible(const ir::Type* type) const;
  const std::vector<const ir::Var*>& symbols() const { return symbols_; }
  std::size_t next_name() { return counter_++; }
  const ir::Var* some_symbol() { return symbols_.empty() ? nullptr : symbols_[random.below(symbols_.size())]; }

 private:
  bool meets(const Wanted& w, const Known& v) const;
  bool has_room(const ir::TensorType* t) const;
  Known make(const Dims& shape, ir::DType dtype, Range range);

  Setting& setting_;
  std::vector<const ir::Var*> params_;
  std::vector<const ir::Var*> symbols_;
  std::vector<Known> pool_;
  std::optional<Known> preferred_;
  std::vector<const ir::BindingBlock*> done_;
  std::vector<const ir::Binding*> current_;
  std::unordered_set<const ir::Var*> inner_;  // of the current dataflow block, not visible outside it
  bool dataflow_ = false;
  int depth_ = 0;
  std::size_t counter_ = 0;
};

// The largest and least number that a dim can be, with symbolic dims of 1 to 40.
std::int64_t most_of(const ir::Expr* dim);
std::int64_t least_of(const ir::Expr* dim);
std::int64_t most_elements(const ir::TensorType* t);
bool is_static(const ir::TensorType* t);
Dims dims_of(const ir::TensorType* t);
bool same_dim(const ir::Expr* a, const ir::Expr* b);
bool same_dims(const Dims& a, const Dims& b);

}  // namespace rldb::repro
