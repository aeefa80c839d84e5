// ONNX models as text, for tests:
//
//   opset 17                                  or: opset com.microsoft 1
//   input x: float[2, n]
//   init w: float[3] = 1 2 3
//   y, z = Op(x, -, w) {axis = 1, pads = [0, 1], alpha = 0.5, mode = "linear", value = int64[2] 3 4, body = graph g}
//   /layer/Op: y = Op(x)                      a node with a name
//   output y                                  or: output y: float[2, 3]
//   graph g ... end                           before its use; no opset inside
//   function own.Twice(x) -> y ... end        attributes of its call as `axis = @axis`
#pragma once

#include <string>
#include <string_view>

namespace rldb::onnx::test {

// The bytes of the file. A text that is none ends the test.
std::string model_bytes(std::string_view text);

}  // namespace rldb::onnx::test
