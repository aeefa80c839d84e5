// The language server seen from the editor: diagnostics, hover, completion, definition, rename, quick fix, symbols, for TVMScript,
// Relay, and a Python file with a module in it.
'use strict';
const { Window, run, until } = require('./window');
const { kMixed, kMlp, kRelay, placeOf } = require('./modules');

let window;
const problems = () => window.text('.markers-panel .monaco-list-row');
const hover = () => window.text('.monaco-hover:not(.hidden)');

// Puts the cursor on `text` in kMlp.
async function at(text, within) { await window.goTo(...placeOf(text, within)); }

async function replaceLineFrom(text, within, by) {
  await at(text, within);
  await window.press('Shift+End');
  await window.type(by);
}

async function undo(pattern) {
  await until('the edit to be undone', async () => {
    if (pattern.test(await window.shownText())) return true;
    await window.press('Control+z');
    return false;
  });
}

run('language', [
  ['open', async () => {
    window = await Window.open({
      rldb: process.env.RLDB_PROGRAM, files: { 'mlp.py': kMlp, 'small.relay': kRelay, 'mixed.py': kMixed, 'plain.py': 'print("R.function")\n' },
      settings: { 'editor.wordBasedSuggestions': 'off', 'editor.autoClosingBrackets': 'never' },
    });
    await window.openFile('mlp.py');
  }],
  ['a good module has no problems, and colours by its meaning', async () => {
    await window.sees('the language', /TVMScript/, () => window.text('.statusbar-item'));
    await window.command('Problems: Focus on Problems View');
    await window.sees('no problems', /No problems/, () => window.text('.markers-panel'));
    await window.openFile('mlp.py');
  }],
  ['a wrong operator is a problem, and its fix is offered', async () => {
    await replaceLineFrom('relu(lv1)', 'lv2 =', 'relux(lv1)');
    await window.sees('the problem', /relux/, problems);
    await window.picture('problem');
    await window.press('Control+.');
    await window.sees('the quick fix', /relu\b/, () => window.text('.action-widget'));
    await window.picture('fix');
    await window.press('Enter');
    await window.sees('the fixed text', /lv2.*= R\.nn\.relu\(lv1\)/, () => window.shownText());
    await window.sees('no problems', /No problems/, () => window.text('.markers-panel'));
  }],
  ['a wrong shape is a problem that names both', async () => {
    await replaceLineFrom('matmul(x, w0)', 'lv0:', 'matmul(x, b0)');
    await window.sees('the problem', /matmul/, problems);
    await undo(/matmul\(x, w0\)/);
    await window.sees('no problems', /No problems/, () => window.text('.markers-panel'));
  }],
  ['hover shows a type', async () => {
    await at('lv2 =');
    await window.press('Control+k', 'Control+i');
    await window.sees('the hover', /R\.Tensor\(\(n, 8\), dtype="float32"\)/, hover);
    await window.picture('hover');
    await window.press('Escape');
  }],
  ['hover shows an operator', async () => {
    await at('relu(lv1)', 'lv2 =');
    await window.press('Control+k', 'Control+i');
    await window.sees('the hover', /relax\.nn\.relu|R\.nn\.relu/, hover);
    await window.press('Escape');
  }],
  ['the inferred type is an inlay hint', async () => {
    await window.sees('the hint', /lv2: R\.Tensor\(\(n, 8\)|lv2.*Tensor\(\(n, 8\)/, () => window.shownText());
  }],
  ['completion of operators', async () => {
    await at('relu(lv1)', 'lv2 =');
    await window.press('Shift+End');
    await window.type('gel');
    await window.press('Control+Space');
    await window.sees('the list', /gelu/, () => window.text('.suggest-widget.visible .monaco-list-row'));
    await window.picture('completion');
    await window.press('Escape');
    await undo(/R\.nn\.relu\(lv1\)/);
  }],
  ['completion of names', async () => {
    await at('lv1)', 'lv2 =');
    await window.press('Shift+End');
    await window.type('lv');
    await window.press('Control+Space');
    const list = await window.sees('the list', /lv1/, () => window.text('.suggest-widget.visible .monaco-list-row'));
    if (/lv2/.test(list)) throw new Error('lv2 is offered before it is bound');
    await window.press('Escape');
    await undo(/R\.nn\.relu\(lv1\)/);
  }],
  ['definition', async () => {
    await at('lv0', 'R.add(lv0');
    await window.press('F12');
    await window.sees('the place', new RegExp(`Ln ${placeOf('lv0:')[0]}, `), () => window.text('.statusbar-item'));
  }],
  ['rename', async () => {
    await window.fresh('mlp.py');
    await at('lv1:');
    await window.press('F2');
    await window.page.locator('.rename-box input').fill('hidden');
    await window.press('Enter');
    await window.sees('the uses', /relu\(hidden\)[\s\S]*multiply\(lv2, hidden\)/, () => window.shownText());
    await undo(/lv1: R/);
    await undo(/relu\(lv1\)/);
  }],
  ['symbols', async () => {
    await window.fresh('mlp.py');
    await window.press('Control+Shift+o');
    await window.sees('the list', /main/, () => window.text('.quick-input-list .monaco-list-row'));
    await window.press('Escape');
  }],
  ['Relay', async () => {
    await window.openFile('small.relay');
    await window.goTo(4, 6);
    await window.press('Shift+End');
    await window.type('relux(%0)');
    await window.sees('the problem', /relux/, problems);
    await window.press('Control+z');
    await undo(/relu\(%0\)/);
  }],
  ['a Python file with a module stays Python; its module is checked', async () => {
    await window.openFile('mixed.py');
    await window.sees('the language', /Python/, () => window.text('.statusbar-item'));
    await window.sees('the problem', /relux/, problems);
    const count = ((await problems()).match(/relux/g) ?? []).length;
    if (count !== 1) throw new Error(`${count} problems name relux: Python code was checked too`);
  }],
  ['a Python file without one is left alone', async () => {
    await window.openFile('plain.py');
    await window.sees('the language', /Python/, () => window.text('.statusbar-item'));
    await window.press('Control+Home');
    await window.type('R.');
    await window.page.waitForTimeout(1500);
    const offered = await window.text('.suggest-widget.visible .monaco-list-row');
    if (/matmul/.test(offered)) throw new Error('operators are offered in plain Python');
    await window.press('Escape');
  }],
]);
