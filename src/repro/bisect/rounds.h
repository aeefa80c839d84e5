// The rounds in which the stages of a folder run, and how long a search may take. Room-private.
#pragma once

#include <chrono>
#include <cstdint>

#include "repro/bisect/follow.h"

namespace rldb::repro {

// One round of a function through the stages.
struct TraceDims {
  std::int64_t value;
  bool apart = false;                                 // several symbolic dims have different values
  Follower::Inputs inputs = Follower::Inputs::Usual;  // with some, a single wrong element is lost on the way
  Numbers numbers = Numbers::Generated;               // of Inputs::Kind; of Large: OneSign, negative
  bool falling = false;                               // the last dim is the smallest
};
inline constexpr TraceDims kDims[] = {{7, true},
                                      {7},
                                      {7, true, Follower::Inputs::Usual, Numbers::Generated, true},
                                      {7, false, Follower::Inputs::Other},
                                      {7, false, Follower::Inputs::Large},
                                      {7, false, Follower::Inputs::Large, Numbers::OneSign},
                                      {1},
                                      {16},
                                      {2}};
inline constexpr TraceDims kStaticDims[] = {{7},
                                            {7, false, Follower::Inputs::Other},
                                            {7, false, Follower::Inputs::Large},
                                            {7, false, Follower::Inputs::Large, Numbers::OneSign}};
// After these, while time remains; then around the numbers by which the stages divide.
inline constexpr std::int64_t kMoreDims[] = {17, 33, 64};
// At last the numbers on which single computations are run too, as far as the whole program runs on them.
inline constexpr TraceDims kKinds[] = {{7, false, Follower::Inputs::Kind, Numbers::Small},
                                       {7, false, Follower::Inputs::Kind, Numbers::Signed},
                                       {7, false, Follower::Inputs::Kind, Numbers::OneSign},
                                       {7, false, Follower::Inputs::Kind, Numbers::Ties},
                                       {7, false, Follower::Inputs::Kind, Numbers::Beside}};
// Larger ones only where the time is likely to be enough.
inline constexpr std::int64_t kAlwaysTried = 16;
inline constexpr std::uint64_t kOtherInputs = 0x5eed;
// Tried only while no stage runs with the others: sizes that programs often require.
inline constexpr TraceDims kOtherDims[] = {{4}, {8}, {3}, {32}, {64}, {10}};
// After this long no other dims are tried, and no more stages one by one.
inline constexpr auto kEnough = std::chrono::seconds(4);
// For computations that changed and are run by themselves, after that.
inline constexpr auto kForSingles = std::chrono::seconds(6);
// For kernels by themselves, in seconds of this process.
inline constexpr double kForKernels = 6;
// After this long no other function is started.
inline constexpr auto kTooMuch = std::chrono::seconds(8);
// Limit for one evaluated run (kernels that cannot be compiled): some tenths of a second.
inline constexpr std::uint64_t kStatements = 5'000'000;
// In longer runs of stages that are compared with one, the last is checked first, and the others while time remains.
inline constexpr std::size_t kLongRun = 24;

}  // namespace rldb::repro
