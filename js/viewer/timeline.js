// timeline.js - the time line: bars of events, the playhead, zoom by wheel, pan by dragging with the right button or shift.
//
//   back   all but the playhead, on a canvas of its own: drawn again when the frames, the range, the size or the colours change
(function (V) {
  'use strict'

  // A time as exact as a hundredth of what is shown.
  function rounded(time, span) {
    const places = Math.max(0, 2 - Math.floor(Math.log10(span || 1)))
    return String(Number(time.toFixed(places)))
  }

  class Timeline {
    constructor(canvas, on_seek) {
      this.canvas = canvas
      this.c = canvas.getContext('2d', { alpha: false })
      this.back = document.createElement('canvas')
      this.size = [canvas.clientWidth, canvas.clientHeight]
      new ResizeObserver(() => (this.size = [canvas.clientWidth, canvas.clientHeight])).observe(canvas)
      this.from = 0
      this.to = 1
      this.whole = true
      this.on_seek = on_seek
      canvas.addEventListener('pointerdown', e => this.down(e))
      canvas.addEventListener('wheel', e => this.wheel(e), { passive: false })
      canvas.addEventListener('contextmenu', e => e.preventDefault())
      canvas.addEventListener('dblclick', () => (this.whole = true))
    }

    down(e) {
      const pans = e.button === 2 || e.shiftKey
      let last = e.clientX
      const move = m => {
        if (pans) this.pan((last - m.clientX) / this.canvas.clientWidth)
        else this.on_seek(this.time_of(m))
        last = m.clientX
      }
      this.canvas.setPointerCapture(e.pointerId)
      if (!pans) this.on_seek(this.time_of(e))
      this.canvas.onpointermove = move
      this.canvas.onpointerup = this.canvas.onpointercancel = () => (this.canvas.onpointermove = null)
    }

    time_of(e) {
      const box = this.canvas.getBoundingClientRect()
      return this.from + (e.clientX - box.left) / box.width * (this.to - this.from)
    }

    pan(share) {
      const d = share * (this.to - this.from)
      this.whole = false
      this.from += d
      this.to += d
    }

    wheel(e) {
      e.preventDefault()
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) return this.pan(e.deltaX / this.canvas.clientWidth)
      this.zoom(Math.exp(e.deltaY / 400), this.time_of(e))
    }

    zoom(factor, around) {
      this.whole = false
      this.from = around - (around - this.from) * factor
      this.to = around + (this.to - around) * factor
    }

    // Enter and leave events of each column of pixels.
    bars(rec, width) {
      const counts = new Float32Array(width)
      const span = this.to - this.from || 1
      for (let f = rec.frame_at(this.from); f <= rec.last && rec.frames[f].time <= this.to; f++) {
        const n = (f < rec.last ? rec.events.begin[f + 1] : rec.events.count) - rec.events.begin[f]
        const x = Math.min(width - 1, Math.floor((rec.frames[f].time - this.from) / span * width))
        if (n > counts[x]) counts[x] = n
      }
      return counts
    }

    draw(rec, time, colors, ratio) {
      const { canvas, c, back } = this, width = Math.round(this.size[0] * ratio), height = Math.round(this.size[1] * ratio)
      if (rec.last < 0 || !width || !height) return
      if (this.whole) {
        this.from = rec.frames[0].time
        this.to = Math.max(rec.frames[rec.last].time, this.from + 1e-9)
      }
      const key = [rec.frames.length, rec.events.count, this.from, this.to, width, height, ratio, colors.grid].join()
      const at = Math.round((time - this.from) / (this.to - this.from) * width)
      if (this.key === key && this.at === at) return
      if (this.key !== key) {
        for (const it of [canvas, back]) [it.width, it.height] = [width, height]
        this.draw_back(rec, colors, ratio, width, height)
      }
      this.key = key
      this.at = at
      c.drawImage(back, 0, 0)
      c.fillStyle = colors.hot
      c.fillRect(at - ratio, 0, 2 * ratio, height)
    }

    draw_back(rec, colors, ratio, width, height) {
      const c = this.back.getContext('2d', { alpha: false }), counts = this.bars(rec, width)
      c.fillStyle = colors.grid
      c.fillRect(0, 0, width, height)
      const sorted = counts.filter(n => n > 0).sort(), most = sorted[Math.floor(sorted.length * 0.98)] || 1 // a few may be cut off
      c.fillStyle = colors.part
      const shown = rec.frame_at(this.to) - rec.frame_at(this.from) + 1, bar = Math.max(1, Math.floor(0.8 * width / shown))
      for (let x = 0; x < width; x++)
        if (counts[x]) {
          const h = Math.max(1, (height - 14 * ratio) * Math.min(1, counts[x] / most))
          c.fillRect(x, height - h, bar, h)
        }
      c.fillStyle = colors.dim
      c.font = `${10 * ratio}px system-ui, sans-serif`
      for (let k = 0; k <= 4; k++) {
        const label = rounded(this.from + (this.to - this.from) * k / 4, this.to - this.from)
        c.textAlign = k === 0 ? 'left' : k === 4 ? 'right' : 'center'
        c.fillText(label, (k === 0 ? 3 : k === 4 ? width - 3 : width * k / 4), 10 * ratio)
      }
    }
  }

  V.Timeline = Timeline
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
