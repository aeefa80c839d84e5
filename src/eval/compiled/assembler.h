// Writes the instructions of a Program: registers, loop levels, labels, counts of steps. Room-private.
//
// Instructions that cannot fail and read registers only are moved out of the loops in which their operands do not
// change, and are made once for equal operands.
#pragma once

#include <map>
#include <tuple>

#include "eval/compiled/program.h"

namespace rldb::eval {

// A value in a register. At level 2n it can be computed at the beginning of an iteration of the n-th loop (0: of the
// program), at level 2n + 1 it is computed somewhere in the body of that loop.
struct Operand {
  std::uint32_t reg = 0;
  int level = 0;
};

// An element: a position, and one more index with its dimension and buffer.
struct Access {
  Operand position, index;
  std::uint32_t along = 0;
};

class Assembler {
 public:
  using DType = runtime::DType;
  struct Line {
    Instruction instruction;
    std::uint32_t place = kNone;
  };
  using Lines = std::vector<Line>;

  Assembler() : levels_(1) {}
  Program& program() { return program_; }

  // ---- values ----
  Operand constant(std::int64_t value);
  Operand constant(double value);
  Operand constant(float value);
  Operand variable();  // of the current level: a loop's
  std::uint32_t new_register();
  // Without a fault.
  Operand pure(Op op, DType type, Operand a, Operand b = {}, std::uint32_t c = 0);
  Operand select(Operand condition, Operand a, Operand b);
  Operand call(Function f, const std::vector<Operand>& operands);
  // Here, and each time: it may fault, or reads memory.
  Operand here(Op op, DType type, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0);
  Operand here(Op op, DType type, const Access& of);
  Operand free(const ir::Var* v);
  // Rounded products and sums of float32; the sum after a product is one instruction.
  Operand add_single(Operand a, Operand b);

  // ---- buffers ----
  std::uint32_t buffer(const ir::Buffer* b);
  // From now on, in this loop's body, it is another one.
  void find(const ir::Buffer* b);
  Access access(const ir::Buffer* b, std::vector<Operand> indices);

  // ---- lines ----
  void emit(Instruction i) { emit(i, place_); }
  void emit(Instruction i, std::uint32_t place) { lines().push_back({i, place}); }
  // The lines of `write` belong to a place.
  template <class F>
  void at(std::uint32_t place, F write) {
    const std::uint32_t before = std::exchange(place_, place);
    write();
    place_ = before;
  }
  // The lines that `write` emits at this level, apart.
  template <class F>
  Lines apart(F write) {
    Lines before = std::exchange(lines(), {});
    write();
    return std::exchange(lines(), std::move(before));
  }
  std::uint32_t new_label() { return labels_++; }
  void place_label(std::uint32_t label) { emit({Op::Label, {}, label}); }
  Lines& lines() { return levels_.back().lines; }
  std::uint32_t operands(const std::vector<Operand>& of);
  std::uint32_t type(DType t);

  // ---- levels ----
  void open_level() { levels_.emplace_back(); }
  // The lines that go to the beginning of an iteration, followed by the rest.
  Lines close_level();
  void append(Lines lines);

  // ---- steps ----
  // A run of statements that are executed together or not at all.
  void open_segment() { open_.push_back({}); }
  void close_segment() { open_.pop_back(); }
  std::size_t open_segments() const { return open_.size(); }
  // A statement is executed: the place in front of it, to which everything that is emitted from now on belongs.
  void count(Place place);
  std::uint32_t segment() const { return open_.back().id; }  // the innermost, once it has counted something
  // A place that belongs to the current moment; `from`: segments further out go on.
  std::uint32_t add_place(Place place, std::size_t from = 0);
  std::uint32_t current_place() const { return place_; }

  std::unique_ptr<Program> finish();

 private:
  using Key = std::tuple<Op, runtime::TypeCode, int, std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Level {
    Lines prologue, lines;
    std::vector<Key> known;
  };
  struct Segment {
    std::uint32_t id = kNone;
    std::uint32_t done = 0;
  };
  int depth() const { return int(levels_.size()) - 1; }
  Operand put(Instruction i, int level);

  Program program_;
  std::vector<Level> levels_;
  std::map<Key, Operand> known_;
  std::map<std::int64_t, Operand> constants_;  // by bits
  std::map<const ir::Var*, Operand> free_;
  std::map<const ir::Buffer*, std::uint32_t> buffers_;
  std::map<std::uint32_t, int> found_;  // by buffer: the level at which it was looked up, if inside the program
  std::uint32_t labels_ = 0;
  std::vector<Segment> open_;
  std::vector<std::uint32_t> segments_;  // steps of each
  // By place: the segments that are open there and how many of their steps are done.
  std::vector<std::vector<Segment>> within_;
  std::uint32_t place_ = kNone;
};

}  // namespace rldb::eval
