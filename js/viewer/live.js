// live.js - the stream of a running space: server-sent events, each a frame of blocks in base64; what the page looks at goes the
// other way, as the query of a request.
(function (V) {
  'use strict'

  class Live {
    // `query` of the page's own address: who may look, and at which space.
    constructor(query, on_bytes, on_state) {
      Object.assign(this, { query, on_bytes, on_state, wants: {}, delay: 500, received: 0 })
      this.connect()
    }

    address(path, values) {
      const query = new URLSearchParams(this.query)
      for (const [name, value] of Object.entries({ key: this.key, ...values })) query.set(name, value)
      return path + '?' + query
    }

    connect() {
      this.key = Math.random().toString(36).slice(2)
      const source = (this.source = new EventSource(this.address('stream')))
      source.onopen = () => {
        this.delay = 500
        this.on_state('live')
        this.sent = ''
        this.tell(this.wants)
      }
      source.onmessage = e => {
        const bytes = V.fromBase64(e.data)
        this.received += bytes.length
        this.on_bytes(bytes)
      }
      source.onerror = () => {
        source.close()
        this.on_state('disconnected')
        setTimeout(() => this.connect(), this.delay)
        this.delay = Math.min(8000, 2 * this.delay)
      }
    }

    // Everything is sent anew.
    restart() {
      this.source.close()
      this.connect()
    }

    // Says what the page looks at, if that is something else than it said last; one request at a time, so that the last one counts.
    tell(wants) {
      const address = this.address('look', wants)
      this.wants = wants
      if (address === this.sent || this.busy || this.source.readyState !== 1) return
      this.sent = address
      this.busy = fetch(address).catch(() => {}).then(() => {
        this.busy = null
        this.tell(this.wants)
      })
    }
  }

  V.Live = Live
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
