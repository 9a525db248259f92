// live.js - the stream of a running space: blocks by WebSocket; what the page looks at goes the other way, as JSON.
(function (V) {
  'use strict'

  class Live {
    constructor(url, on_bytes, on_state) {
      Object.assign(this, { url, on_bytes, on_state, wants: {}, delay: 500, received: 0 })
      this.connect()
    }

    connect() {
      const socket = (this.socket = new WebSocket(this.url))
      socket.binaryType = 'arraybuffer'
      socket.onopen = () => {
        this.delay = 500
        this.on_state('live')
        this.sent = ''
        this.tell(this.wants)
      }
      socket.onmessage = e => {
        if (typeof e.data === 'string') return
        this.received += e.data.byteLength
        this.on_bytes(new Uint8Array(e.data))
      }
      socket.onclose = () => {
        this.on_state('disconnected')
        setTimeout(() => this.connect(), this.delay)
        this.delay = Math.min(8000, 2 * this.delay)
      }
    }

    // Everything is told anew.
    restart() { this.socket.close() }

    // Says what the page looks at, if that is something else than it said last.
    tell(wants) {
      const text = JSON.stringify(wants)
      this.wants = wants
      if (text === this.sent || this.socket.readyState !== 1) return
      this.sent = text
      this.socket.send(text)
    }
  }

  V.Live = Live
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
