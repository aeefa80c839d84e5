// Small things that the comparisons do with values. Room-private.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::repro {

// Programs may write to their arguments (in-place calls): each run gets its own copies.
std::vector<runtime::Value> copies(const std::vector<runtime::Value>& values);
// The leaves of a tuple, in order; of a tuple with very many the first ones.
void flatten(const runtime::Value& v, std::vector<runtime::Value>& out);
// Each tensor in a value; one that is held more than once, at least once.
void for_each_tensor(const runtime::Value& v, const std::function<void(const runtime::Tensor&)>& f);
// It has no value to compare: a function, an object.
bool is_opaque(const runtime::Value& v);
// Why a result says nothing about another one: it has no part that could be compared. Empty: it has one.
std::string nothing_to_compare(const runtime::Value& result);
std::string nothing_to_compare(const std::vector<runtime::Value>& leaves);

}  // namespace rldb::repro
