// From statements and expressions to instructions. Room-private.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "eval/compiled/assembler.h"

namespace rldb::eval {

inline constexpr int kMaxLanes = 64;

class Compiler {
 public:
  std::unique_ptr<Program> compile(const ir::Stmt* root);

 private:
  using BinaryKind = ir::BinaryKind;
  using DType = runtime::DType;
  using Value = std::optional<Operand>;  // nullopt: only the machine can evaluate it

  // ---- expressions (compile_expr.cc) ----
  Value expr(const ir::Expr* e, int lane = 0);
  Value make(const ir::Expr* e, int lane);
  Value integer(const ir::Expr* e, int lane = 0);
  Operand constant(const ir::FloatImm* e);
  Value variable(const ir::Var* v, int lane);
  Value let(const ir::LetExpr* e, int lane);
  Value binary(const ir::BinaryExpr* e, int lane);
  Value logic(const ir::BinaryExpr* e, int lane);
  Value int_binary(BinaryKind kind, Operand a, Operand b, DType t, const ir::Expr* divisor);
  Value float_binary(BinaryKind kind, Operand a, Operand b, DType t);
  Value divide(BinaryKind kind, Operand a, Operand b, DType t, const ir::Expr* divisor);
  Value convert(Operand v, DType from, DType to);
  Operand rounded(Operand v, DType t);  // from double
  Operand widened(Operand v, DType t);  // to double
  Operand wrapped(Operand v, DType t);
  Operand truth(Operand v);
  // Only one side is evaluated.
  Value choose(Operand condition, const ir::Expr* a, int lane_a, const ir::Expr* b, int lane_b);
  Value ramp(const ir::Ramp* r, int lane);
  Value shuffle(const ir::Shuffle* s, int lane);
  Value call(const ir::Call* c, int lane);
  Value function(const ir::Call* c, int lane);
  Value multiply_add(const ir::Call* c, int lane);
  Value load(const ir::BufferLoad* l, int lane);
  std::optional<Access> access(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, int lane);

  // ---- statements (compile_stmt.cc); false: the program cannot be made ----
  bool statement(const ir::Stmt* s);
  bool sequence(const ir::SeqStmt* s);
  bool note_threads(const ir::Stmt* s);
  bool loop(const ir::ForStmt* s);
  bool is_inside_loop() const;
  bool launch(const ir::AttrStmt* s);
  bool counted(const ir::Stmt* s, Loop made, const ir::Var* var, const ir::Stmt* body);
  bool repeat(const ir::WhileStmt* s);
  bool branch(const ir::IfThenElse* s);
  bool guarded(const ir::Stmt* s);  // in a segment of its own
  bool block(const ir::Stmt* s, const ir::SBlock* b, const ir::SBlockRealize* realize);
  bool bind_axes(const ir::SBlock* b, const ir::SBlockRealize* realize, Value& first, std::uint32_t axes);
  void open_buffers(const ir::SBlock* b, std::uint32_t axes);
  bool block_body(const ir::Stmt* s, const ir::SBlock* b, Value first);
  bool attribute(const ir::AttrStmt* s);
  bool evaluate(const ir::Evaluate* s);
  void leave(const ir::Stmt* s, bool for_good);
  void store(const ir::BufferStore* s);
  bool store_lanes(const ir::BufferStore* s);
  void write(const ir::BufferStore* s, Operand value, const Access& at);
  void bind(const ir::BindStmt* s);
  void check(const ir::AssertStmt* s);
  void walk(const ir::Stmt* s, const ir::Buffer* declared = nullptr);
  void read(const ir::Var* v);

  void count(const ir::Stmt* s) { code_.count({frame_, s}); }
  std::uint32_t add_frame(Frame f);
  void define(const ir::Var* v, std::vector<Operand> lanes, std::uint32_t frame);

  // Where `break` and `continue` of the innermost loop go, and how many segments are open there.
  struct Exits {
    std::uint32_t stop, next;
    std::size_t segments;
  };

  Assembler code_;
  std::unordered_map<const ir::Var*, std::vector<Operand>> scope_;  // by lane
  std::unordered_set<const ir::Var*> unknown_;                      // known to the machine only
  std::uint32_t frame_ = kNone;
  std::vector<Exits> exits_;
  std::vector<const ir::Stmt*> enclosing_;
  int depth_ = 0;
};

}  // namespace rldb::eval
