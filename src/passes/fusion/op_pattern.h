// How the elements of a PrimFunc's outputs relate to those of its inputs: TVM's OpPatternKind, the value of the
// attribute `op_pattern`. AnnotateTIROpPattern says it, FuseOps decides by it. Larger is harder to fuse.
#pragma once

namespace rldb::passes {

enum OpPattern : int {
  kElemWise = 0,
  kBroadcast = 1,
  kInjective = 2,
  kReduce = 3,
  kOutEWiseFusable = 4,  // elementwise operators may follow it: matmul, convolution, pooling
  kTuple = 7,
  kOpaque = 8,
};

}  // namespace rldb::passes
