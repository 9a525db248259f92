// Types of aoi-sync.js. Ids and kinds are numbers up to 2^53 and bigints beyond.
export as namespace aoiSync

export type Id = number | bigint
export type Value = boolean | number | string | Uint8Array

export interface Place { id: Id; x: number; y: number; z?: number }
export interface Appeared extends Place { kind: Id }
export interface Touched { id: Id; kind: Id }
/** x, y [, z]: its offset from the carrier; carrier 0: it rides nothing any more. */
export interface Riding extends Place { carrier: Id }
/** Fields by name; without a prototype, so that each of its keys is a field that was sent: __proto__ may be one. */
export interface State { id: Id; values: Record<string, Value> }

/** What a message says, to be applied in this order; where `anew` is true, all that was known before is forgotten first. */
export interface News {
  anew: boolean
  gone: Id[]
  /** Why each of `gone` is, as the server has said; 0: out of view. */
  reasons: number[]
  appeared: Appeared[]
  moved: Place[]
  touched: Touched[]
  riding: Riding[]
  fields: State[]
}

/** Parts of texts that are not complete yet; opaque. */
export type Parts = Map<Id, object>

/** A RangeError says what is wrong with other bytes; then `parts` is as it was. */
export function read(bytes: Uint8Array | ArrayBuffer, parts?: Parts): News

/** While it has a carrier, x, y [, z] is its offset from that. */
export interface Known extends Appeared { carrier?: Id; fields: Record<string, Value> }

/** What a client knows. A field that was never put is not sent: `defaults` says what it is, by name. */
export class Picture {
  constructor(defaults?: Record<string, Value>)
  known: Map<Id, Known>
  parts: Parts
  apply(bytes: Uint8Array | ArrayBuffer): News
}

/** How strings are shown: UTF-8 unless it is replaced. */
export let text: (bytes: Uint8Array) => string
