// The live page in Chromium: page_check.js URL STATIC_FILE BIG_URL VALUES_FILE LONG_FILE LONG_FOLDER BIG_FILE BIG_SERVER. Each step is one check; pictures go to RLDB_PICTURES.
'use strict';
const fs = require('fs');
const path = require('path');
const { chromium } = require(path.join(process.env.RLDB_EDITOR_TOOLS, 'node_modules/playwright-core'));

const [live, file, big, withValues, long, longTexts, bigFile, bigServer] = process.argv.slice(2);
const kClick = 200;  // milliseconds from a click to its effect, at 10,000 bindings
let passed = 0, failed = 0;

async function step(name, work) {
  try {
    await work();
    ++passed;
  } catch (error) {
    ++failed;
    console.log(`failed: ${name}: ${error.message.split('\n')[0]}`);
  }
}
function check(ok, seen) { if (!ok) throw new Error(`seen: ${JSON.stringify(seen)}`); }

async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1500, height: 900 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.outside = [];
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('console', (message) => { if (message.type() === 'error') page.problems.push(message.text()); });
  page.on('dialog', (dialog) => { page.problems.push('dialog'); dialog.dismiss(); });
  page.on('request', (request) => { if (!request.url().startsWith(url.split('#')[0]) && !request.url().startsWith('data:')) page.outside.push(request.url()); });
  await page.goto(url);
  return page;
}
const picture = (page, name) => process.env.RLDB_PICTURES ? page.screenshot({ path: path.join(process.env.RLDB_PICTURES, `page_${name}.png`) }) : null;
const row = (page, pane, text) => page.locator(`#${pane} .row`, { hasText: text }).first();
// From an input event until the page has drawn what it asked for.
const timed = (page, work, done) => page.evaluate(async ([work, done]) => {
  const begin = performance.now();
  eval(`(() => {${work}})()`);
  const test = new Function(`return ${done}`);
  while (!test()) { await new Promise((next) => requestAnimationFrame(next)); if (performance.now() - begin > 20000) return 20000; }
  return performance.now() - begin;
}, [work, done]);

async function session(page) {
  await step('the panes have texts', async () => { await row(page, 'left', 'lv1').waitFor(); await row(page, 'right', 'lv1').waitFor(); });
  await step('a line lights up its relatives', async () => {
    await page.selectOption('#right select >> nth=0', { label: 'VM instructions' });
    await row(page, 'right', 'main').waitFor();
    await row(page, 'left', 'lv1: R').hover();
    await page.locator('#right .row.lit').first().waitFor();
    check(await page.locator('#left .row.lit').count() === 1, await page.locator('#left .row.lit').count());
  });
  await step('a breakpoint by a click', async () => {
    await row(page, 'left', 'lv2: R').locator('.gutter').click();
    await page.locator('#left .gutter.point').waitFor();
  });
  await step('start, continue, back', async () => {
    await page.click('#verbs button:has-text("start")');
    await page.locator('#status', { hasText: 'stopped at main' }).waitFor();
    await page.click('#verbs button:text-is("▶▶")');
    await page.locator('#status', { hasText: 'main:lv2' }).waitFor();
    await page.locator('#left .row.now', { hasText: 'lv2' }).waitFor();
    await page.click('#verbs button:text-is("◀ next")');
    await page.locator('#status', { hasText: 'main:lv1' }).waitFor();
    await picture(page, 'stopped');
  });
  await step('a value, and why', async () => {
    await row(page, 'left', 'lv0: R').locator('span >> nth=1').click();
    await page.locator('canvas.heat').waitFor();
    await picture(page, 'value');
    await page.click('#panel button:text-is("why?")');
    await page.locator('#panel h2', { hasText: 'Why lv0' }).waitFor();
  });
  await step('the shape heap', async () => { await page.click('#tabs button:text-is("Shape heap")'); await page.locator('#panel td', { hasText: /^n$/ }).waitFor(); });
  await step('memory', async () => { await page.click('#tabs button:text-is("Memory")'); await page.locator('#panel svg rect').first().waitFor(); await picture(page, 'memory'); });
  await step('the graph, by keys', async () => {
    await page.selectOption('#right select >> nth=0', { label: 'graph' });
    await page.locator('#right [data-node="gv"]').waitFor();
    await page.locator('#right svg.graph').focus();
    await page.keyboard.press('ArrowDown');
    await page.locator('#right g.picked').waitFor();
    check(await page.evaluate('app.panes[1].graph.layout.curved'), 'Graphviz');
    await picture(page, 'graph');
  });
  await step('kernels', async () => {
    for (const [form, word] of [['TensorIR', 'def '], ['LLVM', 'define'], ['assembly', 'ret']]) {
      await page.selectOption('#right select >> nth=0', { label: 'kernel: ' + form });
      await page.fill('#right input[type=search]', word);
      await page.press('#right input[type=search]', 'Enter');
      await row(page, 'right', word).waitFor();
    }
    await picture(page, 'kernel');
  });
  await step('a statement of a kernel lights up its LLVM and its machine code', async () => {
    await page.selectOption('#left select >> nth=0', { label: 'kernel: as compiled' });
    await page.selectOption('#left select >> nth=1', 'matmul');
    for (const form of ['LLVM', 'assembly']) {
      await page.selectOption('#right select >> nth=0', { label: 'kernel: ' + form });
      await page.selectOption('#right select >> nth=1', 'matmul');
      for (const pane of ['left', 'right']) await page.locator(`#${pane}[aria-busy=false]`).waitFor();
      await page.fill('#left input[type=search]', '+ x_panel');
      await page.press('#left input[type=search]', 'Enter');
      await page.waitForTimeout(500);
      await page.locator('#right .row.lit').first().waitFor();
      await picture(page, 'kernel_' + form);
      const [lit, all] = await page.evaluate('[document.querySelectorAll("#right .row.lit").length, document.querySelectorAll("#right .row").length]');
      check(lit > 0 && lit < all, [lit, all]);
    }
    await page.fill('#left input[type=search]', '');
    await page.selectOption('#left select >> nth=0', { label: '0  as loaded' });
  });
  await step('a profile, and its calls', async () => {
    await page.click('#tabs button:text-is("Profile")');
    await page.click('#panel button:text-is("run")');
    await page.locator('#panel svg.flame rect').first().waitFor({ timeout: 60000 });
    const before = await page.locator('#panel svg.flame rect').count();
    await page.locator('#panel svg.flame g').last().click({ force: true });
    check(before > 1 && await page.locator('#panel svg.flame rect').count() <= before, before);
    await picture(page, 'profile');
  });
  await step('everything that can be used has a name for a screen reader', async () => {
    const session = await page.context().newCDPSession(page);
    const { nodes } = await session.send('Accessibility.getFullAXTree');
    const used = nodes.filter((n) => !n.ignored && ['button', 'combobox', 'textbox', 'searchbox', 'listbox', 'option', 'tab', 'tabpanel', 'application', 'img', 'image', 'log', 'toolbar'].includes(n.role?.value));
    const without = used.filter((n) => !n.name?.value?.trim() && !(n.role.value === 'option' || n.role.value === 'tabpanel'));
    check(used.length > 40 && !without.length, [used.length, without.map((n) => n.role.value + ' ' + n.backendDOMNodeId)]);
  });
  await step('names with every character', async () => {
    check((await page.evaluate('get("value", { name: "a&b=c#d%41+\u00e9", index: "" })')).name === 'a&b=c#d%41+\u00e9', 0);
  });
  await step('the console', async () => {
    await page.fill('#entry', ':bt');
    await page.press('#entry', 'Enter');
    await page.locator('#log', { hasText: '#0' }).waitFor();
  });
  await step('no errors, nothing from elsewhere', async () => check(!page.problems.length && !page.outside.length, [page.problems, page.outside]));
}

async function written(browser) {
  const page = await open(browser, 'file://' + file);
  await step('the static form', async () => { await row(page, 'right', 'x').waitFor(); await picture(page, 'static'); });
  await step('its source', async () => {
    await page.selectOption('#left select >> nth=0', { label: 'the source' });
    await row(page, 'left', 'from tvm.script import relax').waitFor();
    await picture(page, 'static_source');
  });
  await step('its differences', async () => { await page.selectOption('#right select >> nth=0', { label: 'its differences' }); await page.locator('#right .row.add').first().waitFor(); await picture(page, 'diff'); });
  await step('nothing of the program runs', async () => check(!page.problems.length && !page.outside.length, [page.problems, page.outside]));
  await step('its report', async () => { await page.click('header button:text-is("report")'); await page.locator('#report h1').waitFor(); });
  const plain = await open(browser, 'file://' + file, { javaScriptEnabled: false });
  await step('readable without scripts', async () => check((await plain.textContent('#text-0')).includes('def main'), ''));
}

async function values(browser) {
  const page = await open(browser, 'file://' + withValues);
  await step('values in the static form', async () => {
    await row(page, 'left', 'lv0').locator('span >> nth=1').click();
    await page.locator('canvas.heat').waitFor();
    await picture(page, 'static_values');
  });
  await step('nothing is wrong there', async () => check(!page.problems.length && !page.outside.length, [page.problems, page.outside]));
}

// The texts of versions that stand there by their changes only.
async function longForm(browser) {
  const page = await open(browser, 'file://' + long, { bypassCSP: true });
  await row(page, 'right', 'main').waitFor({ timeout: 60000 });
  const files = fs.readdirSync(longTexts).sort();
  const versions = await page.evaluate('app.program.versions.map((v) => v.by_build ? "" : v.pass)');
  for (const file of files) {
    const version = versions.indexOf(/^\d+_(\w+)\.py$/.exec(file)?.[1]);
    if (version < 0) continue;  // it changed nothing
    await step(`the text after ${file}`, async () => {
      const text = await page.evaluate(`cached("text", { version: ${version} }).then((doc) => doc.text)`);
      const wanted = fs.readFileSync(path.join(longTexts, file), 'utf8').split('\n').filter((l) => l.includes('R.') || l.includes('T.'));
      const got = text.split('\n').filter((l) => l.includes('R.') || l.includes('T.'));
      const at = got.findIndex((l, i) => l !== wanted[i]);
      check(got.length === wanted.length && at < 0, [got.length, wanted.length, got[at], wanted[at]]);
    });
  }
  await step('some are put together', async () => check(await page.evaluate('Object.entries(recorded).some(([k, v]) => k.startsWith("text?") && v.added)'), 0));
}

const most = (page, name, work, done) => step(name, async () => {
  const spent = await timed(page, work, done);
  console.log(`${name}: ${(spent / kClick).toFixed(2)} of the limit`);
  check(spent <= kClick, spent);
});

// Milliseconds of a processor that the server has used: what a step costs it, however busy the machine is.
function spentByServer() {
  const folder = `/proc/${bigServer}/task`;
  return fs.readdirSync(folder).reduce((sum, thread) => sum + Number(fs.readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6, 0);
}
const cheap = (page, name, entry) => step(name, async () => {
  const before = spentByServer();
  await page.evaluate(`enter("${entry}")`);
  const spent = spentByServer() - before;
  console.log(`${name}: ${spent.toFixed(0)} ms of the server`);
  check(spent <= kClick, spent);
});

// The static form of 10,000 bindings.
async function largeFile(browser) {
  const page = await open(browser, 'file://' + bigFile, { bypassCSP: true });
  await row(page, 'left', 'main').waitFor({ timeout: 60000 });
  await most(page, 'static: a line', 'app.panes[0].list.pick(5000)', 'document.querySelector("#left .row.picked")');
  await page.waitForTimeout(1500);  // texts are read ahead
  await most(page, 'static: a version', 'select(1)', 'app.panes[1].lines.some((l) => l.includes("R.call_tir"))');
  await most(page, 'static: back', 'select(0)', 'app.panes[1].lines.slice(-10).some((l) => l.includes("R.add"))');
  await page.selectOption('#right select >> nth=0', { label: 'graph' });
  await page.locator('#right [data-node]').first().waitFor({ timeout: 60000 });
  await most(page, 'static: a node', 'app.panes[1].graph.pick(5000); app.panes[1].graph.center(5000)', 'document.querySelector("#right g.picked")');
  await step('nothing is wrong in it', async () => check(!page.problems.length && !page.outside.length, [page.problems, page.outside]));
  await picture(page, 'static_large');
}

async function large(browser) {
  // The measurement evaluates expressions, which the page's own policy refuses.
  const page = await open(browser, big, { bypassCSP: true });
  await row(page, 'left', 'main').waitFor({ timeout: 60000 });
  await step('10,000 bindings', async () => check(await page.evaluate('app.panes[0].lines.length > 10000'), 0));
  await most(page, 'a line', 'app.panes[0].list.pick(5000)', 'document.querySelector("#left .row.picked")');
  await most(page, 'a scroll', 'document.querySelector("#left .list").scrollTop = 90000', '[...document.querySelectorAll("#left .row")].some((r) => Number(r.dataset.i) > 4990)');
  await page.evaluate('enter(":pipeline LegalizeOps")');
  await page.waitForFunction('app.program.versions.length > 1', null, { timeout: 60000 });
  await page.waitForTimeout(5000);  // texts are read ahead
  await most(page, 'another version', 'select(0)', 'app.panes[1].lines.slice(-10).some((l) => l.includes("R.add"))');
  await most(page, 'a version', 'select(1)', 'app.panes[1].lines.some((l) => l.includes("R.call_tir"))');
  await page.evaluate('select(0)');
  await page.selectOption('#right select >> nth=0', { label: 'graph' });
  await page.locator('#right [data-node]').first().waitFor({ timeout: 60000 });
  await most(page, 'a node', 'app.panes[1].graph.pick(5000); app.panes[1].graph.center(5000)', 'document.querySelector("#right g.picked")');
  await most(page, 'a zoom', 'app.panes[1].graph.zoom(0.2)', 'document.querySelectorAll("#right g[data-node]").length > 3');
  await picture(page, 'large');
  await page.evaluate('showSide("stop")');
  await page.evaluate('enter(":start")');
  await page.evaluate('enter(":break main:layer199_v9990")');
  await page.evaluate('enter(":continue")');
  await page.locator('#status', { hasText: 'main:layer199_v9990' }).waitFor({ timeout: 60000 });
  await cheap(page, 'the first step among 10,000 bindings', ':next');
  for (const entry of [':next', ':reverse-next', ':step']) await cheap(page, `${entry} among 10,000 bindings`, entry);
  await page.locator('#panel .local', { hasText: 'layer199_v9990' }).waitFor();
  await picture(page, 'large_stop');
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.RLDB_CHROMIUM, args: ['--no-sandbox'] });
  try {
    const page = await open(browser, live);
    await session(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture(page, 'dark');
    await written(browser);
    await values(browser);
    await longForm(browser);
    await large(browser);
    await largeFile(browser);
  } finally {
    await browser.close();
  }
  console.log(`${passed} passed, ${failed} failed`);
})().catch((error) => { console.log(error.message); console.log('0 passed, 1 failed'); });
