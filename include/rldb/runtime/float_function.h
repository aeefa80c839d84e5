// The elementary functions of float32 as the evaluator computes them, one number at a time: float_formula.h on the
// machine's own arithmetic. The JIT's code gives the same bits. Users: eval, codegen_llvm (the fallback of `rare`).
#pragma once

namespace rldb::runtime {

float exp_f32(float x);
float exp2_f32(float x);
float log_f32(float x);
float tanh_f32(float x);
float erf_f32(float x);
float sigmoid_f32(float x);
float sin_f32(float x);
float cos_f32(float x);
float tan_f32(float x);
float atan_f32(float x);
float asin_f32(float x);
float acos_f32(float x);
float asinh_f32(float x);
float acosh_f32(float x);
float sinh_f32(float x);
float cosh_f32(float x);
float atanh_f32(float x);
float log2_f32(float x);
float log10_f32(float x);
float log1p_f32(float x);
float atan2_f32(float y, float x);
float pow_f32(float x, float y);

}  // namespace rldb::runtime
