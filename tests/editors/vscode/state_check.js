// The stopped program seen from the editor, and changed there: values set, watched and asked about, faults, jumps, restarts,
// instructions, kernels, the console.
'use strict';
const { Window, run, until } = require('./window');
const { button, clearBreakpoints, console_, enabled, end, enterInConsole, expand, menu, pane, start, status, stoppedAt, variables } = require('./debugging');
const { kState, lineOf } = require('./modules');

const kLaunch = {
  version: '0.2.0',
  configurations: [
    { type: 'rldb', request: 'launch', name: 'state', program: '${workspaceFolder}/state.py', inputs: { x: '2x4xf32=arange' } },
    { type: 'rldb', request: 'launch', name: 'narrow', program: '${workspaceFolder}/state.py', function: 'narrow', inputs: { x: '2x4xf32=arange' } },
    { type: 'rldb', request: 'launch', name: 'both ends', program: '${workspaceFolder}/state.py', inputs: { x: '2x4xf32=arange' }, stopOnEntry: true, stopOnExit: true },
  ],
};
const at = (binding) => lineOf(kState, `        ${binding}: `);

let window;
const time = async () => Number(/@(\d+)/.exec(await status())?.[1]);
const widget = () => window.text('.exception-widget');
const row = (text, view = '.debug-variables') => window.page.locator(`${view} .monaco-list-row`).filter({ hasText: text }).first();
const stop = (binding) => stoppedAt(at(binding), 'state.py');

async function breakpoint(line) {
  await window.openFile('state.py');
  await window.goTo(line);
  await window.press('F9');
  await window.page.locator('.editor-group-container.active .codicon-debug-breakpoint, .editor-group-container.active .codicon-debug-breakpoint-unverified').first().waitFor();
}
async function setValue(variable, value) {
  const input = window.page.locator('.debug-variables input:visible').first();  // rows keep the box of an earlier edit
  await until('the box for the value', async () => {
    if (!(await input.isVisible())) await menu(row(variable), 'Set Value');
    return input.fill(value, { timeout: 3000 }).then(() => true, () => false);
  });
  await window.press('Enter');
}
async function tick(filter) {
  await pane('Breakpoints');
  await row(filter, '.debug-breakpoints').locator('input[type=checkbox], .monaco-checkbox').first().click();
}

run('state', [
  ['open', async () => {
    window = await Window.open({ rldb: process.env.RLDB_PROGRAM, files: { 'state.py': kState, '.vscode/launch.json': JSON.stringify(kLaunch) }, size: { width: 1500, height: 1600 } });
    await window.openFile('state.py');
    await window.sees('the language', /TVMScript/, status);
  }],
  ['an element is set, and the run goes on with it', async () => {
    await breakpoint(at('a'));
    await start('state');
    await stop('a');
    await expand('Locals');
    await expand(/^x/);
    await expand(/^\[0\]/);
    await setValue(/^\[1\]\s*=\s*1/, '42');
    await window.sees('the element', /\[1\]\s*=\s*42/, variables);
    await window.press('F10');
    await stop('b');
    await enterInConsole('print a[0, 1]');
    await window.sees('the element made from it', /-42/, console_);
    await window.picture('set-value');
  }],
  ['a value that cannot be is refused with the reason', async () => {
    await window.openFile('state.py');
    await expand(/^x/);
    await expand(/^\[0\]/);
    await setValue(/^\[1\]\s*=\s*42/, 'nonsense');
    await until('the refusal', async () => /nonsense/.test(await window.text('.notifications-toasts .notification-list-item') + await window.text('.monaco-inputbox .message, .debug-variables .error, .debug-variables .value')));
    await window.picture('set-refused');
    await window.press('Escape');
  }],
  ['the writer of a value, by a data breakpoint backwards', async () => {
    await start('state');
    await stop('a');
    await window.press('F10');
    await stop('b');
    await window.press('F10');
    await stop('c');
    await menu(row(/^b/), 'Break on Value Change');
    await window.sees('the data breakpoint', /\bb\b/, () => pane('Breakpoints'));
    const before = await time();
    await button('Reverse');
    await until('an earlier time', async () => (await time()) < before);
    await window.sees('the call stack', /main:[bc]/, () => pane('Call Stack'));
    await window.picture('data-breakpoint');
  }],
  ['jumps: only to what became code, on and back', async () => {
    await start('state');
    await stop('a');
    await window.openFile('state.py');
    await window.goTo(lineOf(kState, 'same:'));
    await window.command('Debug: Jump to Cursor');
    await until('the refusal', async () => /No executable code/i.test(await window.text('.monaco-editor-overlaymessage, .notifications-toasts')));
    await window.openFile('state.py');
    await window.goTo(at('d'));
    await window.command('Debug: Jump to Cursor');
    await window.choose('on to line');
    await stop('d');
    await window.openFile('state.py');
    await window.goTo(at('b'));
    await window.command('Debug: Jump to Cursor');
    await window.choose('back to line');
    await stop('b');
    await window.picture('jumped');
  }],
  ['a jump to what does not come stays here', async () => {
    await window.openFile('state.py');
    await window.goTo(at('a'));
    const before = await time();
    await window.command('Debug: Jump to Cursor');
    await window.choose('on to line');
    await window.sees('the reason', /is not executed after here/, console_);
    await stop('b');
    if ((await time()) !== before) throw new Error('the time is another one');
  }],
  ['a NaN, and what the editor says about it', async () => {
    await window.openFile('state.py');
    await tick('NaN');
    await start('state');
    await stop('a');
    await window.press('F5');
    await window.sees('the exception', /nan[\s\S]*NaN/i, widget);
    await window.sees('its place', /main:c/, widget);
    await window.picture('nan');
    await tick('NaN');
  }],
  ['a shape that does not fit', async () => {
    await start('narrow');
    await window.sees('the exception', /shape[\s\S]*3/i, widget);
    await window.picture('shape-fault');
    const before = await time();
    await button('Step Back');
    await until('an earlier time', async () => (await time()) < before);
  }],
  ['restart begins again, with the breakpoints', async () => {
    await start('state');
    await stop('a');
    const before = await time();
    await window.press('F10');
    await stop('b');
    await (await enabled('Restart')).click();
    await stop('a');
    await until('the time of the first stop', async () => (await time()) === before);
  }],
  ['restart of a frame', async () => {
    await window.press('F10');
    await stop('b');
    const frame = row(/main:b/, '.debug-call-stack');
    const before = await time();
    await menu(frame, 'Restart Frame');
    await stop('a');
    await until('an earlier time', async () => (await time()) < before);
  }],
  ['instructions: a step is one of them, and a breakpoint in the view stops', async () => {
    await window.command('Open Disassembly View');
    await window.sees('the instructions', /vm\.builtin[\s\S]*call/i, () => window.text('.disassembly-view'));
    const before = await time();
    await window.press('F10');
    await until('one instruction', async () => (await time()) === before + 1);
    const kernel = window.page.locator('.disassembly-view .monaco-list-row').filter({ hasText: /tir_negative/ }).first();
    await kernel.locator('.monaco-table-td').first().click();
    await window.sees('the instruction breakpoint', /0x1/, () => pane('Breakpoints'));
    await window.picture('instructions');
    await button('Continue');
    await until('the call of the kernel', async () => (await time()) === before + 5);
    await window.picture('instruction-breakpoint');
    await window.press('Control+w');
  }],
  ['into a kernel: its text, loops, buffers and accesses', async () => {
    await clearBreakpoints();
    await breakpoint(at('b'));
    await start('state');
    await stop('b');
    await window.press('F11');
    await window.sees('the kernel', /add/, () => pane('Call Stack'));
    await window.sees('its text', /T\.(grid|prim_func|serial|sblock)/, () => window.shownText());
    for (const scope of ['Kernel', 'Buffers', 'Accesses']) await expand(scope);
    await window.sees('its scopes', /Kernel[\s\S]*Buffers[\s\S]*Accesses/, variables);
    await window.press('F10');
    await window.picture('in-kernel');
    await (await enabled('Step Out')).click();
    await window.sees('the call stack', /main/, () => pane('Call Stack'));
  }],
  ['the scopes of a frame', async () => {
    for (const scope of [/^Symbols/, /^Shape heap/, /^Registers/]) await expand(scope);
    await window.sees('symbols, slots, registers, storages', /n =2|n = 2|n =\s*2/, variables);
    await window.sees('registers', /%0/, variables);
    await (await expand(/^Registers/)).locator('.monaco-tl-twistie').click();  // folded: the view has room for the next one
    await expand(/^Storage/);
    await window.sees('storages', /s0/, variables);
    await window.picture('scopes');
  }],
  ['the views', async () => {
    await window.sees('the slot of n', /n\s*= 2/, () => pane('Shape Heap'));
    await window.sees('a storage', /s0/, () => pane('Storage'));
    await window.command('rldb: Show the Storage Timeline');
    const wide = await until('the picture', async () => {
      for (const frame of window.page.frames()) {
        const found = await frame.evaluate(() => document.querySelector('img')?.naturalWidth).catch(() => 0);
        if (found) return found;
      }
      return 0;
    });
    if (wide < 50) throw new Error(`the picture is ${wide} pixels wide`);
    await window.picture('storage-timeline');
    await window.press('Control+w');
  }],
  ['why, statistics and a plot of a variable', async () => {
    await window.command('View: Show Run and Debug');
    await expand('Locals');
    await menu(row(/^a/), 'Why This Value?');
    await window.page.locator('.tab.active').filter({ hasText: 'why a' }).waitFor();
    await window.sees('the story', /negative/, () => window.shownText());
    await window.press('Control+w');
    await menu(row(/^a/), 'Statistics');
    await window.sees('the statistics', /mean/, () => window.shownText());
    await window.press('Control+w');
    await menu(row(/^a/), 'Plot');
    await window.page.locator('.tab.active').filter({ hasText: /^a/ }).waitFor();
    await window.picture('plot');
    await window.press('Control+w');
  }],
  ['an entry of the console that changes a value is seen at once', async () => {
    await enterInConsole('set x[0, 2] = 77');
    await window.sees('the reply', /1 element set/, console_);
    await window.sees('the element in the summary of x', /x\s*=[^\n]*77/, variables);
    for (const [entry, pattern] of [['why x', /parameter|x/], [':type R.add(x, x)', /R\.Tensor/], ['bt', /#0/], [':passes LegalizeOps', /LegalizeOps/], ['no such thing', /no such|not|expected|unknown/i]]) {
      await enterInConsole(entry);
      await window.sees(`the reply to ${entry}`, pattern, console_);
    }
    await window.picture('console-entries');
  }],
  ['a conditional breakpoint and a log point', async () => {
    await end();
    await window.openFile('state.py');
    await clearBreakpoints();
    await window.fresh('state.py');
    const box = window.page.locator('.breakpoint-widget .monaco-editor').first();
    await window.goTo(at('c'));
    await window.command('Debug: Add Logpoint...');
    await box.click();
    await window.type('sum is {b.sum()}');
    await window.press('Enter');
    await window.goTo(at('d'));
    await window.command('Debug: Add Conditional Breakpoint...');
    await box.click();
    await window.type('n > 1');
    await window.press('Enter');
    await start('state');
    await stop('d');
    await window.sees('the log', /sum is 0/, console_);
    await window.picture('log-point');
  }],
  ['both ends of a run', async () => {
    await window.openFile('state.py');
    await clearBreakpoints();
    await start('both ends');
    await until('the entry', async () => (await time()) === 0);
    await button('Continue');
    await window.sees('the end', /returned/, () => pane('Call Stack'));
    await window.picture('returned');
    await button('Step Back');
    await window.sees('back in the function', /main:/, () => pane('Call Stack'));
    await end();
  }],
]);
