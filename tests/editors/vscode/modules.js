// The programs that the acceptance scripts open.
'use strict';

const kMlp = `from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 4), dtype="float32"),
        w0: R.Tensor((4, 8), dtype="float32"),
        b0: R.Tensor((8,), dtype="float32"),
    ) -> R.Tensor(("n", 8), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv0: R.Tensor((n, 8), dtype="float32") = R.matmul(x, w0)
            lv1: R.Tensor((n, 8), dtype="float32") = R.add(lv0, b0)
            lv2 = R.nn.relu(lv1)
            gv: R.Tensor((n, 8), dtype="float32") = R.multiply(lv2, lv1)
            R.output(gv)
        return gv
`;

// The line (1-based) and column of the first occurrence of `text` in kMlp.
function placeOf(text, within = '') {
  const from = within ? kMlp.indexOf(within) : 0;
  const before = kMlp.slice(0, kMlp.indexOf(text, from)).split('\n');
  return [before.length, before.at(-1).length + 1];
}

const kRelay = `#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = add(%x, %x);
  nn.relu(%0)
}
`;

const kMixed = `import os
from tvm.script import ir as I
from tvm.script import relax as R

print(os.name)


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        y = R.nn.relux(x)
        return y


def after(z):
    return z.nn.relux
`;

// A value with NaN, a binding that becomes no instruction, a function whose shapes cannot fit.
const kState = `from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        a: R.Tensor((n, 4), dtype="float32") = R.negative(x)
        same: R.Tensor((n, 4), dtype="float32") = a
        b: R.Tensor((n, 4), dtype="float32") = R.add(same, x)
        c: R.Tensor((n, 4), dtype="float32") = R.log(a)
        d: R.Tensor((n, 4), dtype="float32") = R.multiply(c, b)
        return d

    @R.function
    def narrow(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor((3, 4), dtype="float32"):
        y = R.match_cast(x, R.Tensor((3, 4), dtype="float32"))
        z: R.Tensor((3, 4), dtype="float32") = R.add(y, y)
        return z
`;

// The line (1-based) of the first occurrence.
const lineOf = (module, text) => module.slice(0, module.indexOf(text)).split('\n').length;

module.exports = { kMixed, kMlp, kRelay, kState, lineOf, placeOf };
