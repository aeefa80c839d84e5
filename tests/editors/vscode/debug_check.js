// The debugger seen from the editor: breakpoints, steps both ways, values, the IR after a pass, disassembly, the console, views.
'use strict';
const { Window, run, until } = require('./window');
const { button, clearBreakpoints, console_, enabled, end, enterInConsole, expand, pane, start, status, stoppedAt, variables } = require('./debugging');
const { kMlp, placeOf } = require('./modules');

const kLaunch = {
  version: '0.2.0',
  configurations: [
    { type: 'rldb', request: 'launch', name: 'with inputs', program: '${workspaceFolder}/mlp.py', inputs: { x: '7x4xf32=arange' } },
    { type: 'rldb', request: 'launch', name: 'large', program: '${workspaceFolder}/mlp.py', dims: { n: 5000 } },
    { type: 'rldb', request: 'launch', name: 'passes', program: '${workspaceFolder}/mlp.py', passes: ['LegalizeOps'], inputs: { x: '7x4xf32=arange' } },
  ],
};

let window;
const [kLv1] = placeOf('lv1:');

run('debug', [
  ['open', async () => {
    window = await Window.open({ rldb: process.env.RLDB_PROGRAM, files: { 'mlp.py': kMlp, '.vscode/launch.json': JSON.stringify(kLaunch) }, size: { width: 1500, height: 1600 } });
    await window.openFile('mlp.py');
    await window.sees('the language', /TVMScript/, status);
  }],
  ['a breakpoint on a binding', async () => {
    await window.goTo(kLv1);
    await window.press('F9');
    await window.page.locator('.codicon-debug-breakpoint, .codicon-debug-breakpoint-unverified').first().waitFor();
    await start('with inputs');
    await stoppedAt(kLv1);
    await window.picture('stopped');
  }],
  ['the time of the stop', async () => { await window.sees('the status bar', /@\d+/, status); }],
  ['step', async () => {
    await enabled('Step Over');
    await window.press('F10');
    await stoppedAt(kLv1 + 1);
  }],
  ['step back over a binding', async () => {
    const before = await window.sees('the status bar', /@\d+/, status);
    await button('Step Back');
    await stoppedAt(kLv1);
    const time = (text) => Number(/@(\d+)/.exec(text)[1]);
    if (time(await status()) >= time(before)) throw new Error('the time did not go back');
  }],
  ['the shape heap', async () => {
    await window.sees('the slot of n', /n\s*= 7/, () => pane('Shape Heap'));
    await window.picture('heap');
  }],
  ['storages', async () => {
    await window.sees('a storage with its tensors', /s0[\s\S]*lv/, () => pane('Storage'));
    await window.picture('storage');
  }],
  ['a tensor, by its axes', async () => {
    await expand('Locals');
    await window.sees('the tensor', /lv0/, variables);
    await expand('lv0');
    await expand('[0]');
    await window.sees('its elements', /\[0\][\s\S]*\[1\]/, variables);
    await window.picture('tensor');
  }],
  ['a value under the mouse', async () => {
    const word = window.page.locator('.editor-group-container.active .view-line span').filter({ hasText: /^lv0$/ }).first();
    await until('the value', async () => {
      if (await word.count()) await word.hover();
      else await window.page.locator('.editor-group-container.active .view-line').filter({ hasText: 'lv0:' }).first().hover({ position: { x: 100, y: 8 } });
      await window.page.waitForTimeout(600);
      return /Tensor|float32|\[/.test(await window.text('.debug-hover-widget'));
    });
    await window.press('Escape');
  }],
  ['the console takes entries of the prompt', async () => {
    await enterInConsole('heap');
    await window.sees('the reply', /slot 0[\s\S]*= 7/, console_);
    await enterInConsole('print n * 2');
    await window.sees('the reply', /14/, console_);
    await window.picture('console');
  }],
  ['the console completes', async () => {
    await window.type(':sto');
    await window.press('Control+Space');
    await window.sees('the list', /storage/, () => window.text('.suggest-widget.visible .monaco-list-row'));
    await window.press('Escape', 'Control+a', 'Delete');
  }],
  ['an entry of the console that steps moves the editor', async () => {
    await enterInConsole('next');
    await stoppedAt(kLv1 + 1);
    await window.openFile('mlp.py');
    await button('Step Back');
    await stoppedAt(kLv1);
  }],
  ['disassembly', async () => {
    await window.command('Open Disassembly View');
    await window.sees('the instructions', /vm\.builtin|call/i, () => window.text('.disassembly-view'));
    await window.picture('disassembly');
    await window.press('F10');
    await window.page.waitForTimeout(500);
    await window.press('Control+w');
  }],
  ['go to a time', async () => {
    await window.command('rldb: Go to a Time of the Run...');
    await window.answer('0', '');
    await window.sees('the time', /@0\b/, status);
  }],
  ['continue and reverse', async () => {
    await window.press('F5');
    await window.openFile('mlp.py');
    await stoppedAt(kLv1);
    await button('Reverse');
    await until('an earlier time', async () => Number(/@(\d+)/.exec(await status())?.[1]) < 5);
    await end();
  }],
  ['a large tensor comes in pages', async () => {
    await start('large');
    await window.openFile('mlp.py');
    await stoppedAt(kLv1);
    await expand('Locals');
    await expand('lv0');
    await window.sees('the pages', /\[0\.\.99\][\s\S]*\[100\.\.199\]/, variables);
    await expand('[0..99]');
    await window.sees('its rows', /\[0\.\.99\][\s\S]*\[1\]\s*=/, variables);
    await window.picture('pages');
    await end();
  }],
  ['a breakpoint in the IR after a pass', async () => {
    await start('passes');
    await stoppedAt(kLv1);
    await window.press('F9');  // off, in the source
    await window.command('rldb: Show the IR of the Run After a Pass...');
    await window.choose('LegalizeOps', 'Show the IR of the run');
    await window.page.locator('.tab.active').filter({ hasText: 'LegalizeOps' }).waitFor();
    await window.sees('the language', /TVMScript/, status);
    await window.press('Control+End');
    const shown = await window.sees('the IR', /lv1.*call_tir\(cls\.add/, () => window.shownText());
    await window.picture('sources');
    const line = await window.page.evaluate(() => {
      const row = [...document.querySelectorAll('.editor-group-container.active .view-line')].find((l) => /call_tir\(cls\.relu/.test(l.textContent.replace(/\u00a0/g, ' ')));
      const top = row.getBoundingClientRect().top;
      return Number([...document.querySelectorAll('.editor-group-container.active .line-numbers')].find((n) => Math.abs(n.getBoundingClientRect().top - top) < 6).textContent);
    });
    await window.goTo(line);
    await window.press('F9');
    await window.page.locator('.editor-group-container.active .codicon-debug-breakpoint').first().waitFor();
    await (await enabled('Restart')).click();
    await window.sees('a stop at the breakpoint', /main:lv2/, () => pane('Call Stack'));
    await window.picture('ir');
    if (!shown.includes('call_tir(cls.relu')) throw new Error('the IR has no relu');
  }],
  ['F5 without a configuration stops at the entry', async () => {
    await end();
    await clearBreakpoints();
    await window.fresh('mlp.py');
    await window.command('rldb: Debug the Module');
    await window.command('View: Show Run and Debug');
    await window.sees('the call stack', /main/, () => pane('Call Stack'));
    await window.sees('the time', /@\d+/, status);
    await window.picture('entry');
    await end();
  }],
  ['running without the debugger prints the result', async () => {
    await end();
    await window.openFile('mlp.py');
    await window.command('rldb: Run the Module');
    await window.sees('the result', /result: Tensor/, console_);
  }],
]);
