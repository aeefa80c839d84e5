// The few functions of libgvc and libcgraph that are used, declared here with handles instead of Graphviz's structs:
// positions are read as attributes, so the layout of those structs, which changes between versions, does not matter.
#include "ui/render/draw/graphviz_library.h"

#include <dlfcn.h>

#include <array>

namespace rldb::ui {

namespace {

constexpr const char* kGvc = "libgvc.so.6";
constexpr const char* kPlugin = "/graphviz/libgvplugin_dot_layout.so.6";  // beside libgvc
constexpr const char* kPluginSymbol = "gvplugin_dot_layout_LTX_library";

struct Context;
struct Graph;
struct Node;
struct Edge;
// A built-in plugin: its symbol by name. Ends with a row of nulls.
struct Preloaded {
  const char* name;
  void* address;
};

struct Functions {
  Context* (*context)(const Preloaded* plugins, int demand_loading);
  int (*layout)(Context*, Graph*, const char* engine);
  void (*attach)(Graph*);
  Graph* (*read)(const char* dot);
  Node* (*first_node)(Graph*);
  Node* (*next_node)(Graph*, Node*);
  Edge* (*first_edge)(Graph*, Node*);
  Edge* (*next_edge)(Graph*, Edge*);
  const char* (*name)(void*);
  const char* (*attribute)(void*, const char*);
};

template <class F>
bool take(void* library, const char* name, F& into, std::string& why) {
  into = reinterpret_cast<F>(::dlsym(library, name));
  if (!into) why = std::string(kGvc) + " has no `" + name + "`";
  return into != nullptr;
}

// libcgraph's functions are found through libgvc, which needs it.
bool take_all(void* library, Functions& g, std::string& why) {
  return take(library, "gvContextPlugins", g.context, why) && take(library, "gvLayout", g.layout, why) &&
         take(library, "attach_attrs", g.attach, why) && take(library, "agmemread", g.read, why) &&
         take(library, "agfstnode", g.first_node, why) && take(library, "agnxtnode", g.next_node, why) &&
         take(library, "agfstout", g.first_edge, why) && take(library, "agnxtout", g.next_edge, why) &&
         take(library, "agnameof", g.name, why) && take(library, "agget", g.attribute, why);
}

// Only the plugin with the layout is loaded, not those that draw, with their dozens of libraries.
void* open_layout_plugin(const Functions& g, std::string& why) {
  Dl_info where{};
  if (!::dladdr(reinterpret_cast<void*>(g.layout), &where) || !where.dli_fname) return nullptr;
  const std::string path(where.dli_fname);
  void* plugin = ::dlopen((path.substr(0, path.find_last_of('/')) + kPlugin).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!plugin) {
    why = "its layout plugin is not installed";
    return nullptr;
  }
  void* symbol = ::dlsym(plugin, kPluginSymbol);
  if (!symbol) why = "its layout plugin has no layout";
  return symbol;
}

std::string written_positions(const Functions& g, Graph* graph) {
  const auto value = [&](void* of, const char* name) {
    const char* text = g.attribute(of, name);
    return std::string(text ? text : "");
  };
  std::string out = "box " + value(graph, "bb") + "\n";
  for (Node* n = g.first_node(graph); n; n = g.next_node(graph, n)) {
    out += "node " + std::string(g.name(n)) + " " + value(n, "pos") + "\n";
    for (Edge* e = g.first_edge(graph, n); e; e = g.next_edge(graph, e))
      out += "edge " + value(e, "id") + " " + value(e, "pos") + "\n";
  }
  return out;
}

}  // namespace

bool graphviz_positions(const std::string& dot, std::string& out) {
  void* library = ::dlopen(kGvc, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    out = "Graphviz is not installed";
    return false;
  }
  Functions g{};
  if (!take_all(library, g, out)) return false;
  void* plugin = open_layout_plugin(g, out);
  if (!plugin) return false;
  const std::array<Preloaded, 2> plugins{{{kPluginSymbol, plugin}, {nullptr, nullptr}}};
  Graph* graph = g.read(dot.c_str());
  if (!graph || g.layout(g.context(plugins.data(), 0), graph, "dot") != 0) {
    out = "Graphviz could not lay it out";
    return false;
  }
  g.attach(graph);
  out = written_positions(g, graph);
  return true;
}

}  // namespace rldb::ui
