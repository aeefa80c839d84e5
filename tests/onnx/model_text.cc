// Reading of models as text.
#include "onnx/model_text.h"

#include <onnx.pb.h>

#include <cctype>
#include <map>
#include <stdexcept>
#include <vector>

namespace rldb::onnx::test {

namespace {

namespace pb = ::onnx;

const std::map<std::string, int> kTypes = {{"float", 1},   {"uint8", 2},     {"int8", 3},          {"uint16", 4},
                                           {"int16", 5},   {"int32", 6},     {"int64", 7},         {"string", 8},
                                           {"bool", 9},    {"float16", 10},  {"double", 11},       {"uint32", 12},
                                           {"uint64", 13}, {"bfloat16", 16}, {"float8e4m3fn", 17}, {"int4", 22}};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  pb::ModelProto model() {
    pb::ModelProto made;
    made.set_ir_version(9);
    lines(*made.mutable_graph(), &made);
    return made;
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    throw std::runtime_error("model text: " + what + " at: " + std::string(text_.substr(at_, 40)));
  }
  void blanks(bool breaks) {
    while (at_ < text_.size() && (text_[at_] == ' ' || (breaks && text_[at_] == '\n'))) ++at_;
  }
  bool accept(std::string_view s) {
    blanks(false);
    if (!text_.substr(at_).starts_with(s)) return false;
    at_ += s.size();
    return true;
  }
  void expect(std::string_view s) {
    if (!accept(s)) bad("expected " + std::string(s));
  }
  std::string word() {
    blanks(false);
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  std::string_view("_./#-+").find(text_[at_]) != std::string_view::npos))
      ++at_;
    if (begin == at_) bad("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool at_end_of_line() {
    blanks(false);
    return at_ >= text_.size() || text_[at_] == '\n';
  }

  int type() {
    const auto found = kTypes.find(word());
    if (found == kTypes.end()) bad("expected a type");
    return found->second;
  }
  void value_info(pb::ValueInfoProto& info) {
    info.set_name(word());
    if (!accept(":")) return;
    auto& t = *info.mutable_type()->mutable_tensor_type();
    t.set_elem_type(type());
    if (!accept("[")) return;
    t.mutable_shape();
    while (!accept("]")) {
      const std::string dim = word();
      auto& d = *t.mutable_shape()->add_dim();
      if (std::isdigit(static_cast<unsigned char>(dim[0])) || dim[0] == '-')
        d.set_dim_value(std::stoll(dim));
      else
        d.set_dim_param(dim);
      accept(",");
    }
  }
  void tensor(pb::TensorProto& t) {
    t.set_data_type(type());
    expect("[");
    while (!accept("]")) {
      t.add_dims(std::stoll(word()));
      accept(",");
    }
    accept("=");
    while (!at_end_of_line() && text_[at_] != '}' && text_[at_] != ',') {
      const std::string v = word();
      if (t.data_type() == 1)
        t.add_float_data(std::stof(v));
      else if (t.data_type() == 11)
        t.add_double_data(std::stod(v));
      else if (t.data_type() == 7)
        t.add_int64_data(std::stoll(v));
      else if (t.data_type() == pb::TensorProto::UINT32 || t.data_type() == pb::TensorProto::UINT64)
        t.add_uint64_data(std::stoull(v));
      else
        t.add_int32_data(int(std::stol(v)));
    }
  }

  void number(pb::AttributeProto& a, bool list) {
    const std::string v = word();
    const bool real = v.find_first_of(".e") != std::string::npos;
    if (real && list)
      a.add_floats(std::stof(v));
    else if (real)
      a.set_f(std::stof(v));
    else if (list)
      a.add_ints(std::stoll(v));
    else
      a.set_i(std::stoll(v));
    a.set_type(real ? (list ? pb::AttributeProto::FLOATS : pb::AttributeProto::FLOAT)
                    : (list ? pb::AttributeProto::INTS : pb::AttributeProto::INT));
  }
  // After the first quote.
  std::string quoted() {
    const std::size_t begin = at_, end = text_.find('"', at_);
    if (end == std::string_view::npos) bad("a text without an end");
    at_ = end + 1;
    return std::string(text_.substr(begin, end - begin));
  }
  void attribute(pb::AttributeProto& a) {
    a.set_name(word());
    expect("=");
    if (accept("@")) {
      a.set_ref_attr_name(word());
    } else if (accept("\"")) {
      a.set_s(quoted());
      a.set_type(pb::AttributeProto::STRING);
    } else if (accept("[")) {
      a.set_type(pb::AttributeProto::INTS);
      while (!accept("]")) {
        if (accept("\"")) {
          a.add_strings(quoted());
          a.set_type(pb::AttributeProto::STRINGS);
        } else {
          number(a, true);
        }
        accept(",");
      }
    } else if (accept("graph ")) {
      *a.mutable_g() = graphs_.at(word());
      a.set_type(pb::AttributeProto::GRAPH);
    } else if (std::isalpha(static_cast<unsigned char>(text_[at_]))) {
      tensor(*a.mutable_t());
      a.set_type(pb::AttributeProto::TENSOR);
    } else {
      number(a, false);
    }
  }

  void node(pb::NodeProto& n, std::string first) {
    if (accept(":")) {
      n.set_name(first);
      first = word();
    }
    n.add_output(first == "-" ? "" : first);
    while (accept(",")) {
      const std::string name = word();
      n.add_output(name == "-" ? "" : name);
    }
    expect("=");
    const std::string op = word();
    const auto dot = op.rfind('.');
    if (dot != std::string::npos) n.set_domain(op.substr(0, dot));
    n.set_op_type(dot == std::string::npos ? op : op.substr(dot + 1));
    expect("(");
    while (!accept(")")) {
      const std::string name = word();
      n.add_input(name == "-" ? "" : name);
      accept(",");
    }
    if (!accept("{")) return;
    while (!accept("}")) {
      attribute(*n.add_attribute());
      accept(",");
    }
  }

  void opset(pb::ModelProto& m) {
    auto& import = *m.add_opset_import();
    std::string v = word();
    if (!std::isdigit(static_cast<unsigned char>(v[0]))) {
      import.set_domain(v);
      v = word();
    }
    import.set_version(std::stoll(v));
  }

  void function(pb::ModelProto& m) {
    auto& f = *m.add_functions();
    const std::string name = word();
    f.set_domain(name.substr(0, name.rfind('.')));
    f.set_name(name.substr(name.rfind('.') + 1));
    expect("(");
    while (!accept(")")) {
      f.add_input(word());
      accept(",");
    }
    expect("->");
    do f.add_output(word());
    while (accept(","));
    pb::GraphProto body;
    lines(body, nullptr);
    *f.mutable_node() = body.node();
    *f.mutable_opset_import() = m.opset_import();
  }

  // Up to `end`, or the end of the text.
  void lines(pb::GraphProto& g, pb::ModelProto* m) {
    for (;;) {
      blanks(true);
      if (at_ >= text_.size()) return;
      const std::string first = word();
      if (first == "end") return;
      if (first == "opset" && m) {
        opset(*m);
      } else if (first == "input") {
        value_info(*g.add_input());
      } else if (first == "output") {
        value_info(*g.add_output());
      } else if (first == "init") {
        auto& t = *g.add_initializer();
        t.set_name(word());
        expect(":");
        tensor(t);
      } else if (first == "graph") {
        const std::string name = word();
        lines(graphs_[name], nullptr);
      } else if (first == "function" && m) {
        function(*m);
      } else {
        node(*g.add_node(), first);
      }
      if (!at_end_of_line() && text_[at_] != '\n') bad("expected the end of the line");
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::map<std::string, pb::GraphProto> graphs_;
};

}  // namespace

std::string model_bytes(std::string_view text) { return Reader(text).model().SerializeAsString(); }

}  // namespace rldb::onnx::test
