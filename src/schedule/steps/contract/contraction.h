// Contractions: C[..] += A * B over one or more reduction loops, as a matrix product of rows (loops that only A moves
// with), columns (loops that only B moves with, last in C) and depth (the reduction loops, in the text's order). Other
// loops stay around. Matrix products in all forms, convolutions (B is the data, read through its windows), groups.
//
// match.cc recognises them from the TensorIR; tiling.h fuses loops into one dimension; pack.h copies panels; write.cc
// puts tiles and panels together. Internal to the room.
#pragma once

#include "schedule/steps/steps.h"

namespace rldb::schedule {

// Steps of the depth that are summed up in a tile before it is added to C.
inline constexpr std::int64_t kMaxDepth = 256;

// A loop, or one of the two that a grouped axis is split into.
struct Axis {
  const ir::Var* var = nullptr;  // occurs in the expressions below
  std::string name;
  const ir::Expr* extent = nullptr;
  ir::ForKind kind = ir::ForKind::Serial;
};

struct Factor {
  const ir::Expr* expr = nullptr;         // as in the product, of the axes' variables
  const ir::BufferLoad* load = nullptr;   // null: it is calculated from several (weights of four bits and their scales)
  const ir::BufferLoad* first = nullptr;  // the load, or the first of those
};

struct Contraction {
  ReductionNest nest;
  Factor a, b;
  bool a_first = true;               // in the text's product
  bool product_first = true;         // in the text's sum
  std::vector<const ir::Expr*> out;  // indices of the output, of the axes' variables
  std::vector<Axis> around, rows, columns, depth;
  ir::DType type;
  ir::DType work;            // of panels and tiles
  bool rounds = false;       // `work` is wider than `type`: each operation is rounded to it
  bool adds_blocks = false;  // the sum of a block of the depth is exact in `work`, and added to C afterwards
  std::int64_t dot = 1;      // steps of the depth that one instruction does: 4 of bytes, which the panels hold
  bool unsigned_b = false;   // of the bytes: 128 is added to those of B
  std::int64_t lanes = 0;    // of a vector
  std::int64_t height = 0;   // rows of a tile
  std::int64_t vectors = 0;  // columns of a tile, in vectors
  std::int64_t width() const { return lanes * vectors; }
};

// Whether it can be an operand: loaded, or calculated from loads lane by lane.
bool is_operand(const ir::Expr* e);
// Whether the operand that is this load is copied into panels once for each element, so that it may be calculated then.
bool is_packed_once(const Contraction& c, const ir::BufferLoad* load);

std::optional<Contraction> match_contraction(const Scene& scene, const ir::ForStmt* loop);

// How a load moves with the last of some axes, which occurs in its last index only (dimensions of one element are not
// counted).
enum class Run : std::uint8_t {
  None,
  Strided,  // by a constant number of elements
  Inner,    // by one element
  Whole,    // by one element, also from the end of one run to the start of the next: the axes are whole dimensions
};
Run runs_with(const ir::BufferLoad* load, const std::vector<Axis>& axes);

}  // namespace rldb::schedule
