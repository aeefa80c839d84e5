// ConvertLayout: convolutions compute in the requested layouts, {"relax.nn.conv2d": ["NHWC", "OHWI"]}, and operators
// that read their results follow as far as their rules allow. Dataflow blocks only; their outputs keep the original
// layout.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "passes/layout/layout_rules.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op/image.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_class.h"
#include "rldb/ir/op_id.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

class LayoutConverter : public Rewriter {
 public:
  LayoutConverter(Context& ctx, const WantedLayouts& wanted) : Rewriter(ctx), wanted_(wanted) {}

 protected:
  const BindingBlock* visit_block(const BindingBlock* b) override {
    if (!b->is_dataflow()) return default_block(b);
    out_.clear();
    for (const Binding* each : b->bindings) {
      support::poll();
      origin_ = each;
      convert(each);
    }
    if (std::equal(out_.begin(), out_.end(), b->bindings.begin(), b->bindings.end())) return b;
    const BindingBlock* made = ctx_.block(out_, true);
    ctx_.set_origin(made, b);
    return made;
  }

 private:
  // The layout in which it is stored now.
  Layout layout_of(const Expr* e) const {
    const auto* v = as<Var>(e);
    const auto found = v ? layouts_.find(v) : layouts_.end();
    if (found != layouts_.end()) return found->second;
    const auto* t = as<TensorType>(e->type);
    return Layout::initial(t && t->ndim > 0 ? t->ndim : 0);
  }

  const Var* emit(const Expr* value) {
    const Var* v = ctx_.dataflow_var("lv", value->type);
    out_.push_back(ctx_.binding(v, value));
    ctx_.set_origin(out_.back(), origin_);
    if (isa<Call>(value)) ctx_.set_origin(value, origin_);
    return v;
  }

  const Expr* stored(const Expr* e, const Layout& to) {
    const Expr* now = lookup_expr(e);
    const Expr* made = convert_layout_of(ctx_, now, layout_of(e), to);
    return made == now ? now : emit(made);
  }
  const Expr* lookup_expr(const Expr* e) const {
    const auto* v = as<Var>(e);
    return v ? lookup(v) : e;
  }

  // A tuple with every field in its original layout.
  const Expr* original_tuple(const Expr* now, const std::vector<Layout>& fields) {
    std::vector<const Expr*> items;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const Var* item = emit(*ctx_.tuple_get(now, std::int64_t(i)));
      const Expr* made = convert_layout_of(ctx_, item, fields[i], Layout::initial(fields[i].ndim()));
      items.push_back(made == item ? made : emit(made));
    }
    return ctx_.tuple(items);
  }

  // The value with every variable in its original layout.
  const Expr* original(const Expr* e) {
    VarMap map;
    for (const Var* v : free_vars(e)) {
      if (const auto tuple = tuples_.find(v); tuple != tuples_.end()) {
        map[v] = original_tuple(lookup(v), tuple->second);
        continue;
      }
      const auto found = layouts_.find(v);
      const Expr* now = found == layouts_.end() ? lookup(v) : stored(v, Layout::initial(found->second.ndim()));
      if (now != v) map[v] = now;
    }
    return map.empty() ? e : substitute(ctx_, e, map);
  }

  void keep(const Binding* b) { out_.push_back(remake_binding(ctx_, b, b->var, original(b->value))); }

  void convert(const Binding* b) {
    if (b->is_match_cast()) return convert_cast(b);
    if (const auto* tuple = as<Tuple>(b->value); tuple && convert_tuple(b, tuple)) return;
    if (const auto* get = as<TupleGetItem>(b->value); get && convert_field(b, get)) return;
    const auto* call = as<Call>(b->value);
    const auto decision =
        call ? decide_layout({ctx_, call, wanted_, [this](const Expr* e) { return layout_of(e); }}) : std::nullopt;
    if (!decision || !changes(*decision, call) ||
        !may_rewrite([&] { return "the layout of `" + std::string(b->var->name) + "`"; }))
      return keep(b);
    const std::size_t mark = out_.size();
    const Call* made = rebuilt(call, *decision);
    if (!made) {
      out_.resize(mark);
      return keep(b);
    }
    bind(b, made, decision->result, decision->fields);
  }

  // A tuple within the block holds its fields as they are stored.
  bool convert_tuple(const Binding* b, const Tuple* t) {
    if (!b->var->is_dataflow()) return false;
    std::vector<const Expr*> items;
    std::vector<Layout> fields;
    for (const Expr* item : t->items) {
      const auto* v = as<Var>(item);
      if (!as<TensorType>(item->type) || (v && tuples_.count(v) > 0)) return false;
      items.push_back(lookup_expr(item));
      fields.push_back(layout_of(item));
    }
    if (std::all_of(fields.begin(), fields.end(), [](const Layout& l) { return l.is_initial(); })) return false;
    bind(b, ctx_.tuple(items), Layout(), fields);
    return true;
  }

  // A field of a tuple that is stored otherwise.
  bool convert_field(const Binding* b, const TupleGetItem* get) {
    const auto* tuple = as<Var>(get->tuple);
    const auto found = tuple ? tuples_.find(tuple) : tuples_.end();
    if (found == tuples_.end()) return false;
    bind(b, *ctx_.tuple_get(lookup(tuple), get->index), found->second[std::size_t(get->index)], {});
    return true;
  }

  // Whether any layout or attribute differs, before or after the call.
  bool changes(const LayoutDecision& d, const Call* call) const {
    const auto odd = [](const Layout& l) { return !l.is_initial(); };
    if (!std::equal(
            d.attrs.begin(), d.attrs.end(), call->attrs.begin(), call->attrs.end(),
            [](const NamedAttr& a, const NamedAttr& b) { return a.name == b.name && attr_equal(a.value, b.value); }))
      return true;
    for (std::size_t i = 0; i < d.others.size(); ++i)
      if (!structural_equal(d.others[i], call->args[d.operands.size() + i])) return true;
    if (odd(d.result) || std::any_of(d.operands.begin(), d.operands.end(), odd) ||
        std::any_of(d.items.begin(), d.items.end(), odd) || std::any_of(d.fields.begin(), d.fields.end(), odd))
      return true;
    const std::vector<const Var*> used = free_vars(call);
    return std::any_of(used.begin(), used.end(),
                       [&](const Var* v) { return layouts_.count(v) > 0 || tuples_.count(v) > 0; });
  }

  // Null: the operator refuses them.
  const Call* rebuilt(const Call* call, const LayoutDecision& d) {
    std::vector<const Expr*> args;
    for (std::size_t i = 0; i < call->args.size(); ++i) {
      const Expr* arg = call->args[i];
      if (i == 0 && !d.items.empty())
        args.push_back(tuple_of(cast<Tuple>(arg), d.items));
      else if (i < d.operands.size())
        args.push_back(stored(arg, d.operands[i]));
      else if (!d.others.empty())
        args.push_back(d.others[i - d.operands.size()]);
      else
        args.push_back(original(arg));
    }
    auto made = ctx_.call(CallSpec{call->callee, args, d.attrs, call->ty_args});
    if (!made.ok()) return nullptr;
    ctx_.set_origin(*made, call);
    return *made;
  }
  const Expr* tuple_of(const Tuple* t, const std::vector<Layout>& layouts) {
    std::vector<const Expr*> items;
    for (std::size_t i = 0; i < t->items.size(); ++i) items.push_back(stored(t->items[i], layouts[i]));
    return ctx_.tuple(items);
  }

  void bind(const Binding* b, const Expr* value, const Layout& layout, const std::vector<Layout>& fields) {
    const bool odd_fields =
        std::any_of(fields.begin(), fields.end(), [](const Layout& field) { return !field.is_initial(); });
    if (!b->var->is_dataflow() && odd_fields) {
      const Expr* back = original_tuple(emit(value), fields);
      out_.push_back(remake_binding(ctx_, b, b->var, back));
      return;
    }
    if (!b->var->is_dataflow() && fields.empty() && !layout.is_initial()) {
      const Var* v = emit(value);
      const Expr* back = convert_layout_of(ctx_, v, layout, Layout::initial(layout.ndim()));
      out_.push_back(remake_binding(ctx_, b, b->var, back));
      return;
    }
    const Var* v = b->var;
    if (value->type != b->value->type && b->var->is_dataflow()) {
      v = ctx_.dataflow_var(v->name, value->type);
      ctx_.set_origin(v, b->var);
      remap(b->var, v);
    }
    if (odd_fields) tuples_[b->var] = fields;
    if (fields.empty() && !layout.is_initial()) layouts_[b->var] = layout;
    out_.push_back(remake_binding(ctx_, b, v, value));
  }

  // A cast in the layout of its operand.
  void convert_cast(const Binding* b) {
    const auto* v = as<Var>(b->value);
    const auto found = v && b->var->is_dataflow() ? layouts_.find(v) : layouts_.end();
    const auto* t = as<TensorType>(b->cast_type);
    if (found == layouts_.end() || found->second.is_split() || !t || !t->has_shape || t->ndim != found->second.ndim())
      return keep(b);
    const Layout layout = found->second;
    std::vector<const Expr*> dims;
    for (const Layout::Piece& p : layout.pieces()) dims.push_back(t->shape[std::size_t(p.axis)]);
    const Type* type = ctx_.tensor(dims, t->dtype, t->vdevice);
    const Var* made = ctx_.dataflow_var(b->var->name, type);
    ctx_.set_origin(made, b->var);
    remap(b->var, made);
    layouts_[b->var] = layout;
    out_.push_back(ctx_.match_cast(made, lookup(v), type));
    ctx_.set_origin(out_.back(), b);
  }

  const WantedLayouts& wanted_;
  std::unordered_map<const Var*, Layout> layouts_;              // of variables stored in another layout
  std::unordered_map<const Var*, std::vector<Layout>> tuples_;  // of tuples with such fields, by field
  std::vector<const Binding*> out_;
  const Binding* origin_ = nullptr;
};

std::optional<WantedLayouts> wanted_layouts(const pipeline::option::Dict& given) {
  WantedLayouts wanted;
  for (const auto& [name, list] : given) {
    if (!list.is(pipeline::WrittenValue::Kind::List)) return std::nullopt;
    for (const pipeline::WrittenValue& each : list.items) wanted[name].push_back(each.name());
  }
  return wanted;
}

Failure<source::Message> bad_layouts(std::string_view expected, std::string_view got) {
  return Failure(message(diag::PassOptionValue, "desired_layouts", expected, got));
}

// The default of the operator's attribute: its axes in the order in which an order of them is given.
std::string axis_names(std::string_view name, bool weights) {
  const ops::OpInfo* info = ops::find(name);
  std::string names;
  for (const ops::AttrInfo& a : info->attrs)
    if (a.name == (weights ? op_attr::KernelLayout : op_attr::DataLayout) || (!weights && a.name == op_attr::Layout))
      names = unquote(a.default_text);
  return names;
}

// Operators must exist, and those that take a request must be given valid layouts. Others follow their operands.
ir::Result<bool> check(const WantedLayouts& wanted) {
  for (const auto& [name, layouts] : wanted) {
    if (!op::find(name)) return bad_layouts("operators by their full names, `relax.nn.conv2d`", name);
    const bool conv = op::class_of(op::find(name)->id) == op::Class::Convolution;
    if (!conv && name != op::ImageResize2d && name != op::ImageResize3d) continue;
    if (conv && layouts.size() != 2 && layouts.size() != 3)
      return bad_layouts(fmt::format("the layouts of data and weight, and of the result if it differs, for `{}`", name),
                         fmt::format("[{}]", fmt::join(layouts, ", ")));
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      const std::string names = axis_names(name, conv && i == 1);
      if (!Layout::parse(layouts[i], names))
        return bad_layouts(fmt::format("an order of {} for `{}`, as NHWC is one of NCHW", names, name), layouts[i]);
    }
  }
  return true;
}

}  // namespace

Result<const Module*> convert_layout(PassEnv& env, const Module* module, const ConvertLayoutOptions& options) {
  const pipeline::option::MaybeDict& given = options.desired_layouts;
  const auto wanted = given ? wanted_layouts(*given) : std::nullopt;
  if (!wanted)
    return bad_layouts("a dictionary `{\"relax.nn.conv2d\": [\"NHWC\", \"OHWI\"]}`",
                       given ? pipeline::written(*given) : "nothing");
  RLDB_TRY_VOID(check(*wanted));
  if (!options.layout_cb.is(pipeline::WrittenValue::Kind::None))
    return Failure(message(diag::PassOptionValue, "layout_cb", "None: functions of Python are not run",
                           options.layout_cb.written));
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return LayoutConverter(env.ctx, *wanted).rewrite_function(f);
  });
}

}  // namespace rldb::passes
