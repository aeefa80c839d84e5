// How the elements of a computation's results relate to those of its operands: TVM's OpPatternKind, with its numbers
// (the value of a PrimFunc's attribute `op_pattern`, a column of Relay's operator table). Larger is harder to fuse.
// Users: the passes of Relax and of Relay.
#pragma once

namespace rldb::fusion {

enum OpPattern : int {
  kElemWise = 0,
  kBroadcast = 1,
  kInjective = 2,
  kReduce = 3,
  kOutEWiseFusable = 4,  // elementwise operators may follow it: matmul, convolution, pooling
  kTuple = 7,
  kOpaque = 8,
};

}  // namespace rldb::fusion
