// The commands: a pass and its diff, the module after a pass, a kernel in its forms, the graph, the terminal.
'use strict';
const { Window, run, until } = require('./window');
const { kMlp, kRelay, placeOf } = require('./modules');

let window;

run('commands', [
  ['open', async () => {
    window = await Window.open({ rldb: process.env.RLDB_PROGRAM, files: { 'mlp.py': kMlp, 'small.relay': kRelay } });
  }],
  ['a file with nothing but TVMScript becomes TVMScript', async () => {
    await window.openFile('mlp.py');
    await window.sees('the language', /TVMScript/, () => window.text('.statusbar-item'));
  }],
  ['a pass and its diff', async () => {
    await window.fresh('mlp.py');
    await window.command('rldb: Run a Pass and Show the Diff...');
    await window.choose('LegalizeOps', 'Run a pass');
    await window.answer('', 'Options');
    await window.page.locator('.tab.active').filter({ hasText: 'mlp: LegalizeOps' }).waitFor();
    await window.sees('the text after the pass', /def matmul/, () => window.shownText());
    await window.press('Control+End');
    await window.sees('its end', /R\.call_tir\(cls\.matmul/, () => window.shownText());
    await window.picture('diff');
  }],
  ['a pass that changes nothing', async () => {
    await window.fresh('mlp.py');
    await window.command('rldb: Run a Pass and Show the Diff...');
    await window.choose('DeadCodeElimination', 'Run a pass');
    await window.answer('', 'Options');
    await window.message(/DeadCodeElimination changes nothing in mlp/);
  }],
  ['unsaved text is what the pass gets', async () => {
    await window.fresh('mlp.py');
    await window.goTo(...placeOf('relu(lv1)'));
    await window.press('Shift+End');
    await window.type('silu(lv1)');
    await window.command('rldb: Run a Pass and Show the Diff...');
    await window.choose('LegalizeOps', 'Run a pass');
    await window.answer('', 'Options');
    await window.sees('the text after the pass', /cls\.silu/, async () => {
      await window.press('Control+End');
      return window.shownText();
    });
  }],
  ['the module after a pass', async () => {
    await window.fresh('mlp.py');
    await window.command('rldb: Show the Module After a Pass...');
    await window.choose('Other passes...', 'Show the module after a pass');
    await window.answer('LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR', 'LegalizeOps');
    await window.choose('after FuseOps', 'mlp: LegalizeOps');
    await window.page.locator('.tab.active').filter({ hasText: 'mlp after FuseOps' }).waitFor();
    await window.sees('the language', /TVMScript/, () => window.text('.statusbar-item'));
    await window.sees('the fused function', /def fused_\w+/, async () => {
      await window.press('PageDown');
      return window.shownText();
    });
    await window.picture('after');
  }],
  ['passes that do not exist are refused with a hint', async () => {
    await window.fresh('mlp.py');
    await window.command('rldb: Show the Module After a Pass...');
    await window.choose('Other passes...', 'Show the module after a pass');
    await window.answer('LegaliseOps', 'LegalizeOps');
    await window.message(/LegalizeOps/);
  }],
  ...[['TensorIR', /@T\.prim_func/], ['Scheduled TensorIR', /is_scheduled/], ['LLVM IR', /define /], ['Assembly', /\b(mov|ret|push)/]].map(([form, pattern]) => [`a kernel's ${form}`, async () => {
    await window.fresh('mlp.py');
    await window.command('rldb: Show a Kernel (TensorIR, LLVM, Assembly)...');
    await window.choose('matmul', 'Show a kernel');
    await window.choose(form);
    await window.page.locator('.tab.active').filter({ hasText: `(${form})` }).waitFor();
    await window.sees('the kernel', pattern, async () => {
      const text = await window.shownText();
      await window.press('PageDown');
      return text;
    });
    await window.picture(`kernel-${form}`);
  }]),
  ['the graph', async () => {
    await window.fresh('mlp.py');
    await window.command('rldb: Show the Graph of a Function');
    await window.page.locator('.tab.active').filter({ hasText: 'mlp: graph of main' }).waitFor();
    const size = await until('the picture', async () => {
      for (const frame of window.page.frames()) {
        const found = await frame.evaluate(() => document.querySelector('img')?.naturalWidth).catch(() => 0);
        if (found) return found;
      }
      return 0;
    });
    await window.picture('graph');
    if (size < 50) throw new Error(`the picture is ${size} pixels wide`);
  }],
  ['passes of a Relay program', async () => {
    await window.fresh('small.relay');
    await window.command('rldb: Run a Pass and Show the Diff...');
    await window.choose('ToANormalForm', 'Run a pass');
    await window.press('Enter');
    await window.sees('the text after the pass', /let %/, () => window.shownText());
  }],
  ['a kernel of a Relay program', async () => {
    await window.fresh('small.relay');
    await window.command('rldb: Show a Kernel (TensorIR, LLVM, Assembly)...');
    await window.choose('relu', 'Show a kernel');
    await window.choose('TensorIR');
    await window.sees('the kernel', /T\.prim_func/, () => window.shownText());
  }],
  ['the terminal', async () => {
    await window.fresh('mlp.py');
    await window.command('rldb: Open rldb Terminal Here');
    await window.sees('the prompt', /rldb>/, () => window.text('.terminal-wrapper .xterm-rows'));
    await window.type(':type lv2\n');
    await window.sees('the type', /R\.Tensor\(\(n, 8\)/, () => window.text('.terminal-wrapper .xterm-rows'));
    await window.picture('terminal');
  }],
]);
