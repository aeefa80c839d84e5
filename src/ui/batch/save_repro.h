// Findings of batch commands as scripts that reproduce them: module, values, pipeline, options (ui/repro_file).
#pragma once

#include <string>

#include "rldb/passes/pass.h"
#include "rldb/repro/compare.h"
#include "rldb/repro/oracle.h"
#include "rldb/repro/recorded.h"
#include "rldb/repro/sanitize.h"
#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/prompt/repro_file.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

// Settings and module; nothing that is run.
ReproFile repro_of(const CommandLine& line, const session::Options& options, const ir::Module* module);
// The values that the session passes to the function of this module, from `--input` and the seed.
void add_values(ReproFile& repro, session::Session& session, const ir::Module* module, const std::string& function,
                const std::vector<std::string>& inputs);

// A word of an entry, quoted where it contains blanks or quotes.
std::string quoted_word(const std::string& word);

// Some entry of the prompt asks this question.
bool has_entry(const repro::Question& question);
// A program that a pipeline makes wrong, or that is wrong to begin with.
ReproFile repro_of_pipeline(const CommandLine& line, session::Session& session, const ir::Module* module,
                            const repro::Question& question, const std::string& seen);
// The first module, the entry that compares it with the other one, and the values of both. `other`: a module of its
// own; null: the first one after passes, or on another engine.
ReproFile repro_of_comparison(const CommandLine& line, const session::Session& session, const repro::Program& a,
                              const ir::Module* other, const std::vector<session::Argument>& values,
                              const std::string& seen);
// Two stages of a folder as they were run, in one script. That none can be made is diagnosed; false: a file cannot be
// written.
bool save_stages(const repro::Program& a, const repro::Program& b, const std::string& seen, const CommandLine& line,
                 session::Session& session, Console& console);
// The same of a stage whose values are right, and which uses its memory wrongly.
bool save_memory_fault(const repro::Program& stage, const repro::Finding& fault, const std::string& seen,
                       const CommandLine& line, session::Session& session, Console& console);
// A kernel that the JIT compiles incorrectly.
ReproFile repro_of_kernel(const CommandLine& line, session::Session& session, const ir::Module* module,
                          const repro::Question& question, const std::string& seen);
// A pass that fails, or whose result does not verify; and one after which values differ.
ReproFile repro_of_failed_pass(const CommandLine& line, const session::Session& session, const pipeline::Record& record,
                               const std::string& seen);
ReproFile repro_of_changed_values(const CommandLine& line, const session::Session& session,
                                  const pipeline::Record& record, const std::string& seen);
// The same findings as scripts for TVM (--tvm-script). False: diagnosed.
bool save_tvm_script(const std::string& path, const CommandLine& line, session::Session& session,
                     const ir::Module* module, const repro::Question& question, const repro::Symptom& symptom,
                     const std::string& seen, Console& console);
bool save_tvm_script(const CommandLine& line, const repro::Program& a, const ir::Module* other,
                     const std::string& passes, const std::vector<session::Argument>& values, const std::string& seen,
                     session::Session& session, Console& console);
// A call of a kernel whose recorded result is not the one that rldb has.
bool save_tvm_script(const CommandLine& line, const repro::RecordedDifference& d, const std::string& seen,
                     session::Session& session, Console& console);
// The function named on the line, else the only public one, else `main`.
std::string function_of(const CommandLine& line, const session::Session& session);

// The entry at the prompt that does the same as the command line; empty: there is none.
std::string prompt_entry(const CommandLine& line);

}  // namespace rldb::ui
