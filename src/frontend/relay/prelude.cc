// The prelude: lists, options, trees, and functions over them, under the same names as in TVM.
#include "frontend/relay/prelude.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "rldb/frontend/text_index.h"
#include "rldb/relay/ir/module.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend {

std::string_view relay_prelude() {
  return R"(#[version = "0.0.5"]
type List[A] {
  Cons(A, List[A]),
  Nil,
}
type Option[A] {
  Some(A),
  None,
}
type Tree[A] {
  Rose(A, List[Tree[A]]),
}

def @id[A](%x: A) -> A { %x }

def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B) -> fn (A) -> C {
  fn (%x: A) -> C { %f(%g(%x)) }
}

def @flip[A, B, C](%f: fn (A, B) -> C) -> fn (B, A) -> C {
  fn (%b: B, %a: A) -> C { %f(%a, %b) }
}

// f applied n times
def @iterate[A](%f: fn (A) -> A, %n: int32) -> fn (A) -> A {
  if (%n == 0) { @id } else { @compose(%f, @iterate(%f, %n - 1)) }
}

// ---- lists ----

def @hd[A](%xs: List[A]) -> A {
  match? (%xs) { Cons(%x, _) => %x, }
}

def @tl[A](%xs: List[A]) -> List[A] {
  match? (%xs) { Cons(_, %rest) => %rest, }
}

def @nth[A](%xs: List[A], %n: int32) -> A {
  if (%n == 0) { @hd(%xs) } else { @nth(@tl(%xs), %n - 1) }
}

def @length[A](%xs: List[A]) -> int32 {
  match (%xs) {
    Cons(_, %rest) => 1 + @length(%rest),
    Nil => 0,
  }
}

def @update[A](%xs: List[A], %n: int32, %v: A) -> List[A] {
  if (%n == 0) { Cons(%v, @tl(%xs)) } else { Cons(@hd(%xs), @update(@tl(%xs), %n - 1, %v)) }
}

def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) {
    Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)),
    Nil => Nil,
  }
}

def @foldl[A, B](%f: fn (A, B) -> A, %acc: A, %xs: List[B]) -> A {
  match (%xs) {
    Cons(%x, %rest) => @foldl(%f, %f(%acc, %x), %rest),
    Nil => %acc,
  }
}

def @foldr[A, B](%f: fn (A, B) -> B, %acc: B, %xs: List[A]) -> B {
  match (%xs) {
    Cons(%x, %rest) => %f(%x, @foldr(%f, %acc, %rest)),
    Nil => %acc,
  }
}

// Of a list that is not empty.
def @foldr1[A](%f: fn (A, A) -> A, %xs: List[A]) -> A {
  match? (%xs) {
    Cons(%x, Nil) => %x,
    Cons(%x, %rest) => %f(%x, @foldr1(%f, %rest)),
  }
}

def @sum(%xs: List[int32]) -> int32 {
  @foldl(fn (%acc: int32, %x: int32) -> int32 { %acc + %x }, 0, %xs)
}

def @concat[A](%xs: List[A], %ys: List[A]) -> List[A] {
  match (%xs) {
    Cons(%x, %rest) => Cons(%x, @concat(%rest, %ys)),
    Nil => %ys,
  }
}

def @filter[A](%f: fn (A) -> bool, %xs: List[A]) -> List[A] {
  match (%xs) {
    Cons(%x, %rest) => if (%f(%x)) { Cons(%x, @filter(%f, %rest)) } else { @filter(%f, %rest) },
    Nil => Nil,
  }
}

// As long as the shorter of the two.
def @zip[A, B](%xs: List[A], %ys: List[B]) -> List[(A, B)] {
  match ((%xs, %ys)) {
    (Cons(%x, %more), Cons(%y, %others)) => Cons((%x, %y), @zip(%more, %others)),
    _ => Nil,
  }
}

def @rev[A](%xs: List[A]) -> List[A] {
  @foldl(fn (%acc: List[A], %x: A) -> List[A] { Cons(%x, %acc) }, Nil, %xs)
}

// From the right: the state goes through the elements, each of which becomes another.
def @map_accumr[A, B, C](%f: fn (A, B) -> (A, C), %init: A, %xs: List[B]) -> (A, List[C]) {
  match (%xs) {
    Cons(%x, %rest) => {
      let %behind = @map_accumr(%f, %init, %rest);
      let %here = %f(%behind.0, %x);
      (%here.0, Cons(%here.1, %behind.1))
    },
    Nil => (%init, Nil),
  }
}

// From the left; the list comes out reversed.
def @map_accuml[A, B, C](%f: fn (A, B) -> (A, C), %init: A, %xs: List[B]) -> (A, List[C]) {
  @foldl(
    fn (%state: (A, List[C]), %x: B) -> (A, List[C]) {
      let %here = %f(%state.0, %x);
      (%here.0, Cons(%here.1, %state.1))
    },
    (%init, Nil),
    %xs)
}

def @unfoldr[A, B](%f: fn (A) -> Option[(A, B)], %seed: A) -> List[B] {
  match (%f(%seed)) {
    Some(%next) => Cons(%next.1, @unfoldr(%f, %next.0)),
    None => Nil,
  }
}

// The list comes out reversed.
def @unfoldl[A, B](%f: fn (A) -> Option[(A, B)], %seed: A) -> List[B] {
  let %from = fn (%s: A, %acc: List[B]) -> List[B] {
    match (%f(%s)) {
      Some(%next) => %from(%next.0, Cons(%next.1, %acc)),
      None => %acc,
    }
  };
  %from(%seed, Nil)
}

// ---- trees ----

def @tmap[A, B](%f: fn (A) -> B, %t: Tree[A]) -> Tree[B] {
  match (%t) {
    Rose(%v, %below) => Rose(%f(%v), @map(fn (%x: Tree[A]) -> Tree[B] { @tmap(%f, %x) }, %below)),
  }
}

def @size[A](%t: Tree[A]) -> int32 {
  match (%t) {
    Rose(_, %below) => 1 + @sum(@map(fn (%x: Tree[A]) -> int32 { @size(%x) }, %below)),
  }
}
)";
}

namespace {

// Without those parts of the prelude that the text's own functions do not reach.
const relay::Module* without_unused(relay::Context& ctx, const relay::Module* m, const relay::Module* prelude) {
  std::unordered_set<std::string_view> used;
  std::unordered_set<const relay::Expr*> seen;
  std::vector<const relay::Expr*> open;
  for (const relay::Definition& d : m->functions)
    if (!prelude->find(d.name->name) && used.insert(d.name->name).second) open.push_back(d.function);
  while (!open.empty()) {
    support::poll();
    const relay::Expr* e = open.back();
    open.pop_back();
    if (!seen.insert(e).second) continue;
    if (const auto* g = relay::as<relay::GlobalVar>(e); g && used.insert(g->name).second)
      if (const relay::Function* f = m->find(g->name)) open.push_back(f);
    relay::for_each_operand(e, [&](const relay::Expr* x) { open.push_back(x); });
  }
  std::vector<relay::Definition> functions;
  for (const relay::Definition& d : m->functions)
    if (used.contains(d.name->name)) functions.push_back(d);
  return ctx.module({m->types.begin(), m->types.end()}, std::move(functions), m->body);
}

}  // namespace

namespace {

bool has(const source::Diagnostics& found, const source::Diagnostic& d) {
  return std::any_of(found.all().begin(), found.all().end(),
                     [&](const source::Diagnostic& other) { return other.id == d.id && other.message == d.message; });
}

// Whether the text needs the prelude: then something is missing without it, and nothing is defined twice with it.
bool wants_prelude(const source::Diagnostics& alone, const source::Diagnostics& on_top) {
  const auto twice = [](const source::Diagnostic& d) {
    return d.id == source::DiagId(diag::RelayTypeTwice) || d.id == source::DiagId(diag::RelayConstructorTwice);
  };
  return std::none_of(on_top.all().begin(), on_top.all().end(), twice) &&
         std::any_of(alone.all().begin(), alone.all().end(),
                     [&](const source::Diagnostic& d) { return !has(on_top, d); });
}

}  // namespace

bool may_need_prelude(std::string_view text, const source::Diagnostics& found) {
  static const std::unordered_set<std::string> names = [] {
    std::unordered_set<std::string> all;
    const TextIndex index = TextIndex::of_relay(relay_prelude());
    for (const NameDefinition& d : index.definitions()) all.insert(d.name);
    return all;
  }();
  return std::any_of(found.all().begin(), found.all().end(), [&](const source::Diagnostic& d) {
    const bool unknown =
        d.id == diag::RelayUnknownGlobal || d.id == diag::RelayUnknownOp || d.id == diag::RelayUnknownConstructor;
    return unknown && d.span.end <= text.size() &&
           names.contains(std::string(text.substr(d.span.begin, d.span.end - d.span.begin)));
  });
}

RelayResult parse_relay_program(relay::Context& ctx, source::SourceManager& sources, source::FileId file,
                                source::Diagnostics& out) {
  source::FileId prelude;
  return parse_relay_program(ctx, sources, file, out, prelude);
}

RelayResult parse_relay_program(relay::Context& ctx, source::SourceManager& sources, source::FileId file,
                                source::Diagnostics& out, source::FileId& prelude) {
  source::Diagnostics alone;
  RelayResult result = parse_relay(ctx, sources, file, alone);
  if (!result.module && may_need_prelude(sources.get(file).text(), alone)) {
    source::Diagnostics ignored, on_top;
    if (!prelude) prelude = sources.add("prelude.relay", std::string(relay_prelude()));
    RelayOptions options;
    options.initial = parse_relay(ctx, sources, prelude, ignored).module;
    RelayResult with_prelude = options.initial ? parse_relay(ctx, sources, file, on_top, options) : RelayResult();
    if (with_prelude.module) {
      result = with_prelude;
      result.module = without_unused(ctx, with_prelude.module, options.initial);
      alone = std::move(on_top);
    } else if (options.initial && wants_prelude(alone, on_top)) {
      alone = std::move(on_top);  // the other mistakes
    }
  }
  for (const source::Diagnostic& d : alone.all()) out.add(d);
  return result;
}

}  // namespace rldb::frontend
