// Commands that show what passes make of the program in the editor. The passes, pipelines and their options come from
// rldb's own tables (`:passes`, `:pipeline`).
'use strict';
const path = require('path');
const vscode = require('vscode');
const executable = require('./executable');
const texts = require('./texts');
const { repliesWithProgress } = require('./replies');

const textOf = (reply) => reply.data?.text ?? reply.text ?? '';
const endingOf = (document) => (document.languageId === 'relay' ? '.relay' : '.tvm.py');
const nameOf = (document) => path.basename(document.uri.path).replace(/(\.tvm)?\.(py|relay)$/, '');

function optionText(option) {
  return `${option.name}=${option.default ?? option.type}`;
}

async function choosePass(passes) {
  const items = passes.map((pass) => ({
    label: pass.name,
    description: pass.options?.length ? `(${pass.options.map(optionText).join(', ')})` : '',
    detail: pass.doc,
    pass,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title: 'Run a pass', placeHolder: 'A pass', matchOnDetail: true });
  if (!chosen?.pass.options?.length) return chosen?.label;
  const options = await vscode.window.showInputBox({
    title: chosen.label,
    prompt: chosen.pass.options.map((o) => `${optionText(o)}: ${o.doc}`).join('; '),
    placeHolder: 'Options, e.g. name=value, name=value. Empty: the defaults',
  });
  if (options === undefined) return undefined;
  return options.trim() ? `${chosen.label}(${options.trim()})` : chosen.label;
}

async function runPass(document) {
  const [listed] = await repliesWithProgress('listing the passes', document, [':passes']);
  const pass = await choosePass(listed.data);
  if (!pass) return;
  const [before, applied, after] = await repliesWithProgress(pass, document, [':show', `:run-pass ${pass}`, ':show']);
  const ending = endingOf(document);
  const name = nameOf(document);
  if (textOf(before) === textOf(after)) {
    vscode.window.showInformationMessage(`rldb: ${pass} changes nothing in ${name}.`);
    return;
  }
  const changed = (applied.data ?? []).flatMap((p) => p.changed ?? []).map((c) => c.function).join(', ');
  await texts.showDiff(`${name}: ${pass}${changed ? ` (${changed})` : ''}`, ending,
                       { title: `${name} before ${pass}`, text: textOf(before) }, { title: `${name} after ${pass}`, text: textOf(after) });
}

async function choosePipeline(document) {
  const [listed] = await repliesWithProgress('listing the pipelines', document, [':pipeline']);
  const setting = executable.trustedSetting('passes');
  const items = listed.data.map((p) => ({ label: p.name, detail: p.doc, description: (p.passes ?? []).length ? `${p.passes.length} passes` : '' }));
  if (setting) items.unshift({ label: setting, detail: 'the setting rldb.passes' });
  items.push({ label: 'Other passes...', isOther: true });
  const chosen = await vscode.window.showQuickPick(items, { title: 'Show the module after a pass', placeHolder: 'The pipeline that is applied' });
  if (!chosen?.isOther) return chosen?.label;
  return vscode.window.showInputBox({ title: 'Passes', placeHolder: 'LegalizeOps,FuseOps(fuse_opt_level=1),...' });
}

// The versions that a pipeline makes; the text of the one chosen, beside the editor.
async function showAfterPass(document) {
  const pipeline = await choosePipeline(document);
  if (!pipeline) return;
  const [, history] = await repliesWithProgress(pipeline, document, [`:pipeline ${pipeline}`, ':history']);
  const items = history.data.map((v) => ({
    label: v.by === 'load' ? 'as loaded' : `after ${v.pass}`,
    description: v.changed?.length ? v.changed.map((c) => c.function ?? c).join(', ') : v.by === 'load' ? '' : 'no change',
    version: v.version,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title: `${nameOf(document)}: ${pipeline}`, placeHolder: 'The version to show' });
  if (!chosen) return;
  const shown = await repliesWithProgress(chosen.label, document, [`:pipeline ${pipeline}`, `:rewind ${chosen.version}`, ':show']);
  await texts.show(`${nameOf(document)} ${chosen.label}`, endingOf(document), textOf(shown[2]));
}

module.exports = { endingOf, nameOf, runPass, showAfterPass, textOf };
