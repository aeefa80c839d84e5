// The relations by name: the column of op.def. Each says what the type of a call is.
#pragma once

#include "relay/ops/relation.h"

namespace rldb::relay::relations {

// simple.cc
Outcome Any(const Operands& o);
Outcome Identity(const Operands& o);
Outcome Test(const Operands& o);
Outcome Broadcast(const Operands& o);
Outcome Compare(const Operands& o);
Outcome Where(const Operands& o);
Outcome Cast(const Operands& o);
Outcome CastLike(const Operands& o);
Outcome FullLike(const Operands& o);
Outcome Like(const Operands& o);
Outcome Like0(const Operands& o);
Outcome Unit(const Operands& o);
Outcome Full(const Operands& o);
Outcome Init(const Operands& o);
Outcome BroadcastTo(const Operands& o);
Outcome Arange(const Operands& o);

// nn.cc
Outcome BiasAdd(const Operands& o);
Outcome PRelu(const Operands& o);
Outcome Softmax(const Operands& o);
Outcome Dense(const Operands& o);
Outcome Matmul(const Operands& o);
Outcome BatchMatmul(const Operands& o);
Outcome BatchNorm(const Operands& o);
Outcome Norm(const Operands& o);
Outcome Dropout(const Operands& o);
Outcome Pad(const Operands& o);
Outcome MirrorPad(const Operands& o);
Outcome BatchFlatten(const Operands& o);
Outcome CrossEntropy(const Operands& o);
Outcome NllLoss(const Operands& o);

// window.cc
Outcome Conv(const Operands& o);
Outcome ConvTranspose(const Operands& o);
Outcome Pool(const Operands& o);
Outcome GlobalPool(const Operands& o);
Outcome AdaptivePool(const Operands& o);
Outcome SubPixel(const Operands& o);
Outcome UpSampling(const Operands& o);
Outcome Dilate(const Operands& o);
Outcome Resize2D(const Operands& o);
Outcome LayoutTransform(const Operands& o);

// shape.cc
Outcome Reshape(const Operands& o);
Outcome ReshapeLike(const Operands& o);
Outcome Transpose(const Operands& o);
Outcome ExpandDims(const Operands& o);
Outcome Squeeze(const Operands& o);
Outcome Concatenate(const Operands& o);
Outcome Stack(const Operands& o);
Outcome Split(const Operands& o);
Outcome Tile(const Operands& o);
Outcome Repeat(const Operands& o);
Outcome ReverseSequence(const Operands& o);
Outcome Meshgrid(const Operands& o);

// index.cc
Outcome StridedSlice(const Operands& o);
Outcome SliceLike(const Operands& o);
Outcome Take(const Operands& o);
Outcome Gather(const Operands& o);
Outcome GatherNd(const Operands& o);
Outcome Scatter(const Operands& o);
Outcome OneHot(const Operands& o);
Outcome SequenceMask(const Operands& o);
Outcome Unique(const Operands& o);
Outcome Argwhere(const Operands& o);

// reduce.cc
Outcome Reduce(const Operands& o);
Outcome ArgReduce(const Operands& o);
Outcome Variance(const Operands& o);
Outcome ScanOp(const Operands& o);
Outcome Sort(const Operands& o);
Outcome Argsort(const Operands& o);
Outcome TopK(const Operands& o);

// quantised.cc
Outcome QnnQuantize(const Operands& o);
Outcome QnnDequantize(const Operands& o);
Outcome QnnConv2d(const Operands& o);
Outcome QnnDense(const Operands& o);
Outcome QnnConcatenate(const Operands& o);

// free.cc
Outcome Einsum(const Operands& o);
Outcome AdvIndex(const Operands& o);
Outcome Searchsorted(const Operands& o);
Outcome DynOneHot(const Operands& o);
Outcome DynSqueeze(const Operands& o);
Outcome DynExpandDims(const Operands& o);

// runtime.cc
Outcome ShapeOf(const Operands& o);
Outcome NdarraySize(const Operands& o);
Outcome DynReshape(const Operands& o);
Outcome DynBroadcastTo(const Operands& o);
Outcome DynFull(const Operands& o);
Outcome DynInit(const Operands& o);
Outcome DynTile(const Operands& o);
Outcome DynSameRank(const Operands& o);
Outcome AllocStorage(const Operands& o);
Outcome AllocTensor(const Operands& o);
Outcome VmShapeOf(const Operands& o);
Outcome VmReshapeTensor(const Operands& o);
Outcome CallLowered(const Operands& o);

}  // namespace rldb::relay::relations
