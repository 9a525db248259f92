// reason_check.js - the plain words of the viewer name the measure that decides.
'use strict'
const assert = require('assert')
for (const name of ['blocks', 'world', 'rule']) require(`../../js/viewer/${name}.js`)
const V = globalThis.aoiViewer

function reason(dims, area, x, y, z, looks) {
  const world = {
    looks_of: id => ({ layers: 1n, extent: 0, ...(id === 2 ? looks : {}) }),
    dimensions: dims, slots: new Map([[1, 0], [2, 1]]), x: [0, x], y: [0, y], z: [0, z || 0], kinds: [1n, 1n],
    nodes: new Map([[V.nodeKey(1, 7), { area: { margin: 0, half_height: Infinity, ...area }, mask: 1n, keeps: false }]])
  }
  return V.explain(world, 1, 7, 2, () => false).reason
}

const square = { shape: 'square', radius: 1 }, box = { shape: 'box', extents: [5, 1, 2] }
const cylinder = { shape: 'cylinder', radius: 5, half_height: 2 }
assert.equal(reason(2, square, 1.05, 1), 'It is 1.05 away along x, outside the area (square, radius 1).')
assert.equal(reason(2, square, -0.5, 0.75), 'It is 0.75 away along y, inside the area (square, radius 1).')
assert.equal(reason(3, square, 0.5, 0.5, -3), 'It is 3 away along z, outside the area (square, radius 1).')
assert.equal(reason(2, box, 4, 1.5), 'It is 1.5 away along y, outside the area (box 5 × 1).')
assert.equal(reason(3, box, 4, 0, 2.5), 'It is 2.5 away along z, outside the area (box 5 × 1).')
assert.equal(reason(2, { shape: 'circle', radius: 1 }, 3, 4), 'It is 5 away, outside the area (circle, radius 1).')
assert.equal(reason(3, cylinder, 3, 4, 12), 'It is 12 above, outside the area (cylinder, radius 5, ±2 high).')
assert.equal(reason(3, cylinder, 6, 8, -1), 'It is 10 away, outside the area (cylinder, radius 5, ±2 high).')
const circle = { shape: 'circle', radius: 4 }
assert.equal(reason(2, circle, 3, 4, 0, { extent: 1 }), 'It is 5 away, 1 large, inside the area (circle, radius 4).')
assert.equal(reason(2, circle, 3, 4, 0, { extent: 0.5 }), 'It is 5 away, 0.5 large, outside the area (circle, radius 4).')
assert.equal(reason(2, circle, 3, 4, 0, { layers: 6n }), "Its layers 0x6 have no bit of the node's, 0x1.")
const scope = { ...circle, offset: [10, 0, 0] }
assert.equal(reason(2, scope, 13, 0), 'It is 3 away, inside the area (circle, radius 4, offset 10, 0, 0).')
assert.equal(reason(2, scope, 3, 0), 'It is 7 away, outside the area (circle, radius 4, offset 10, 0, 0).')
console.log('ok')
