// Two programs on the same inputs, side by side at binding grain: which tensor is the first that differs, whether its
// inputs agreed, and whether the difference reaches the result.
//
// Tensors of the two runs are matched by contents, by provenance, by name, and by what computed them; names and
// kernels may change between versions, and a tensor of one side need not exist on the other (fused, folded, inlined).
// The search starts at the part of the result that differs and follows the reads backwards, so that a temporary that
// only one side has is not mistaken for a difference. Users: validate, bisect, the commands.
#pragma once

#include "rldb/repro/tensor_difference.h"
#include "rldb/repro/trace.h"
#include "rldb/repro/tried.h"
#include "rldb/session/session.h"

namespace rldb::repro {

// One program with its engine.
struct Program {
  const ir::Module* module = nullptr;
  std::shared_ptr<const session::Program> other;  // a program of another kind, in place of a module
  std::string function;
  std::vector<runtime::Value> args;
  session::Engine kernels = session::Engine::Jit;  // what runs its kernels: Jit, else the evaluator
  std::string label;                               // "before FuseOps"
  std::size_t outputs = 0;                         // this many of the last arguments are outputs: they are the result
};

// An input of the differing tensor.
struct ComparedInput {
  std::string name;
  std::size_t operand = 0;        // its place among the tensors that the call reads, from 1
  bool agrees = false;            // the other side has the same value, in the same place if the two calls read as many
  std::optional<double> rounded;  // it agrees, but only within the tolerance: the largest difference; 0: signs of zeros
  std::size_t other_event = kNoEvent;  // the tensor of the first side with which it agrees
  std::string instead_of;    // the tensor that the first side reads in that place; this one is right, but another
  bool shared = false;       // the call that reads it writes to its memory
  bool overwritten = false;  // it was right when computed, and was overwritten before it was read
  std::string writer;        // the tensor that was written there, and by what
  std::string writer_callee;
  std::string storage;  // of the two; empty: their own memory
};

struct FirstDifference {
  std::string function;
  std::string name;        // of the tensor on the second side
  std::string other_name;  // on the first; empty: nothing there corresponds to it
  std::string callee;      // what computed it
  std::string text;        // its binding
  std::string other_text;  // that of the first side
  // Of kernels that differ where the two bindings read alike: the first lines that do. Empty: there are none.
  std::string kernel_line, other_kernel_line;
  const ir::Binding* binding = nullptr;
  std::vector<ComparedInput> inputs;
  std::string beside;     // another result of its call that has the same memory, which on the first side it has not
  std::string storage;    // of the two; empty: their own memory
  std::string handed_on;  // the values are right, but others than on the first side are passed, taken or returned: how
  std::vector<std::string> through;  // tensors in between that the first side does not have
  std::optional<TensorDifference> difference;
  std::size_t event = kNoEvent, other_event = kNoEvent;  // in the traces of the second and the first side
  // The second side's computation, run on the first side's inputs if its own are equal only within the tolerance.
  enum class Alone : std::uint8_t { NotTried, Differs, Agrees } alone = Alone::NotTried;
  bool inputs_agree() const;    // each is equal to the first side's in its place, if only within the tolerance
  bool inputs_rounded() const;  // some only within the tolerance
  bool reads_others() const;    // every one is right, but some are other tensors than on the first side
  bool keeps_a_name() const;    // such another tensor has the name that the first side's has: it got it elsewhere
  bool starts_here() const { return beside.empty() && (inputs_agree() || reads_others()); }
  // It is a difference by narrower tolerances than the usual ones: by what another order of operations, or a
  // multiplication and an addition in one step, round.
  bool rounding = false;
  // A computation can amplify differences of its inputs that are within the tolerance.
  bool fault_is_here() const {
    return starts_here() && !keeps_a_name() && !rounding && (!inputs_rounded() || alone == Alone::Differs);
  }
};

// Both results against a run of the first program in float64: is the difference more than another order of summing?
struct Shadow {
  enum class Verdict { Rounding, FirstIsOff, SecondIsOff, CannotTell } verdict = Verdict::CannotTell;
  std::string why;                  // why it is not known
  double error_a = 0, error_b = 0;  // the largest
};
std::string to_string(const Shadow& s);

// The sides leave one of the caller's tensors with other contents.
struct WrittenApart {
  std::string text;
  bool both_write = false;
};

struct Comparison {
  enum class Verdict { Equal, Differs, CannotTell } verdict = Verdict::CannotTell;
  std::string why;                         // why it is not known
  std::optional<TensorDifference> result;  // of the results
  std::optional<WrittenApart> arguments;
  std::optional<FirstDifference> first;  // may be there although the results agree
  std::optional<Shadow> shadow;          // when requested, and the results differ
  bool as_meant = false;  // equal only as far as the passes, which change values by their nature, let them be
  std::vector<std::string> kernels;  // programs without a Relax function: those that agree, each run by itself
  bool results_only = false;         // a side ran on the Relay VM, which does not report variables
  NanOnBoth nan;                     // of the results
  std::string overflow;              // the second side has a lower precision, and its numbers leave the range of that
  std::string unchecked;             // one side leaves a tensor's bounds: how its numbers differ all the same
  TriedInputs tried;
  std::vector<std::string> notes;  // of the search for inputs: what does not make the verdict, or qualifies it
  std::size_t tensors_a = 0, tensors_b = 0, matched = 0;
};

// Where results agree only because both are NaN, nothing is known: it differs if tensors on the way do, and else there
// is no verdict for a tensor of the result that is NaN throughout.
void judge_nan(Comparison& c);

// The arguments are copied: what one program writes to them is not seen by the other.
Trace record(session::Session& session, const Program& program);
// The same for at most so many seconds (0: no limit): after these, the trace has an error, and is empty.
Trace record_beside(session::Session& session, const Program& program, double seconds);
// With a separate recorder.
Trace record(session::Session& session, const Program& program, Recorder& recorder);
// Limit on the memory of one run's copies.
std::size_t memory_for_copies();
// The binding-grain comparison of two runs.
Comparison compare(ir::Context& ctx, const Trace& a, const Trace& b, const Tolerances& tolerances);
// Of runs of two programs that have been recorded; one computation of the second may be run again (`alone`).
Comparison compare(session::Session& session, const Trace& a, const Trace& b, const Program& first,
                   const Program& second, const Tolerances& tolerances);
// `shadow`: a difference is checked in float64.
Comparison compare(session::Session& session, const Program& a, const Program& b, const Tolerances& tolerances,
                   bool shadow = false);

// The inputs of both sides. Values are generated where no text gives them.
struct ComparedInputs {
  std::vector<session::Argument> arguments;  // symbolic dims that are not set have the default
  // Distinct symbolic dims: rising in the order of the parameters, and falling. Empty: there are not two, or they
  // cannot be distinct.
  std::vector<session::Argument> apart, falling;
  std::string passes;              // that were applied to the second program
  std::vector<std::string> texts;  // given ones
};
// For a function of the session's program. `texts`: as of Session::arguments. None: diagnosed.
std::optional<ComparedInputs> compared_inputs(session::Session& session, std::string_view function,
                                              std::span<const std::string> texts, source::Diagnostics& out);
// On `apart`, where confusing two dims shows, if `a` runs on both of these (a program whose dims must
// be equal without saying so would read out of bounds of the smaller one); else on `arguments`, which in the end holds
// what they were compared on.
Comparison compare(session::Session& session, Program a, Program b, ComparedInputs& inputs,
                   const Tolerances& tolerances, bool shadow = false);

// Of modules without Relax functions: their kernels by name, each run by itself.
bool has_only_kernels(const ir::Module* module);
Comparison compare_kernels(session::Session& session, const ir::Module* a, const ir::Module* b,
                           const Tolerances& tolerances);

// Several lines for the user, without the last line break. `a` and `b`: the names of the sides.
std::string to_string(const Comparison& c, std::string_view a, std::string_view b);
std::string to_json(const Comparison& c);
// `lv3` of `main`, computed by `matmul` ...: one line.
std::string summary(const FirstDifference& d);

}  // namespace rldb::repro
