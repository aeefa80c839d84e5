// "Show a Kernel": its TensorIR, the schedule's steps, LLVM IR or assembly, of the program in the editor. Kernels are those
// that the build makes, after the passes of the setting rldb.passes.
'use strict';
const vscode = require('vscode');
const executable = require('./executable');
const pictures = require('./pictures');
const texts = require('./texts');
const { nameOf, textOf } = require('./passes');
const { repliesWithProgress } = require('./replies');

const kForms = [
  { label: 'TensorIR', detail: 'the kernel as the passes made it', entry: (k) => `:schedule ${k}`, ending: '.tvm.py' },
  {
    label: 'Scheduled TensorIR', detail: 'after the default schedule, from which code is generated', entry: (k) => `:schedule ${k}`, ending: '.tvm.py',
    textOf: (reply) => reply.data.steps.at(-1)?.text ?? reply.data.text,
  },
  { label: 'LLVM IR', detail: 'after optimisation', entry: (k) => `:llvm ${k}`, ending: '.ll' },
  { label: 'Assembly', detail: 'the machine code', entry: (k) => `:asm ${k}`, ending: '.s' },
];

// The setting's passes, and those that any build applies: what operators become is a kernel only then. A Relay program is
// translated first.
function preparation(document) {
  if (document.languageId === 'relay') return [':to-relax', ':pipeline minimum?'];
  const passes = executable.trustedSetting('passes');
  return [...(passes ? [`:pipeline ${passes}`] : []), ':pipeline minimum?'];
}

async function showKernel(document) {
  const listed = await repliesWithProgress('building', document, [...preparation(document), ':info functions']);
  const kernels = (listed.at(-1).data ?? []).filter((f) => f.kind === 'prim_func');
  if (!kernels.length) return void vscode.window.showInformationMessage('rldb: this program has no kernels.');
  const kernel = await vscode.window.showQuickPick(kernels.map((k) => ({ label: k.name, detail: k.type?.text })),
                                                   { title: 'Show a kernel', placeHolder: 'The kernel' });
  if (!kernel) return;
  const form = await vscode.window.showQuickPick(kForms, { title: kernel.label, placeHolder: 'Its form' });
  if (!form) return;
  const shown = await repliesWithProgress(kernel.label, document, [...preparation(document), form.entry(kernel.label)]);
  await texts.show(`${nameOf(document)} ${kernel.label} (${form.label})`, form.ending, (form.textOf ?? textOf)(shown.at(-1)));
}

async function showGraph(document) {
  const [listed] = await repliesWithProgress('listing the functions', document, [':info functions']);
  const functions = listed.data.filter((f) => f.kind === 'relax');
  const chosen = functions.length === 1 ? { label: functions[0].name }
    : await vscode.window.showQuickPick(functions.map((f) => ({ label: f.name, detail: f.type })), { title: 'Show the graph', placeHolder: 'The function' });
  if (!chosen) return;
  const svg = await pictures.drawn((file) => repliesWithProgress('drawing', document, [`:graph ${chosen.label} -o ${file}`]));
  pictures.show(`${nameOf(document)}: graph of ${chosen.label}`, svg);
}

module.exports = { showGraph, showKernel };
