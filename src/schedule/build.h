// Building blocks of the steps: loops, index arithmetic in a loop's own dtype, blocks around a scheduled nest, bodies
// with other indices and buffers. Internal to the room.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/ir/walk.h"
#include "rldb/schedule/schedule.h"

namespace rldb::schedule {

// One step of a nest: what replaces the nest.
struct Stage {
  StepId id;
  const ir::Stmt* stmt;
};

// A copy of an expression with axes and loads replaced.
class Retarget : public ir::Rewriter {
 public:
  using LoadFn = std::function<const ir::Expr*(const ir::BufferLoad*)>;
  Retarget(ir::Context& ctx, const ir::VarMap& axes, LoadFn load = nullptr);

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override;

 private:
  LoadFn load_;  // receives a load whose indices are replaced; null: keep it
};

// A copy of an expression with axes replaced, and those loads for which `find`, which is given the original, has
// another expression.
class LoadsReplaced : public ir::Rewriter {
 public:
  using Find = std::function<const ir::Expr*(const ir::BufferLoad*)>;
  LoadsReplaced(ir::Context& ctx, const ir::VarMap& axes, Find find);

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override;

 private:
  Find find_;
};

class Build {
 public:
  explicit Build(ir::Context& ctx) : ctx(ctx) {}

  using E = const ir::Expr*;
  using S = const ir::Stmt*;
  using Body = std::function<S(E)>;

  // ---- index arithmetic: literals take the other side's dtype ----
  E lit(E like, std::int64_t v) { return ctx.int_imm(like->dtype(), v); }
  E add(E a, E b);
  E scaled(E a, std::int64_t by);
  E plus(E a, std::int64_t n) { return add(a, lit(a, n)); }
  E blocks(E total, std::int64_t size);         // ceil(total / size)
  E whole(E total, std::int64_t size);          // floor(total / size)
  E rest(E total, std::int64_t size);           // total mod size
  E part(E total, std::int64_t size, E block);  // how many of `total` are in block number `block`
  E both(E a, E b);                             // and; null is true

  // ---- statements ----
  // A loop that runs once is reduced to its body. The variable has the dtype of the extent.
  S loop(std::string name, E extent, const Body& body, ir::ForKind kind = ir::ForKind::Serial,
         std::span<const ir::NamedAttr> annotations = {});
  S loop(std::string name, E like, std::int64_t extent, const Body& body, ir::ForKind kind = ir::ForKind::Serial) {
    return loop(std::move(name), lit(like, extent), body, kind);
  }
  E load(const ir::Buffer* b, std::initializer_list<E> at) { return ctx.load(b, {at.begin(), at.size()}); }
  S store(const ir::Buffer* b, E value, std::initializer_list<E> at) {
    return ctx.store(b, value, {at.begin(), at.size()});
  }
  S seq(std::vector<S> stmts);  // null statements are left out
  // A block without axes around a scheduled nest. `from` is the original nest, around a block that gives the name.
  S block(const ir::ForStmt* from, std::vector<const ir::Buffer*> allocs, S body, bool contract);
  // The same around a nest without a block. Buffers that it writes are not read from outside.
  S block(const ir::ForStmt* from, std::string_view name, std::vector<const ir::Buffer*> allocs, S body);

  ir::Context& ctx;
};

ir::BufferRegion whole_buffer(ir::Context& ctx, const ir::Buffer* b);
// A literal that is at least one.
bool runs(const ir::Expr* extent);

}  // namespace rldb::schedule
