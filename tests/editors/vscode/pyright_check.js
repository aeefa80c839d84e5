// pyright on the same Python file: each of the two servers speaks of its own part of the text, and nothing is said twice.
'use strict';
const path = require('path');
const { Window, run } = require('./window');

// Stands for TVM, so that pyright knows the names.
const kStub = { 'tvm/__init__.py': '', 'tvm/script/__init__.py': 'from . import ir, relax\n',
  'tvm/script/ir.py': 'def ir_module(cls):\n    """A module."""\n    return cls\n',
  'tvm/script/relax.py': 'def function(f):\n    return f\ndef Tensor(shape, dtype):\n    """A type."""\ndef add(x1, x2):\n    """Python: add."""\ndef exp(x):\n    """Python: exp."""\n' };

const kText = `import os
from tvm.script import ir as I
from tvm.script import relax as R

count: int = "none"


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, R.const(1, "int8"))
        return y


def after(zebra: str) -> str:
    return zebra.upper()
`;

let window;
const problems = () => window.text('.markers-panel .monaco-list-row');
const hover = () => window.text('.monaco-hover:not(.hidden)');
const offered = () => window.text('.suggest-widget.visible .monaco-list-row');
const count = (text, pattern) => (text.match(pattern) ?? []).length;

async function at(text) {
  const before = kText.slice(0, kText.indexOf(text)).split('\n');
  await window.goTo(before.length, before.at(-1).length + 1);
}
function once(what, text, pattern, wanted = 1) {
  if (count(text, pattern) !== wanted) throw new Error(`${what}: ${pattern} is there ${count(text, pattern)} times in: ${text.slice(0, 1500)}`);
}

run('pyright', [
  ['open', async () => {
    window = await Window.open({
      rldb: process.env.RLDB_PROGRAM, files: { ...kStub, 'both.py': kText },
      extensions: [path.join(__dirname, 'pyright')],
      settings: { 'editor.wordBasedSuggestions': 'off', 'editor.autoClosingBrackets': 'never' },
    });
    await window.openFile('both.py');
    await window.sees('the language', /Python/, () => window.text('.statusbar-item'));
  }],
  ['diagnostics: each mistake once, from the server whose it is', async () => {
    await window.command('Problems: Focus on Problems View');
    await window.sees("pyright's", /"none"|Literal|is not assignable/, problems);
    const all = await window.sees("rldb's", /int8/, problems);
    await window.picture('pyright-problems');
    once("rldb's", all, /int8[^\n]*float32|float32[^\n]*int8/g);
    await window.openFile('both.py');
  }],
  ['a hover in the module has what rldb knows, once', async () => {
    await at('add(x, R');
    await window.press('Control+k', 'Control+i');
    const text = await window.sees('the hover', /R\.add\(x1, x2\)/, hover);
    once('the hover', text, /R\.add\(x1, x2\)/g);
    await window.picture('pyright-hover');
    await window.press('Escape');
  }],
  ['a hover outside is one of pyright', async () => {
    await at('zebra.upper');
    await window.press('Control+k', 'Control+i');
    const text = await window.sees('the hover', /zebra: str/, hover);
    once('the hover', text, /zebra: str/g);
    if (/R\.|Tensor/.test(text)) throw new Error(text);
    await window.press('Escape');
  }],
  // VS Code adds up what its servers offer: pyright's `add` is a function of Python.
  ['completion in the module: each operator of rldb once', async () => {
    await at('add(x, R');
    await window.press('Shift+End');
    await window.type('ad');
    await window.press('Control+Space');
    const list = await window.sees('the list', /R\.add/, offered);
    await window.picture('pyright-completion');
    once('the list', list, /^R\.add/gm);
    if (!list.startsWith('R.add')) throw new Error(`rldb's is not the first: ${list}`);
    await window.press('Escape', 'Control+z', 'Control+z');
  }],
  ['completion outside is one of pyright', async () => {
    await window.fresh('both.py');
    await at('zebra.upper');
    await window.press('Shift+End');
    await window.type('zeb');
    await window.press('Control+Space');
    const list = await window.sees('the list', /zebra/, offered);
    once('the list', list, /zebra/g);
    if (/matmul|relax/.test(list)) throw new Error(list);
    await window.press('Escape');
  }],
]);
