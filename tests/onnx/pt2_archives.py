"""Archives of torch.export.save, made without PyTorch: the program as JSON by its schema, weights as raw storages
(torch 2.9) or as torch.save pickles them (torch 2.7). Usage: pt2_archives.py FOLDER. Users: tests/run.d/39-pt2."""
import io
import json
import pickle
import random
import struct
import sys
import zipfile

FLOAT, LONG, BOOL = 7, 5, 12


def size(v):
    return {"as_int": v} if isinstance(v, int) else {"as_expr": {"expr_str": v, "hint": {"as_int": 4}}}


def strides_of(shape):
    made, step = [], 1
    for d in reversed(shape):
        made.insert(0, step)
        step *= d if isinstance(d, int) else 4
    return made


def meta(shape, dtype=FLOAT, strides=None, offset=0):
    return {"dtype": dtype, "sizes": [size(d) for d in shape], "requires_grad": False,
            "device": {"type": "cpu", "index": None},
            "strides": [size(d) for d in (strides or strides_of(shape))], "storage_offset": size(offset), "layout": 7}


def argument(v):
    if isinstance(v, str) and v.startswith("%"):
        return {"as_tensor": {"name": v[1:]}}
    if isinstance(v, str) and v.startswith("$"):
        return {"as_sym_int": {"as_name": v[1:]}}
    if v is None:
        return {"as_none": True}
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float"), (str, "string")):
        if isinstance(v, kind):
            return {"as_" + name: v}
    if v and None in v:
        return {"as_optional_tensors": [{"as_none": True} if i is None else argument(i) for i in v]}
    if v and all(isinstance(i, str) and i.startswith("%") for i in v):
        return {"as_tensors": [{"name": i[1:]} for i in v]}
    if v and all(isinstance(i, float) for i in v):
        return {"as_floats": list(v)}
    if any(isinstance(i, str) for i in v):
        return {"as_sym_ints": [{"as_name": i[1:]} if isinstance(i, str) else {"as_int": i} for i in v]}
    return {"as_ints": list(v)}


class Program:
    def __init__(self):
        self.types, self.nodes, self.inputs, self.outputs, self.weights, self.ranges = {}, [], [], [], {}, {}

    def input(self, name, shape, dtype=FLOAT):
        self.types[name] = meta(shape, dtype)
        self.inputs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})

    def weight(self, name, saved_as, shape, values, strides=None, kind="parameter"):
        self.types[name] = meta(shape)
        spec = {"arg": {"name": name}, kind + "_name": saved_as}
        if kind == "buffer":
            spec["persistent"] = True
        self.inputs.append({kind: spec})
        self.weights[saved_as] = (shape, strides or strides_of(shape), values)

    def node(self, name, target, shape, dtype=FLOAT, /, **arguments):
        names = name if isinstance(name, list) else [name]
        for i, n in enumerate(names):
            self.types[n] = meta(shape[i] if isinstance(name, list) else shape, dtype)
        outputs = [{"as_tensors": [{"name": n} for n in names]}] if isinstance(name, list) else [
            {"as_tensor": {"name": name}}]
        self.call(target, outputs, arguments)

    def several(self, names, target, shapes, dtypes, /, **arguments):
        """A node of several results, where that of `node` is a list."""
        for n, shape, dtype in zip(names, shapes, dtypes):
            self.types[n] = meta(shape, dtype)
        self.call(target, [{"as_tensor": {"name": n}} for n in names], arguments)

    def symbol(self, name, target, /, **arguments):
        self.call(target, [{"as_sym_int": {"as_name": name}}], arguments)

    def call(self, target, outputs, arguments):
        trace = 'File "/home/user/model.py", line 12, in forward\n    return x\n'
        stack = "L__self__,,torch.nn.Module;L__self___layer,layer,torch.nn.Linear"
        self.nodes.append({"target": target, "outputs": outputs,
                           "inputs": [{"name": k, "arg": argument(v), "kind": 1} for k, v in arguments.items()],
                           "metadata": {"stack_trace": trace, "nn_module_stack": stack}})

    def output(self, name):
        self.outputs.append({"user_output": {"arg": {"as_tensor": {"name": name}}}})

    def json(self, version=(8, 8)):
        graph = {"inputs": [], "outputs": [], "nodes": self.nodes, "tensor_values": self.types, "sym_int_values": {},
                 "sym_bool_values": {}, "is_single_tensor_return": False, "custom_obj_values": {}}
        module = {"graph": graph, "signature": {"input_specs": self.inputs, "output_specs": self.outputs},
                  "module_call_graph": [], "metadata": {}}
        return json.dumps({"graph_module": module, "opset_version": {"aten": 10}, "range_constraints": self.ranges,
                           "schema_version": {"major": version[0], "minor": version[1]}, "torch_version": "2.9.0"})


def floats(values):
    return struct.pack("<%df" % len(values), *values)


# A call in a pickle, by names of modules that are not here.
class Call:
    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments


class Storage:
    def __init__(self, key, count):
        self.key, self.count = key, count


class Pickler(pickle._Pickler):
    def persistent_id(self, value):
        return ("storage", Call("torch FloatStorage", None), value.key, "cpu", value.count) if isinstance(
            value, Storage) else None

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Call):
            self.write(b"c" + value.name.replace(" ", "\n").encode() + b"\n")
            if value.arguments is not None:
                self.save(value.arguments)
                self.write(b"R")
            return
        super().save(value, save_persistent_id)


def saved(weights, attack=None, single=False):
    """What torch.save writes for a dictionary of tensors, or for its one tensor."""
    state, storages = {}, []
    for name, (shape, strides, values) in weights.items():
        tensor = (Storage(str(len(storages)), len(values)), 0, tuple(shape), tuple(strides), False,
                  Call("collections OrderedDict", ()))
        state[name] = Call("torch._utils _rebuild_tensor_v2", tensor)
        storages.append(floats(values))
    if attack:
        state["x"] = Call(attack, ("true",))
    text = io.BytesIO()
    Pickler(text, 2).dump(next(iter(state.values())) if single else state)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as z:
        z.writestr("archive/data.pkl", text.getvalue())
        z.writestr("archive/byteorder", "little")
        for i, data in enumerate(storages):
            z.writestr("archive/data/%d" % i, data)
    return made.getvalue()


def members(program, text=None):
    config, found = {}, {"m/archive_format": "pt2", "m/archive_version": "0"}
    found["m/models/model.json"] = text or program.json()
    for i, (name, (shape, strides, values)) in enumerate(program.weights.items()):
        found["m/data/weights/weight_%d" % i] = floats(values)
        config[name] = {"path_name": "weight_%d" % i, "is_param": True, "use_pickle": False,
                        "tensor_meta": meta(shape, FLOAT, strides)}
    found["m/data/weights/model_weights_config.json"] = json.dumps({"config": config})
    found["m/data/constants/model_constants_config.json"] = json.dumps({"config": {}})
    return found


def write(path, found, packed=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", packed) as z:
        for name, data in found.items():
            z.writestr(name, data)


def legacy(path, program, attack=None):
    write(path, {"serialized_exported_program.json": program.json((7, 3)), "version": "7.3",
                 "serialized_state_dict.pt": saved(program.weights, attack), "serialized_constants.pt": saved({})})


A = "torch.ops.aten."


def mlp():
    p = Program()
    p.weight("p_w", "layer.weight", [2, 3], [1, 2, 3, 4, 5, 6], [1, 2])  # a view: the storage is transposed
    p.weight("p_b", "layer.bias", [2], [0.5, -100])
    p.input("x", ["s0", 3])
    p.ranges["s0"] = {"min_val": 2, "max_val": 64}
    p.node("linear", A + "linear.default", ["s0", 2], input="%x", weight="%p_w", bias="%p_b")
    p.node("relu_", A + "relu_.default", ["s0", 2], self="%linear")
    p.symbol("n", A + "sym_size.int", self="%x", dim=0)
    p.symbol("n2", "_operator.mul", a="$n", b=2)
    p.node("view", A + "view.default", ["Mul(Integer(2), Symbol('s0', integer=True, positive=True))"], self="%relu_",
           size=["$n2"])
    p.node("add", A + "add.Tensor", ["2*s0"], self="%view", other=1, alpha=2)
    p.output("add")
    return p


def convolution():
    p = Program()
    p.weight("p_w", "c.weight", [1, 1, 2, 2], [1, 1, 1, 1])
    for name, v in (("g", 2), ("b", 1), ("mean", 4), ("var", 1)):
        p.weight("b_" + name, "bn." + name, [1], [v], kind="buffer")
    p.input("x", [1, 1, 3, 3])
    p.node("conv2d", A + "conv2d.default", [1, 1, 2, 2], input="%x", weight="%p_w", bias=None)
    p.node("batch_norm", A + "batch_norm.default", [1, 1, 2, 2], input="%conv2d", weight="%b_g", bias="%b_b",
           running_mean="%b_mean", running_var="%b_var", training=False, momentum=0.1, eps=0.0, cudnn_enabled=True)
    p.node("max_pool2d", A + "max_pool2d.default", [1, 1, 1, 1], self="%batch_norm", kernel_size=[2, 2])
    p.node("flatten", A + "flatten.using_ints", [1, 1], self="%max_pool2d", start_dim=1)
    p.output("flatten")
    return p


def one(target, shape, dtype=FLOAT, input_shape=(2, 3), /, **arguments):
    """A program of one node over `x`, which is 0, 1, 2, ..."""
    p = Program()
    p.input("x", list(input_shape))
    if isinstance(shape, tuple):
        p.node(["y0", "y1"], A + target, list(shape), dtype, **arguments)
        p.output("y1")
    else:
        p.node("y", A + target, shape, dtype, **arguments)
        p.output("y")
    return p


def shared_memory():
    p = Program()
    p.input("x", [2, 3])
    p.node("v", A + "view.default", [6], self="%x", size=[6])
    p.node("c", A + "add_.Tensor", [6], self="%v", other=1.0)
    p.node("y", A + "mul.Tensor", [2, 3], self="%x", other=2.0)
    p.output("y")
    return p


def changed(kind):
    """A program that changes what lives on after it, through a view."""
    p = Program()
    p.input("x", [2, 3])
    p.weight("b_state", "state", [2, 3], [0] * 6, kind="buffer")
    p.node("v", A + "view.default", [6], self="%x" if kind == "input" else "%b_state", size=[6])
    p.node("y", A + "add_.Tensor", [6], self="%v", other=1.0)
    p.output("y")
    return p


def sizes():
    """Python's arithmetic of sizes, and the assertions that an exported program makes of them."""
    p = Program()
    p.input("x", ["s0", "s1"])
    p.input("z", ["s0 + 1"])
    p.ranges["s0"] = {"min_val": 2, "max_val": None}
    p.symbol("a", A + "sym_size.int", self="%x", dim=0)
    p.symbol("b", A + "sym_size.int", self="%x", dim=-1)
    p.symbol("c", "_operator.add", a="$a", b="$b")
    p.symbol("d", "_operator.sub", a="$c", b=1)
    p.symbol("e", "_operator.floordiv", a="$d", b=2)
    p.call("_operator.ge", [{"as_sym_bool": {"as_name": "f"}}], {"a": "$e", "b": 1})
    p.nodes.append({"target": A + "_assert_scalar.default", "outputs": [], "metadata": {}, "inputs": [
        {"name": "self", "arg": {"as_sym_bool": {"as_name": "f"}}}, {"name": "assert_msg", "arg": {"as_string": "f"}}]})
    for name in ("sym_constrain_range", "sym_constrain_range_for_size"):
        p.call(A + name + ".default", [], {"size": "$e", "min": 1})
    p.call(A + "_assert_tensor_metadata.default", [], {"a": "%x", "dtype": FLOAT})
    p.node("full", A + "full.default", ["((s0 + s1 - 1)//2)"], size=["$e"], fill_value=2.0)
    p.node("y", A + "add.Tensor", ["s0 + 1"], self="%z", other=0.5)
    p.output("full")
    p.output("y")
    return p


def choice():
    """torch.cond(p, lambda a, b: (a + b, a), lambda a, b: (a - b, b * 2), (x, z)); its arguments have no names."""
    p = Program()
    p.input("p", [], BOOL)
    p.input("x", [2])
    p.input("z", [2])
    branches = []
    for name, ops in (("true_graph_0", (("add.Tensor", "%b"), ("mul.Tensor", 1.0))),
                      ("false_graph_0", (("sub.Tensor", "%b"), ("mul.Tensor", 2.0)))):
        inner = Program()
        for n in "ab":
            inner.types[n] = meta([2])
        inner.node("c", A + ops[0][0], [2], self="%a", other=ops[0][1])
        inner.node("d", A + ops[1][0], [2], self="%a" if name[0] == "t" else "%b", other=ops[1][1])
        graph = {"inputs": [{"as_tensor": {"name": n}} for n in "ab"], "outputs": [{"as_tensor": {"name": n}} for n in "cd"],
                 "nodes": inner.nodes, "tensor_values": inner.types, "sym_int_values": {}, "sym_bool_values": {},
                 "is_single_tensor_return": False, "custom_obj_values": {}}
        branches.append({"as_graph": {"name": name, "graph": graph}})
    p.types["y0"], p.types["y1"] = meta([2]), meta([2])
    arguments = [argument("%p"), *branches, argument(["%x", "%z"])]
    p.nodes.append({"target": "torch.ops.higher_order.cond", "outputs": [{"as_tensor": {"name": n}} for n in ("y0", "y1")],
                    "inputs": [{"name": "", "arg": a, "kind": 1} for a in arguments], "metadata": {}})
    p.node("c", A + "mul.Tensor", [], self="%p", other=2.0)  # a name of the branches, with another type
    p.output("y0")
    p.output("y1")
    p.output("c")
    return p


def kinds(path):
    """Weights of every kind: saved buffers, others, constants; raw, pickled, and two views of one storage."""
    p = Program()
    p.input("x", [2])
    names = ["p_a", "p_b", "b_kept", "b_other", "c_tensor"]
    for name, kind in zip(names, ("parameter", "parameter", "buffer", "buffer", "tensor_constant")):
        p.weight(name, name[2:], [2], [1, 2], kind=kind)
    p.inputs[4]["buffer"]["persistent"] = False
    last = "x"
    for i, name in enumerate(names):
        p.node("y%d" % i, A + "add.Tensor", [2], self="%" + last, other="%" + name, alpha=10 ** i)
        last = "y%d" % i
    p.output(last)
    found = members(p)
    entry = {"path_name": "weight_0", "is_param": True, "use_pickle": False, "tensor_meta": meta([2])}
    found["m/data/weights/weight_0"] = floats([1, 2, 3])
    found["m/data/weights/weight_9"] = saved({"": ([2], [1], [5, 6])}, single=True)
    found["m/data/weights/model_weights_config.json"] = json.dumps({"config": {
        "a": entry, "b": {**entry, "tensor_meta": meta([2], FLOAT, None, 1)},
        "kept": {**entry, "path_name": "weight_9", "use_pickle": True}}})
    found["m/data/constants/tensor_0"] = floats([7, 8])
    found["m/data/constants/model_constants_config.json"] = json.dumps({"config": {
        name: {**entry, "path_name": "tensor_0"} for name in ("other", "tensor")}})
    write(path, found)


def lifted(path):
    """`torch.tensor([1.0, 2.0])` in a model: a constant that is copied and detached. Also dropout of an input in place,
    which changes nothing in evaluation mode."""
    p = Program()
    p.input("x", [2])
    p.weight("c_lifted_tensor_0", "lifted_tensor_0", [2], [1, 2], kind="tensor_constant")
    p.node("copied", A + "lift_fresh_copy.default", [2], self="%c_lifted_tensor_0")
    p.node("detached", A + "detach_.default", [2], self="%copied")
    p.node("relu_", A + "relu_.default", [2], self="%detached")
    p.node("kept", A + "dropout_.default", [2], self="%x", p=0.5, train=False)
    p.node("y", A + "add.Tensor", [2], self="%kept", other="%relu_")
    p.node("z", A + "add.Tensor", [2], self="%y", other="%c_lifted_tensor_0")
    p.output("z")
    found = members(p)
    for name in ("weight_0", "model_weights_config.json"):
        found["m/data/constants/" + name.replace("weights", "constants")] = found.pop("m/data/weights/" + name)
    write(path, found)


def nested_size(depth):
    """`s0 - (s0 - (...))`"""
    text = "s0"
    for _ in range(depth):
        text = "s0 - (%s)" % text
    return text


def nested_sizes():
    p = Program()
    p.input("x", ["s0", nested_size(38), "s0 - (2*s0 - 3)"])
    p.node("y", A + "neg.default", ["s0", nested_size(38), 3], self="%x")
    p.output("y")
    return p


def unread_argument():
    p = one("add.Tensor", [2, 3], self="%x", other=1)
    p.nodes[0]["inputs"][1]["arg"] = {"as_complex": {"real": 1.0, "imag": 2.0}}
    return p


def refused():
    p = one("to_sparse.default", [2, 3], self="%x")
    p.node("z", "torch.ops.mine.special.default", [2, 3], self="%y")
    return p


def refused_argument(target, **arguments):
    return one(target, [2, 3], self="%x", **arguments)


def damaged(folder, count):
    rng = random.Random(1)
    text = mlp().json()
    for i in range(count):
        kind = i % 3
        if kind == 0:  # the program
            bad = list(text)
            for _ in range(rng.randrange(1, 4)):
                bad[rng.randrange(len(bad))] = rng.choice('0123456789"{}[],:-estn')
            write("%s/bad%d.pt2" % (folder, i), members(mlp(), "".join(bad)))
        elif kind == 1:  # the bytes of the file
            write("%s/bad%d.pt2" % (folder, i), members(mlp()))
            with open("%s/bad%d.pt2" % (folder, i), "r+b") as f:
                data = bytearray(f.read())
                if rng.randrange(2):
                    del data[rng.randrange(len(data)):]
                else:
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                f.seek(0)
                f.truncate()
                f.write(data)
        else:  # the pickle
            whole = zipfile.ZipFile(io.BytesIO(saved(mlp().weights)))
            inner = {n: bytearray(whole.read(n)) for n in whole.namelist()}
            inner["archive/data.pkl"][rng.randrange(len(inner["archive/data.pkl"]))] = rng.randrange(256)
            state = io.BytesIO()
            write(state, {n: bytes(d) for n, d in inner.items()})
            write("%s/bad%d.pt2" % (folder, i), {"serialized_exported_program.json": mlp().json((7, 3)),
                                                 "serialized_state_dict.pt": state.getvalue()})


def main(folder):
    write(folder + "/mlp.pt2", members(mlp()))
    write(folder + "/packed.pt2", members(mlp()), zipfile.ZIP_DEFLATED)
    legacy(folder + "/legacy.pt2", mlp())
    legacy(folder + "/attack.pt2", mlp(), "os system")
    write(folder + "/convolution.pt2", members(convolution()))
    write(folder + "/shared.pt2", members(shared_memory()))
    write(folder + "/refused.pt2", members(refused()))
    write(folder + "/far_roll.pt2", members(refused_argument("roll.default", shifts=[-2 ** 63], dims=[1])))
    write(folder + "/no_classes.pt2", members(refused_argument("one_hot.default", num_classes=0)))
    write(folder + "/negative_steps.pt2", members(refused_argument("linspace.default", start=0, end=1, steps=-1)))
    bomb = members(mlp())
    bomb["m/models/model.json"] = " " * (1 << 27)
    write(folder + "/bomb.pt2", bomb, zipfile.ZIP_DEFLATED)
    many = members(mlp())
    many["m/models/model.json"] = "[" + "{}," * (1 << 22) + "0]"
    write(folder + "/many.pt2", many, zipfile.ZIP_DEFLATED)
    big_endian = members(mlp())
    big_endian["m/byteorder"] = "big"
    write(folder + "/big_endian.pt2", big_endian)
    lifted(folder + "/lifted.pt2")
    write(folder + "/nested_sizes.pt2", members(nested_sizes()))
    write(folder + "/unread_argument.pt2", members(unread_argument()))
    views = mlp()
    views.weights["layer.weight"] = ([1 << 20, 1 << 20], [0, 0], [1.0])
    write(folder + "/views.pt2", members(views))
    write(folder + "/lie.pt2", members(one("sum.default", [2], self="%x")))
    write(folder + "/sizes.pt2", members(sizes()))
    for kind in ("input", "buffer"):
        write(folder + "/changed_%s.pt2" % kind, members(changed(kind)))
    kinds(folder + "/kinds.pt2")
    write(folder + "/choice.pt2", members(choice()))
    damaged(folder, 90)


if __name__ == "__main__":
    main(sys.argv[1])
