// Whether a text may be given to the tree-sitter runtime at all.
//
// The 0.20 runtime keeps the number of a node's children in 16 bits. A parse rule of this grammar makes few children,
// but an error takes all that stands unfinished (brackets not closed, a chain of prefix operators), and a run of
// comments becomes children of one node: with more than 65,535 of them the runtime damages the heap when it frees the
// tree. Whoever parses text that was not written by the program itself asks here first; the scan costs one pass over
// the bytes.

#ifndef TREE_SITTER_TVMSCRIPT_LIMITS_H_
#define TREE_SITTER_TVMSCRIPT_LIMITS_H_

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  kTvmscriptMaxDepth = 10000,    // open brackets
  kTvmscriptMaxPending = 50000,  // tokens that no comma, closing bracket or line end completes; comments in a row
};

// True when the text is within both limits. Else `*offset` (may be null) is the byte at which one is passed.
bool tree_sitter_tvmscript_within_limits(const char* text, size_t size, size_t* offset);

#ifdef __cplusplus
}
#endif

#endif  // TREE_SITTER_TVMSCRIPT_LIMITS_H_
