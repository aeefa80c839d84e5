// Intrinsics of TensorIR: the rows of intrinsic/intrinsic.def as data. A call to one is a Call of the Op `tir.<name>`,
// which knows its row; an Op `tir.<name>` without a row is kept as written. Users: every room that reads
// TensorIR.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rldb::ir {

struct Expr;
struct Op;

enum class Intrinsic : std::uint16_t;  // the ids of a family are constants of its header: intrin::Sqrt of
                                       // intrinsic/math.h

enum class IntrinsicDType : std::uint8_t { First, Match, Bool, Int32, Int64, Handle, Void, DTypeFirst, DTypeLast };
enum class IntrinsicPurity : std::uint8_t { Pure, Effect };

struct IntrinsicInfo {
  Intrinsic id;
  std::string_view name;  // without `tir.`
  std::string_view op;    // with it
  int arity;              // -1: any number of arguments
  IntrinsicDType dtype;
  IntrinsicPurity purity;
  std::string_view printed;  // as written in texts after `T.`
  std::size_t index;         // in all_intrinsics(), and so in every table made from intrinsic.def
};

const IntrinsicInfo& info(Intrinsic id);
std::span<const IntrinsicInfo> all_intrinsics();
// By its name in texts: without `tir.`, other spellings included. Null when there is none.
const IntrinsicInfo* find_intrinsic(std::string_view name);
// Every name that `find_intrinsic` finds.
std::span<const std::string_view> intrinsic_names();

inline constexpr std::string_view kTirPrefix = "tir.";
bool is_tir_op(const Expr* callee);  // tir.<anything>
// The row of the intrinsic that is called; null when `e` is another expression, or the name has no row.
const IntrinsicInfo* called_intrinsic(const Expr* e);
// Whether `e` is a call to the intrinsic, with as many arguments as its row requires.
bool is_call_of(const Expr* e, Intrinsic id);

}  // namespace rldb::ir
