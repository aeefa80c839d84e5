// Helpers for values used by the comparisons. Room-private.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::repro {

// Programs may write to their arguments (in-place calls): each run gets its own copies.
std::vector<runtime::Value> copies(const std::vector<runtime::Value>& values);
// The leaves of a tuple, in order; for a tuple with very many, the first ones.
void flatten(const runtime::Value& v, std::vector<runtime::Value>& out);
// Each tensor in a value; one that occurs more than once, at least once.
void for_each_tensor(const runtime::Value& v, const std::function<void(const runtime::Tensor&)>& f);
bool same_bits(const runtime::Tensor& a, const runtime::Tensor& b);  // and the same type
// It cannot be compared: a function, an object.
bool is_opaque(const runtime::Value& v);
// Why a result proves nothing about another one: no part of it can be compared. Empty: some part can.
inline constexpr std::string_view kNoValue = "it gives no value that could be compared";
std::string nothing_to_compare(const runtime::Value& result);
std::string nothing_to_compare(const std::vector<runtime::Value>& leaves);

}  // namespace rldb::repro
