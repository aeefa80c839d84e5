// Tables of type inference: tests/ops/inference/*.txt, parsed, run through the front end and compared.
//
//   # a comment
//   R.add(x, y)
//     f32[2, 3], f32[3]  -> f32[2, 3]
//     f32[2], f32[3]     !! y: `relax.add`: ...
//
// A line that starts in the first column is an expression; the indented lines below it are cases: the types of its free
// names in order of appearance, and the result: the type, or after `!!` the source text that the error points at and
// the message.
//
// Types: f32[2, n] f32[ndim=2] f32[*] f32[=s] (shape held by the variable s, an input before it) ?[2] (no dtype)
// f32[2]@cuda:0:global, S[2, n] S[ndim=2] S[*], i64 bool (scalars), (T, U), any, D<f32[4, 4] mesh[0] S[0]>, storage as
// any.
#pragma once

#include <string>
#include <vector>

#include "rldb/ir/type.h"

namespace rldb::ops::testing {

struct Case {
  int line = 0;  // in the file, from 1
  std::string expression;
  std::vector<std::string> inputs;
  std::string expected;
};

struct Line {
  std::string text;  // as written if it is not a case
  bool is_case = false;
  Case c;
};
std::vector<Line> read_table(const std::string& text);
std::string write_case(const Case& c);

struct Outcome {
  std::string text;              // `-> type` or `!! place: message`
  std::vector<std::string> ops;  // the operators of the calls that were made or attempted
};
Outcome run_case(const Case& c);

// The effect of legalisation on a case that type inference accepts.
struct Lowering {
  std::string trouble;  // a failed internal check, or a module that does not verify; empty if none
  int lowered = 0;      // calls that were replaced
};
Lowering legalise_case(const Case& c);

// The notation of the tables for a type.
std::string short_type(const ir::Type* t);

}  // namespace rldb::ops::testing
