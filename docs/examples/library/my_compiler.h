#pragma once

#include <string_view>

inline constexpr std::string_view kScaleShift = "relax.mine.scale_shift";

void register_scale_shift();       // my_operator.cc
void register_fold_scale_shift();  // my_pass.cc
