// What README.md says about VS Code, done by somebody who has read nothing else: the examples' folder, no launch.json.
'use strict';
const fs = require('fs');
const path = require('path');
const { Window, run, until } = require('./window');

const kExample = fs.readFileSync(path.join(__dirname, '../../../docs/examples/mlp.py'), 'utf8');
const kLine = 21;

let window;
const status = () => window.text('.statusbar-item');
const where = () => window.text('.debug-call-stack .monaco-list-row');

async function press(label) {
  await window.page.locator(`.action-label[aria-label^="${label}"]:not(.disabled)`).first().click();
}

run('readme', [
  ['open', async () => {
    window = await Window.open({ rldb: process.env.RLDB_PROGRAM, files: { 'mlp.py': kExample } });
    await window.openFile('mlp.py');
    await window.sees('the language', /TVMScript/, status);
  }],
  ['a click beside line 21 sets a breakpoint', async () => {
    const number = window.page.locator('.line-numbers').filter({ hasText: new RegExp(`^${kLine}$`) }).first();
    const box = await number.boundingBox();
    await window.page.mouse.click(box.x - 8, box.y + box.height / 2);
    await window.page.locator('.codicon-debug-breakpoint').first().waitFor();
  }],
  ['F5 stops there', async () => {
    await window.press('F5');
    await window.sees('the call stack', /main:lv2/, where);
    await window.sees('the variables', /lv1/, () => window.text('.debug-variables .monaco-list-row'));
    await window.sees('the time', /@\d+/, status);
  }],
  ['Step Over and Step Back', async () => {
    await press('Step Over');
    await window.sees('the call stack', /main:lv3/, where);
    await window.sees('the variables', /lv2 =/, () => window.text('.debug-variables .monaco-list-row'));
    await press('Step Back');
    await window.sees('the call stack', /main:lv2/, where);
  }],
  ['tensors unfold', async () => {
    const row = window.page.locator('.debug-variables .monaco-list-row').filter({ hasText: /^lv1/ }).first();
    await until('its rows', async () => {  // what was clicked may be about to be replaced, after the step
      if (/\[0\]/.test(await window.text('.debug-variables .monaco-list-row'))) return true;
      if ((await row.getAttribute('aria-expanded')) === 'false') await row.locator('.monaco-tl-twistie').click();
      await window.page.waitForTimeout(500);
      return false;
    });
  }],
  ['the shape heap shows n', async () => {
    const header = window.page.locator('.pane-header').filter({ hasText: 'Shape Heap' }).first();
    if ((await header.getAttribute('aria-expanded')) === 'false') await header.click();
    await window.sees('n', /n\s*= \d+/, async () => (await header.locator('xpath=..').locator('.monaco-list-row').allTextContents()).join('\n'));
  }],
  ['the console takes commands of the prompt', async () => {
    await window.page.locator('.repl-input-wrapper .monaco-editor').click();
    await window.type('why lv1');
    await window.press('Enter');
    await window.sees('the reply', /lv0[\s\S]*matmul/, () => window.text('.repl .monaco-list-row'));
    await window.picture('readme-debug');
  }],
  ['a pass and its diff, from the editor\'s context menu', async () => {
    await press('Stop');
    await window.page.locator('.editor-group-container.active .view-line').filter({ hasText: 'lv0:' }).first().click({ button: 'right' });
    await window.page.locator('.context-view .action-label').filter({ hasText: /^rldb$/ }).first().hover();
    const item = window.page.locator('.context-view .action-label').filter({ hasText: 'Run a Pass' }).first();
    await item.waitFor();
    await until('the submenu to be used', async () => {  // a menu ignores clicks while it opens
      if (!(await item.isVisible())) return true;
      await item.click({ delay: 100 });
      await window.page.waitForTimeout(300);
      return false;
    });
    await window.choose('LegalizeOps', 'Run a pass');
    await window.answer('', 'Options');
    await window.sees('the text after the pass', /def add/, () => window.shownText());
    await window.picture('readme-diff');
  }],
]);
