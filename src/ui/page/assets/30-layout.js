// Layered layout: every node below its inputs, edges over several layers through places of their own, so that no edge
// passes behind a box. An edge over more than `longest` layers ends in a label: it would only be a line through everything.

const boxHeight = 34, layerGap = 46, boxGap = 16, longest = 10;

// nodes: [{width, inputs}]; returns places {x, y} of the middles of their tops, paths of edges, and cut edges.
function layOut(nodes) {
  const rank = nodes.map(() => 0), users = nodes.map(() => []);
  nodes.forEach((node, i) => node.inputs.forEach((j) => { if (j < i) { rank[i] = Math.max(rank[i], rank[j] + 1); users[j].push(i); } }));
  // Down to the first use: weights are prepared beside the layer of the model that reads them, not all at the top.
  for (let i = nodes.length - 1; i >= 0; --i) if (users[i].length) rank[i] = Math.max(rank[i], users[i].reduce((least, u) => Math.min(least, rank[u]), Infinity) - 1);
  const items = nodes.map((node, i) => ({ width: node.width, rank: rank[i], up: [], down: [], x: 0 }));
  const edges = [], cut = [];
  nodes.forEach((node, i) => node.inputs.forEach((j) => {
    const span = rank[i] - rank[j];
    if (span <= 0 || span > longest) return cut.push([j, i]);
    const chain = [j];
    for (let r = rank[j] + 1; r < rank[i]; ++r) chain.push(items.push({ width: 2, rank: r, up: [], down: [], x: 0, dummy: true }) - 1);
    chain.push(i);
    for (let k = 1; k < chain.length; ++k) { items[chain[k - 1]].down.push(chain[k]); items[chain[k]].up.push(chain[k - 1]); }
    edges.push({ from: j, to: i, chain });
  }));
  const layers = [];
  items.forEach((item, i) => (layers[item.rank] ??= []).push(i));
  for (let r = 0; r < layers.length; ++r) layers[r] ??= [];
  const mean = (list) => list.reduce((sum, i) => sum + items[i].order, 0) / list.length;
  const number = (layer) => layer.forEach((i, k) => { items[i].order = k; });
  layers.forEach(number);
  for (let sweep = 0; sweep < 8; ++sweep) {
    const down = sweep % 2 === 0;
    for (let k = 1; k < layers.length; ++k) {
      const layer = layers[down ? k : layers.length - 1 - k];
      for (const i of layer) { const near = down ? items[i].up : items[i].down; items[i].weight = near.length ? mean(near) : items[i].order; }
      layer.sort((a, b) => items[a].weight - items[b].weight || a - b);
      number(layer);
    }
  }
  for (const layer of layers) { let x = 0; for (const i of layer) { items[i].x = x + items[i].width / 2; x += items[i].width + boxGap; } }
  for (let sweep = 0; sweep < 8; ++sweep)
    for (let k = 0; k < layers.length; ++k) align(items, layers[sweep % 2 === 0 ? k : layers.length - 1 - k], sweep % 2 === 0);
  // One by one: there are too many for the arguments of one call.
  const left = layers.reduce((least, layer) => layer.length ? Math.min(least, items[layer[0]].x - items[layer[0]].width / 2) : least, 0);
  const place = (i) => ({ x: items[i].x - left, y: items[i].rank * (boxHeight + layerGap) });
  return { places: nodes.map((_, i) => place(i)), edges: edges.map((e) => ({ from: e.from, to: e.to, points: e.chain.map(place) })), cut,
    width: items.reduce((most, item) => Math.max(most, item.x + item.width / 2 - left), 0), height: layers.length * (boxHeight + layerGap) };
}

// A layer is put where its neighbours pull it, in its order and without overlaps.
function align(items, layer, down) {
  const wanted = layer.map((i) => {
    const near = down ? items[i].up : items[i].down;
    return near.length ? near.reduce((sum, n) => sum + items[n].x, 0) / near.length : items[i].x;
  });
  let last = -Infinity, drift = 0;
  layer.forEach((i, k) => {
    const least = k === 0 ? -Infinity : last + (items[layer[k - 1]].width + items[i].width) / 2 + boxGap;
    last = items[i].x = Math.max(wanted[k], least);
    drift += last - wanted[k];
  });
  for (const i of layer) items[i].x -= drift / layer.length;
}
function pathOf(points) {
  let d = "";
  points.forEach(({ x, y }, k) => {
    if (k === 0) { d += `M${x} ${y + boxHeight}`; return; }
    const before = points[k - 1], top = before.y + boxHeight, middle = (top + y) / 2;
    d += `C${before.x} ${middle} ${x} ${middle} ${x} ${y}`;
    if (k < points.length - 1) d += `V${y + boxHeight}`;
  });
  return d;
}
