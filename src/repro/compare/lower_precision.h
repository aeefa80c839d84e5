// Whether the results of a program that was converted to a lower precision differ as that precision explains.
// Room-private.
#pragma once

#include <functional>

#include "rldb/session/session.h"

namespace rldb::repro {

// float16 or bfloat16, if the second program has tensors of it and the first has none; otherwise void.
runtime::DType lower_format(const ir::Module* before, const ir::Module* after);

class LowerPrecision {
 public:
  // `run`: the result of `function` of a module; nullopt: it cannot be run.
  using Run =
      std::function<std::optional<runtime::Value>(const ir::Module* module, const std::vector<runtime::Value>&)>;

  // `ours`: what rldb's own passes make of `before`, where `after` is another compiler's; one for each of their
  // options.
  LowerPrecision(session::Session& session, const ir::Module* before, const ir::Module* after,
                 std::vector<const ir::Module*> ours = {});

  enum class Answer { Explained, Worse, CannotTell };
  // For the results of both sides on `args`. The error of a correct conversion is not much larger than that of ours,
  // and never much larger than that of the program as it was before in the lower precision throughout. Between the
  // two it cannot be told: the other compiler may have converted more than we do. `why`: in words.
  Answer judge(const std::vector<runtime::Value>& args, const runtime::Value& before, const runtime::Value& after,
               const Run& run, std::string& why);
  runtime::DType format() const { return format_; }

 private:
  using Leaves = std::vector<runtime::Value>;
  Answer judge_by_format(const std::vector<runtime::Value>& args, const Leaves& before, const Leaves& after,
                         const Run& run, std::string& why);
  bool is_as_ours(const std::vector<runtime::Value>& args, const Leaves& before, const Leaves& after, const Run& run,
                  std::string& why) const;

  session::Session& session_;
  const ir::Module* before_;
  runtime::DType format_;              // void: the second program uses none that the first does not
  const ir::Module* lower_ = nullptr;  // the first one in it, made when it is needed
  std::vector<const ir::Module*> ours_;
};

}  // namespace rldb::repro
