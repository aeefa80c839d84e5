// The compiled form of a statement: a loop, a block or a while with everything below it, as instructions over numbered
// registers. Room-private.
//
// It does what TirMachine::step does for the same statements, with the same values, the same count of steps and the
// same checks. It has no errors of its own: where a check fails, or a limit is reached, the state is handed over to the
// stepping machine in front of the statement that is to run next (`Place`), and the machine executes that statement
// again and reports the error. Statements that are rare or have effects besides a store (allocations, packed calls,
// declarations) are executed by the machine as well, in the middle of the instructions (`Op::Walk`).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "eval/tir/intrinsic.h"
#include "rldb/ir/stmt.h"

namespace rldb::eval {

// Operands are registers, except where a comment says otherwise. Integers are 64 bits wide; those of a narrower dtype
// are sign- or zero-extended, as in a Scalar.
enum class Op : std::uint8_t {
  // to = a op b. The 32-bit ones wrap to int32.
  AddI,
  SubI,
  MulI,
  AddI32,
  SubI32,
  MulI32,
  MinI,
  MaxI,
  MinU,
  MaxU,
  EqI,
  NeI,
  LtI,
  LeI,
  LtU,
  LeU,
  AndI,
  OrI,
  // b > 0, known from the text.
  FloorDivBy,
  FloorModBy,
  // A zero b is a fault.
  FloorDiv,
  FloorMod,
  // In double, and in single for float32: a sum of two singles in double, rounded, is their sum in single.
  AddF,
  SubF,
  MulF,
  DivF,
  AddF32,
  SubF32,
  MulF32,
  DivF32,
  MinF,
  MaxF,
  EqF,
  NeF,
  LtF,
  LeF,
  MinF32,
  MaxF32,
  EqF32,
  NeF32,
  LtF32,
  LeF32,
  // d = a * b, to = c + d or (Last) d + c, each rounded
  MulAddF32,
  MulAddLastF32,
  // c: a BinaryKind, of `type`; for everything that has no instruction of its own. A zero divisor is a fault.
  Binary,
  // to = op a
  NotI,
  Wrap,
  Round,
  RoundHalf,
  ToF32,
  FromF32,
  IntToF,
  UIntToF,
  // `type` to the dtype number c.
  Convert,
  Reinterpret,
  // to = a ? b : c
  Select,
  Move,
  // c: the number of a Function. b: the first of its operands in `operands`.
  Call,
  // to = variable number a of the environment
  ReadVariable,
  // The position of an element is summed up dimension by dimension, those of outer loops first. c: the number of the
  // buffer times 16, plus the dimension. A position that is out of bounds is negative.
  Origin,  // to = where buffer c begins
  Along,   // to = a, moved by index b in dimension c
  // to = the element of `type` at a, moved by index b in dimension c. An access out of bounds is a fault.
  LoadF32,
  LoadF64,
  LoadI64,
  LoadI32,
  LoadI8,
  LoadU8,
  LoadBool,
  LoadHalf,
  LoadAny,
  // That element = register `to`.
  StoreF32,
  StoreF64,
  StoreI64,
  StoreI32,
  StoreI8,
  StoreHalf,
  StoreAny,
  // Only the checks of an access.
  Check,
  // to: the number of a label while code is made, afterwards that of an instruction.
  Label,
  Jump,
  JumpIfZero,
  // a steps begin here.
  Count,
  // Steps that do not happen after all: those of `undo` of the place.
  Uncount,
  // A loop begins: c is the number of a Loop. Without iterations it continues at `to`.
  Enter,
  // The next iteration, of a loop with step 1 or any other: at `to`, with d steps. a: the variable, b: the end, c: the
  // step.
  Next,
  NextBy,
  // The machine executes the statement of the place.
  Walk,
  // The machine opens the buffers of block number a. b: the frame whose variables are in scope.
  OpenBuffers,
  // Buffer number a is looked up in the environment.
  FindBuffer,
  // The machine goes on from the place.
  HandOver,
  End,
};

struct Instruction {
  Op op;
  runtime::DType type{};
  std::uint32_t to = 0, a = 0, b = 0, c = 0, d = 0;
};

// How the values of a dtype are in a register.
enum class Kind : std::uint8_t { Integer, Single, Double };
inline Kind kind_of(runtime::DType t) {
  if (!t.is_float()) return Kind::Integer;
  return t.code == runtime::TypeCode::Float && t.bits == 32 ? Kind::Single : Kind::Double;
}
inline bool is_half(runtime::DType t) { return t.is_bfloat16() || t == runtime::DType::Float(16); }
union Register {
  std::int64_t i;
  float s;
  double f;
};

inline constexpr std::size_t kMaxRank = 15;  // of buffers that are accessed
inline constexpr std::uint32_t kNone = ~std::uint32_t(0);

// Part of the machine's stack while a statement below it runs, and the variables that are in scope because of it.
struct Frame {
  enum class Kind : std::uint8_t { Variables, Fixed, Loop };  // Variables: nothing on the stack
  struct Variable {
    const ir::Var* var;
    std::vector<std::uint32_t> lanes;  // registers
  };
  std::uint32_t parent = kNone;
  Kind kind = Kind::Variables;
  const ir::Stmt* stmt = nullptr;
  std::int64_t at = 0;                                // Fixed
  bool started = false;                               // Fixed
  std::uint32_t var = 0, min = 0, end = 0, step = 0;  // Loop: registers
  std::vector<Variable> variables;
};

// A moment between two steps.
struct Place {
  std::uint32_t frame = kNone;
  const ir::Stmt* stmt = nullptr;  // runs next; null: the innermost frame continues
  std::uint32_t loop = kNone;      // the frame of `stmt`, a loop between two iterations
  std::uint32_t undo = 0;          // steps that were counted but come after this moment
};

struct Loop {
  std::uint32_t var = 0, min = 0, extent = 0, end = 0, step = 0;
  std::vector<std::uint32_t> inner_extents;  // of ir::extents_within
  bool has_step = false;
  bool is_root = false;  // whether the nest begins here depends on the loops around the program
  runtime::DType type;   // of the variable
};

struct Function {
  IntrinsicFn body;
  runtime::DType argument, result;
  std::vector<Kind> operands;
};

struct Program {
  struct Free {
    const ir::Var* var;
    std::uint32_t to;
  };
  std::vector<Instruction> code;
  std::vector<std::uint32_t> place_of;  // by instruction
  std::vector<Place> places;
  std::vector<Frame> frames;
  std::vector<std::uint32_t> operands;
  std::vector<runtime::DType> types;
  std::vector<Function> functions;
  std::vector<Loop> loops;
  std::vector<const ir::SBlock*> blocks;
  std::vector<const ir::Buffer*> buffers;
  std::vector<const ir::Var*> variables;  // of ReadVariable
  std::vector<Free> free;                 // variables from outside: read at the beginning
  std::vector<Register> registers;        // with the constants
  std::vector<std::string_view> threads;  // the tags of its loops over threads
};

// Null: it contains something that only the stepping machine can do.
std::unique_ptr<Program> compile(const ir::Stmt* root);

}  // namespace rldb::eval
