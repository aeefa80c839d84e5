// What a user sees of a debug session in the window, and does there.
'use strict';
const { Window, until } = require('./window');

const console_ = () => Window.last.text('.repl .monaco-list-row');
const variables = () => Window.last.text('.debug-variables .monaco-list-row');
const status = () => Window.last.text('.statusbar-item');

// The line of the arrow in the editor.
async function stoppedAt(line, file = 'mlp.py') {
  await until(`a stop at ${file}:${line}`, async () => {
    await Window.last.page.locator('.tab.active').filter({ hasText: file }).first().waitFor({ timeout: 2000 });
    const at = await arrowLine();
    if (at === line && /=/.test(await variables())) return true;  // it is shown whole: keys are taken from now on
    throw new Error(`stopped at ${at}`);
  });
}

// By the number beside the glyph of the top frame.
async function arrowLine() {
  return Window.last.page.evaluate(() => {
    const glyph = document.querySelector('.editor-group-container.active .codicon-debug-stackframe');
    if (!glyph) return undefined;
    const top = glyph.getBoundingClientRect().top;
    const numbers = [...document.querySelectorAll('.editor-group-container.active .line-numbers')];
    const number = numbers.find((n) => Math.abs(n.getBoundingClientRect().top - top) < 6);
    return number && Number(number.textContent);
  });
}

// Ends what runs, starts a configuration of launch.json.
async function start(name) {
  await end();
  await Window.last.command('Debug: Select and Start Debugging');
  await Window.last.choose(name);
}

// A button of the debugger: forward steps have keys, backward ones don't.
async function button(label) {
  await (await enabled(label)).click();
}
async function enabled(label) {
  const found = Window.last.page.locator(`.action-label[aria-label^="${label}"]:not(.disabled)`).first();
  await found.waitFor();
  return found;
}

// Unfolds a view of the sidebar; its text.
async function pane(title) {
  const header = Window.last.page.locator('.pane-header').filter({ hasText: title }).first();
  if ((await header.getAttribute('aria-expanded')) === 'false') await header.click();
  return (await header.locator('xpath=..').locator('.pane-body .monaco-list-row').allTextContents()).join('\n');
}

async function end() {
  await Window.last.command('View: Show Run and Debug');  // the buttons are there
  const stop = Window.last.page.locator('.action-label[aria-label^="Stop"]').first();
  await until('the end of the session', async () => {
    if (!(await stop.isVisible())) return true;
    await stop.click({ timeout: 1000 }).catch(() => undefined);  // it may just have gone
    await Window.last.page.waitForTimeout(300);
    return false;
  });
}

async function expand(name, view = '.debug-variables') {
  const row = Window.last.page.locator(`${view} .monaco-list-row`).filter({ hasText: name }).first();
  await row.waitFor();
  if ((await row.getAttribute('aria-expanded')) === 'false') await row.locator('.monaco-tl-twistie').click();
  return row;
}

async function enterInConsole(text) {
  await Window.last.command('Debug Console: Focus on Debug Console View');
  await Window.last.page.locator('.repl-input-wrapper .monaco-editor').click();
  await Window.last.type(text);
  await Window.last.press('Enter');
}

// All of them, by the button of their view.
async function clearBreakpoints() {
  await Window.last.command('View: Show Run and Debug');
  await pane('Breakpoints');
  const header = Window.last.page.locator('.pane-header').filter({ hasText: 'Breakpoints' }).first();
  await header.hover();
  const remove = header.locator('.action-label[aria-label^="Remove All Breakpoints"]:not(.disabled)');
  if (await remove.isVisible()) await remove.click();
}

// An item of the menu that the right button opens.
async function menu(row, item) {
  const { page } = Window.last;
  await until(`the menu with ${item}`, async () => {
    await row.click({ button: 'right', timeout: 2000 });
    const found = page.locator('.context-view .action-label').filter({ hasText: item }).first();
    if (!(await found.waitFor({ timeout: 2000 }).then(() => true, () => false))) {
      await Window.last.press('Escape');
      return false;
    }
    await page.waitForTimeout(300);  // a menu ignores clicks while it opens
    await found.click({ delay: 100 });
    return true;
  });
}

module.exports = { arrowLine, button, clearBreakpoints, console_, enabled, end, enterInConsole, expand, menu, pane, start, status, stoppedAt, variables };
