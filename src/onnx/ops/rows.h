// Rows that the steps of a loop stack: memory that doubles when it is full, so that time grows with the number of rows.
// Inside the room only.
#pragma once

#include "onnx/node_context.h"

namespace rldb::onnx::bodies {

// The rows with a place for one more at `step`, a tensor of rank 0: the same memory, or a longer copy.
Made with_place(NodeContext& c, const Expr* rows, const Expr* step);
// `row` in the place `step`. The memory of the rows is written, and they are not to be read any more.
Made with_row(NodeContext& c, const Expr* rows, const Expr* row, const Expr* step);
// As many of them, a tensor of rank 0.
Made first_rows(NodeContext& c, const Expr* rows, const Expr* count);

}  // namespace rldb::onnx::bodies
