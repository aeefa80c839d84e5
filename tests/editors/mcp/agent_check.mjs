// An agent's session by the client of npm: as the newest revision has it, and with the handshake of the older ones. Prints
// a line for each failure and the totals.
const home = process.env.RLDB_MCP_CLIENT;
const { Client } = await import(`${home}/dist/index.mjs`);
const { StdioClientTransport } = await import(`${home}/dist/stdio.mjs`);

let passed = 0, failed = 0;
async function check(name, work) {
  try {
    await work();
    passed++;
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}: ${error.message.slice(0, 400)}`);
  }
}
function must(good, seen) {
  if (!good) throw new Error(JSON.stringify(seen));
}

async function session(era, options) {
  const client = new Client({ name: 'check', version: '1' }, options);
  const transport = new StdioClientTransport({ command: process.env.RLDB_PROGRAM, args: ['mcp', process.env.RLDB_ROOT] });
  const call = async (name, args = {}) => (await client.callTool({ name, arguments: args })).structuredContent;
  let p;
  await check(`${era}: connects`, () => client.connect(transport));
  await check(`${era}: lists ten tools in the same order, each with both schemas`, async () => {
    const [one, two] = [await client.listTools(), await client.listTools()];
    must(one.tools.length === 10 && one.tools.every(t => t.inputSchema && t.outputSchema), one);
    must(JSON.stringify(one.tools.map(t => t.name)) === JSON.stringify(two.tools.map(t => t.name)), two);
    must(one.tools.find(t => t.name === 'query').annotations.readOnlyHint === true, one);
  });
  await check(`${era}: opens a file below the folder, and no other`, async () => {
    p = (await call('open', { path: 'module.py' })).data.handle;
    const other = await client.callTool({ name: 'open', arguments: { path: '../secret.py' } }).catch(e => e);
    must(other instanceof Error, other);
  });
  await check(`${era}: passes, comparison, versions`, async () => {
    must((await call('run_passes', { program: p, passes: 'LegalizeOps,FuseOps' })).data.length === 2, p);
    must((await call('compare', { program: p, before: 0 })).data.verdict === 'equal', p);
    must((await call('list', { program: p, what: 'history' })).data.length === 3, p);
  });
  await check(`${era}: a run in both directions`, async () => {
    must((await call('debug', { program: p, action: 'start', argument: 'main' })).data.kind === 'entry', p);
    for (const action of ['next', 'next', 'reverse-next', 'stepi', 'frame'])
      must(await call('debug', { program: p, action, run: 'r1' }), action);
    for (const what of ['locals', 'registers', 'heap', 'storage', 'bt', 'origin', 'when', 'disasm'])
      must('data' in await call('query', { program: p, what }), what);
  });
  await check(`${era}: texts are resources`, async () => {
    const list = await client.listResources();
    must(list.resources.some(r => r.uri === `rldb://${p}/module`), list);
    const read = await client.readResource({ uri: `rldb://${p}/module` });
    must(read.contents[0].text.includes('R.function'), read);
  });
  await check(`${era}: a module with a mistake is an error of the tool, not of the protocol`, async () => {
    const reply = await client.callTool({ name: 'open', arguments: { text: 'def main(:\n' } });
    must(reply.isError && reply.structuredContent.diagnostics.length > 0, reply);
  });
  await check(`${era}: closes`, async () => {
    must((await call('close', { program: p })).data.closed === p, p);
    await client.close();
  });
}

await session('2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } });
await session('2025-11-25', { versionNegotiation: { mode: 'legacy' } });
await session('by itself', { versionNegotiation: { mode: 'auto' } });
console.log(`${passed} passed, ${failed} failed`);
process.exit(0);
