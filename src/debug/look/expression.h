// The language of conditions and `print`: scalars, elements and facts of values by name.
//
//   n > 4 and x[0, 1] > 2.0      i == 3      t[1].shape[0] * 2      x.has_nan or x.max > 1e4
//
// Numbers, True, False, "text", names; + - * / // % (Python's meanings); comparisons, which chain; and, or, not; x[i],
// x[i, j] on tensors (fewer indices give a part), tuples and shapes; x.shape .ndim .dtype .size .min .max .sum .mean
// .has_nan .has_inf. Arithmetic is on scalars and on tensors of one element. Parsed anew at each evaluation: it costs
// less than the stop. What is not of this language (R.add(x, x)) is an error here; Debugger::evaluate hands it to
// the front end. Users: breakpoint conditions, Debugger::evaluate.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "rldb/runtime/value.h"

namespace rldb::debug {

// Gives the value of a name; an Error says why there is none.
using NameLookup = std::function<runtime::Result<runtime::Value>(std::string_view)>;

runtime::Result<runtime::Value> evaluate_expression(std::string_view text, const NameLookup& lookup);
// The truth of a value: a scalar or a tensor of one element.
runtime::Result<bool> truth(const runtime::Value& value);

}  // namespace rldb::debug
