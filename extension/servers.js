// @ts-check

import { Connection } from './connection.js';
import { decodeKey, encode, newNonce, parsePairing } from './handshake.js';
import { NativeHost } from './native.js';
import { Stored } from './store.js';
import { FIRST_PORT, LAST_PORT } from './wire.js';

/** @typedef {import('./connection.js').Credential} Credential */
/** @typedef {import('./connection.js').Owner} Owner */

/**
 * A key of this browser's own, which a pairing string was exchanged for.
 *
 * @typedef {object} Paired
 * @property {string} id
 * @property {string} key base64url
 * @property {number} port where the server was
 * @property {string} name of the server
 * @property {number} added ms since 1970
 */

/** How long what was found holds when nobody tells of changes, in ms; and when somebody does. */
const LOOK_AGAIN = 9_000;
const LOOK_AGAIN_WATCHED = 25_000;

/** How long a look that nobody asked for holds, in ms. */
const GLANCE_AGAIN = 2_000;

/** How often ports on which a paired server only might be are tried, in ms:
 * rarely while the native host names servers. The browser holds each dial back
 * for the longer, up to five seconds, the more of them failed lately. */
const GUESS_AGAIN = 2_000;
const GUESS_AGAIN_NAMED = 60_000;

/** How long a server whose connection was lost is told of while nobody names it, in ms. */
const TELL_LOST = 60_000;

/** A server that the native host or a pairing names. @typedef {{port: number, name: string, credentials: Credential[]}} Found */

/** Finds servers and keeps one connection to each. */
export class Servers {
  /**
   * @param {chrome.storage.StorageArea} session
   * @param {chrome.storage.StorageArea} local
   * @param {Omit<Owner, 'paired' | 'servers'> & {gone: (c: Connection) => void, looked: () => void}} owner looked: the native host was asked
   * @param {{open?: (url: string) => WebSocket}} [options]
   */
  constructor(session, local, owner, options = {}) {
    /** @type {Stored<string>} */
    this.instance = new Stored(local, 'instance', '');
    /** @type {Stored<string>} */
    this.run = new Stored(session, 'run', '');
    /** @type {Stored<Paired[]>} */
    this.pairings = new Stored(local, 'pairings', []);
    this.owner = owner;
    this.options = options;
    /** @type {Map<number, Connection>} by port */
    this.connections = new Map();
    this.host = new NativeHost(() => void this.refresh());
    /** When servers were last looked for, in ms since 1970. */
    this.lookedAt = 0;
    /** @type {Promise<void> | null} */
    this.refreshing = null;
    this.again = false;
    /** When ports were guessed last, in ms since 1970, and which of the usual ones comes next while few are tried. */
    this.guessedAt = 0;
    this.nextGuess = FIRST_PORT;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** The key that worked last, by port: tried first. @type {Map<number, string>} */
    this.worked = new Map();
    this.ready = Promise.all([this.instance.ready, this.run.ready, this.pairings.ready]).then(async () => {
      for (const stored of [this.instance, this.run]) {
        if (stored.value !== '') continue;
        stored.value = encode(newNonce().slice(0, 16));
        await stored.save();
      }
    });
  }

  /** Every port that is or will be dialed. @returns {Connection[]} */
  all() {
    return [...this.connections.values()].sort((a, b) => a.port - b.port);
  }

  /** The servers that are there, or were a moment ago; not the ports where one
   * only might be. @returns {Connection[]} */
  list() {
    return this.all().filter((c) => !c.guessed || c.state === 'connected'
      || wasThere(c)
      || (c.state === 'refused' && !OTHERS_KEY.has(c.reason)));
  }

  connected() {
    return this.list().filter((c) => c.state === 'connected');
  }

  /**
   * Looks for servers and dials those that are not connected. Calls that
   * come while it runs are one more run after it.
   *
   * @param {boolean} [now] dial also what is in a pause
   * @returns {Promise<void>}
   */
  refresh(now = false) {
    if (now) {
      for (const c of this.connections.values()) c.due = 0;
      this.guessedAt = 0;
    }
    if (this.refreshing) {
      this.again = true;
      return this.refreshing;
    }
    const run = async () => {
      do {
        this.again = false;
        await this.look().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      } while (this.again);
    };
    this.refreshing = run().finally(() => {
      this.refreshing = null;
      this.schedule();
    });
    return this.refreshing;
  }

  /**
   * Looks for servers if that was a while ago: called at every turn of the
   * alarm.
   *
   * @returns {Promise<void>}
   */
  async renew() {
    if (Date.now() - this.lookedAt > (this.host.watches ? LOOK_AGAIN_WATCHED : LOOK_AGAIN)) await this.refresh();
  }

  /** Looks for servers because the user is about to do something, unless the
   * native host tells of them anyway. */
  glance() {
    if (!this.host.watches && Date.now() - this.lookedAt > GLANCE_AGAIN) void this.refresh();
  }

  async look() {
    await this.ready;
    this.lookedAt = Date.now();
    const found = new Map((await this.ask()).map((s) => [s.port, s]));
    this.owner.looked();
    const guesses = this.paired().filter((s) => !found.has(s.port));
    const possible = new Set([...found.keys(), ...guesses.map((s) => s.port)]);
    for (const [port, c] of this.connections) {
      if (!possible.has(port) && c.state !== 'connected' && c.state !== 'connecting') this.forget(c);
    }
    await Promise.all([...found.values()].map((s) => this.reach(s))); // first: see GUESS_AGAIN
    await Promise.all(this.due(guesses).map((s) => this.reach(s)));
  }

  /**
   * Picks the ports to try now, of those where a paired server only might be.
   * One that was connected is dialed again when its pause is over.
   *
   * @param {Found[]} guesses
   * @returns {Found[]}
   */
  due(guesses) {
    if (guesses.length === 0) return [];
    const lost = guesses.filter((s) => {
      const c = this.connections.get(s.port);
      return c !== undefined && wasThere(c);
    });
    if (Date.now() < this.guessDue()) return lost;
    const all = this.guessedAt === 0 || this.host.state !== 'ok';
    this.guessedAt = Date.now();
    if (all) return guesses;
    this.nextGuess = this.nextGuess >= LAST_PORT ? FIRST_PORT : this.nextGuess + 1;
    return guesses.filter((s) => lost.includes(s) || s.port === this.nextGuess || this.pairings.value.some((p) => p.port === s.port));
  }

  /** When ports are guessed again, in ms since 1970. */
  guessDue() {
    return this.guessedAt + (this.host.state === 'ok' ? GUESS_AGAIN_NAMED : GUESS_AGAIN);
  }

  /**
   * Asks the native messaging host for the servers that live. Their keys are
   * asked for anew before each dial: they change when a server restarts.
   *
   * @returns {Promise<Found[]>}
   */
  async ask() {
    return (await this.host.servers()).flatMap((s) => {
      const key = decodeKey(s?.token);
      if (!key || !isPort(s.port)) return [];
      /** @type {Found} */
      const found = { port: s.port, name: typeof s.name === 'string' ? s.name.slice(0, 200) : '', credentials: [{ kind: 'boot', key }] };
      return [found];
    });
  }

  /**
   * Without a native host, servers are where they usually are: each key is
   * tried on each port.
   *
   * @returns {Found[]}
   */
  paired() {
    if (this.pairings.value.length === 0) return [];
    const ports = new Set(this.pairings.value.map((p) => p.port));
    for (let port = FIRST_PORT; port <= LAST_PORT; port++) ports.add(port);
    return [...ports].map((port) => {
      const worked = this.worked.get(port);
      const sorted = [...this.pairings.value].sort((a, b) => Number(b.id === worked) - Number(a.id === worked) || Number(b.port === port) - Number(a.port === port));
      return { port, name: '', credentials: sorted.flatMap((p) => {
        const key = decodeKey(p.key);
        return key ? [/** @type {Credential} */ ({ kind: 'paired', key })] : [];
      }) };
    });
  }

  /** @param {Found} found */
  async reach(found) {
    let c = this.connections.get(found.port);
    if (!c) {
      c = this.make(found.port);
      this.connections.set(found.port, c);
    }
    c.guessed = found.credentials[0]?.kind === 'paired';
    if (c.state === 'connected' || c.state === 'connecting' || c.due > Date.now()) return;
    for (const credential of found.credentials) {
      if (credential.kind === 'boot') this.worked.delete(found.port);
      if (await c.dial(credential)) {
        const used = encode(credential.key);
        const pairing = this.pairings.value.find((p) => p.key === used);
        if (pairing) {
          this.worked.set(found.port, pairing.id);
          if (c.server && (pairing.name !== c.server.name || pairing.port !== c.port)) {
            pairing.name = c.server.name;
            pairing.port = c.port;
            this.pairings.saveSoon();
          }
        }
        return;
      }
      if (!OTHERS_KEY.has(c.reason)) break; // another key will not help
    }
    // Nobody there, where a server only might have been: nothing to tell of.
    if (c.guessed && c.state === 'waiting' && !wasThere(c) && !this.pairings.value.some((p) => p.port === found.port)) {
      this.forget(c);
    }
  }

  /** @param {number} port */
  make(port) {
    const { id, getManifest } = chrome.runtime;
    return new Connection(port, {
      instance: this.instance.value, run: this.run.value,
      ext: { id, version: getManifest().version, chrome: browserVersion() },
    }, {
      changed: (c) => {
        this.owner.changed(c);
        if (c.state === 'waiting' || c.state === 'refused') this.schedule();
      },
      command: (c, command) => this.owner.command(c, command),
      policy: (c) => this.owner.policy(c),
      servers: () => {
        this.guessedAt = 0; // it may be on any port
        void this.refresh();
      },
      paired: () => {}, // only pair() asks for a key
    }, this.options.open);
  }

  /** @param {Connection} c */
  forget(c) {
    if (this.connections.get(c.port) === c) this.connections.delete(c.port);
    this.owner.gone(c);
  }

  /** Sets a timer for the dial that is due next. The alarm stands behind it:
   * a worker with nothing to do ends, and its timers with it. */
  schedule() {
    if (this.refreshing) return;
    clearTimeout(this.timer);
    const due = this.all().filter((c) => c.state === 'waiting' || c.state === 'refused')
      .map((c) => (c.guessed && !wasThere(c) ? Math.max(c.due, this.guessDue()) : c.due));
    if (due.length === 0) return;
    this.timer = setTimeout(() => void this.refresh(), Math.max(50, Math.min(...due) - Date.now()));
  }

  /**
   * Exchanges a pairing string for a key of this browser's own. Throws an
   * Error in words for the user.
   *
   * @param {string} text
   * @returns {Promise<void>}
   */
  async pair(text) {
    const parsed = parsePairing(text);
    if (!parsed) throw new Error('this is not a pairing string: it begins with cm1- and is shown once by chrome-mcp --print-pairing');
    await this.ready;
    /** @type {Uint8Array | null} */
    let own = null;
    const c = this.make(parsed.port);
    c.owner = { ...c.owner, paired: (_, key) => { own = key; } };
    const before = this.connections.get(parsed.port);
    if (before) {
      before.close();
      this.forget(before);
    }
    this.connections.set(parsed.port, c);
    const welcome = await c.dial({ kind: 'pairing', key: parsed.secret });
    if (!welcome || !own) {
      const why = c.message;
      c.close();
      this.forget(c);
      throw new Error(why === '' ? 'no server answers; is it still running?' : why);
    }
    const key = encode(own);
    const id = encode(newNonce().slice(0, 6));
    this.worked.set(parsed.port, id);
    this.pairings.value = [...this.pairings.value, {
      id, key, port: parsed.port, name: c.server?.name ?? '', added: Date.now(),
    }];
    await this.pairings.save();
  }

  /** Forgets a key, and ends what it opened. @param {string} id */
  async unpair(id) {
    const gone = this.pairings.value.find((p) => p.id === id);
    if (!gone) return;
    this.pairings.value = this.pairings.value.filter((p) => p !== gone);
    await this.pairings.save();
    for (const [port, worked] of this.worked) {
      if (worked !== id) continue;
      this.worked.delete(port);
      const c = this.connections.get(port);
      if (!c) continue;
      c.close();
      this.forget(c);
    }
  }
}

/** Why a server refuses that another key opens, or none of ours. */
const OTHERS_KEY = new Set(['bad_server', 'not_paired', 'bad_proof']);

/** Whether a server was on the port a moment ago. @param {Connection} c */
function wasThere(c) {
  return Date.now() - c.lostAt < TELL_LOST;
}

/** @param {unknown} port @returns {port is number} */
function isPort(port) {
  return typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65536;
}

/** The version of the browser, for people. */
function browserVersion() {
  return /Chrom(?:e|ium)\/([0-9.]+)/.exec(navigator.userAgent)?.[1] ?? 'unknown';
}
