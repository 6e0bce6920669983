// @ts-check

import { Connection } from './connection.js';
import { decodeKey, encode, newNonce, parsePairing } from './handshake.js';
import { NativeHost } from './native_host.js';
import { PersistentValue } from './persistent_value.js';
import { FIRST_PORT, LAST_PORT } from './wire.js';

/** @typedef {import('./connection.js').Credential} Credential */
/** @typedef {import('./connection.js').Owner} Owner */

/**
 * A key of this browser, for which a pairing string was exchanged.
 *
 * @typedef {object} Paired
 * @property {string} id
 * @property {string} key base64url
 * @property {number} port last port of the server
 * @property {string} name of the server
 * @property {number} added ms since 1970
 */

/**
 * How long results of a search for servers are valid, in ms: without notifications of changes, and
 * with them.
 */
const DISCOVERY_TTL_MS = 9_000;
const DISCOVERY_TTL_WATCHED_MS = 25_000;

/** The minimum time between searches that the user did not request, in ms. */
const RESCAN_MIN_MS = 2_000;

/** How often ports are tried on which a paired server might be, in ms. Less often
 * while the native host lists servers. Chrome delays each connection by up to five
 * seconds, depending on how many failed recently. */
const PORT_PROBE_INTERVAL_MS = 2_000;
const PORT_PROBE_INTERVAL_NATIVE_MS = 60_000;

/** How long a lost server is shown while it is not found again, in ms. */
const LOST_SERVER_TTL_MS = 60_000;

/**
 * A server that the native host or a pairing lists.
 * @typedef {{port: number, name: string, isChat: boolean, credentials: Credential[]}} Found
 */

/** Finds servers and maintains one connection to each. */
export class Servers {
  /**
   * @param {chrome.storage.StorageArea} session
   * @param {chrome.storage.StorageArea} local
   * @param {Omit<Owner, 'paired' | 'servers'> & {gone: (c: Connection) => void, searched: () => void}} owner
   *   searched: the native host was queried
   * @param {{open?: (url: string) => WebSocket}} [options]
   */
  constructor(session, local, owner, options = {}) {
    /** @type {PersistentValue<string>} */
    this.instance = new PersistentValue(local, 'instance', '');
    /** @type {PersistentValue<string>} */
    this.run = new PersistentValue(session, 'run', '');
    /** @type {PersistentValue<Paired[]>} */
    this.pairings = new PersistentValue(local, 'pairings', []);
    this.owner = owner;
    this.options = options;
    /** @type {Map<number, Connection>} by port */
    this.connections = new Map();
    this.host = new NativeHost(() => void this.refresh());
    /** When the last search for servers started, in ms since 1970. */
    this.searchedAt = 0;
    /** @type {Promise<void> | null} */
    this.refreshing = null;
    this.refreshAgain = false;
    /**
     * When ports were last probed, in ms since 1970, and which default port is next while few are
     * tried.
     */
    this.portScanAt = 0;
    this.nextScanPort = FIRST_PORT;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** The pairing that worked last, by port. It is tried first. @type {Map<number, string>} */
    this.worked = new Map();
    this.ready = Promise.all([this.instance.ready, this.run.ready, this.pairings.ready]).then(() => {
      for (const stored of [this.instance, this.run]) {
        if (stored.value !== '') continue;
        stored.value = encode(newNonce().slice(0, 16));
        stored.saveSoon();
      }
    });
  }

  /** Returns a connection for each port that is or will be tried. @returns {Connection[]} */
  all() {
    return [...this.connections.values()].sort((a, b) => a.port - b.port);
  }

  /** Returns the servers that are known or were recently connected, but not ports on which
   * one might be. @returns {Connection[]} */
  list() {
    return this.all().filter((c) => !c.fromPortScan || c.state === 'connected'
      || wasConnected(c)
      || (c.state === 'refused' && !WRONG_KEY_REASONS.has(c.reason)));
  }

  connected() {
    return this.list().filter((c) => c.state === 'connected');
  }

  /** Returns the name of a server for the user. @param {string} key */
  nameOf(key) {
    return this.all().find((c) => c.key === key)?.server?.name ?? 'an agent';
  }

  /**
   * Searches for servers and connects to those that are not connected. Calls during a
   * search lead to one more search.
   *
   * @param {boolean} [now] ignore the delays before reconnects
   * @returns {Promise<void>}
   */
  refresh(now = false) {
    if (now) {
      for (const c of this.connections.values()) c.due = 0;
      this.portScanAt = 0;
    }
    if (this.refreshing) {
      this.refreshAgain = true;
      return this.refreshing;
    }
    const run = async () => {
      do {
        this.refreshAgain = false;
        await this.discover().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      } while (this.refreshAgain);
    };
    this.refreshing = run().finally(() => {
      this.refreshing = null;
      this.schedule();
    });
    return this.refreshing;
  }

  /**
   * Searches for servers if the results of the last search have expired. The alarm calls
   * it periodically.
   *
   * @returns {Promise<void>}
   */
  async renew() {
    if (Date.now() - this.searchedAt > (this.host.watches ? DISCOVERY_TTL_WATCHED_MS : DISCOVERY_TTL_MS)) await this.refresh();
  }

  /** Searches for servers because the user is about to act, unless the native host
   * reports changes. */
  rescanIfStale() {
    if (!this.host.watches && Date.now() - this.searchedAt > RESCAN_MIN_MS) void this.refresh();
  }

  async discover() {
    await this.ready;
    this.searchedAt = Date.now();
    const found = new Map((await this.queryHost()).map((s) => [s.port, s]));
    this.owner.searched();
    const scanned = this.paired().filter((s) => !found.has(s.port));
    const possible = new Set([...found.keys(), ...scanned.map((s) => s.port)]);
    for (const [port, c] of this.connections) {
      if (!possible.has(port) && c.state !== 'connected' && c.state !== 'connecting') this.forget(c);
    }
    await Promise.all([...found.values()].map((s) => this.connectTo(s))); // first: see PORT_PROBE_INTERVAL_MS
    await Promise.all(this.portsToTry(scanned).map((s) => this.connectTo(s)));
  }

  /**
   * Selects the ports to try now from those on which a paired server might be.
   * A recently connected one is tried when its delay is over.
   *
   * @param {Found[]} scanned
   * @returns {Found[]}
   */
  portsToTry(scanned) {
    if (scanned.length === 0) return [];
    const lost = scanned.filter((s) => {
      const c = this.connections.get(s.port);
      return c !== undefined && wasConnected(c);
    });
    if (Date.now() < this.nextPortProbe()) return lost;
    const all = this.portScanAt === 0 || this.host.state !== 'ok';
    this.portScanAt = Date.now();
    if (all) return scanned;
    this.nextScanPort = this.nextScanPort >= LAST_PORT ? FIRST_PORT : this.nextScanPort + 1;
    return scanned.filter((s) => lost.includes(s) || s.port === this.nextScanPort || this.pairings.value.some((p) => p.port === s.port));
  }

  /** Returns when ports are probed next, in ms since 1970. */
  nextPortProbe() {
    return this.portScanAt + (this.host.state === 'ok' ? PORT_PROBE_INTERVAL_NATIVE_MS : PORT_PROBE_INTERVAL_MS);
  }

  /**
   * Queries the native messaging host for the running servers. Their keys are
   * queried before each attempt, because they change when a server restarts.
   *
   * @returns {Promise<Found[]>}
   */
  async queryHost() {
    return (await this.host.servers(this.instance.value)).flatMap((s) => {
      const key = decodeKey(s?.token);
      if (!key || !isPort(s.port)) return [];
      /** @type {Found} */
      const found = { port: s.port, name: typeof s.name === 'string' ? s.name.slice(0, 200) : '', isChat: s.given === true, credentials: [{ kind: 'boot', key }] };
      return [found];
    });
  }

  /**
   * Returns the ports on which a paired server may be: the default ports and the last known ones.
   * Each key is tried on each port.
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
      return { port, name: '', isChat: false, credentials: sorted.flatMap((p) => {
        const key = decodeKey(p.key);
        return key ? [/** @type {Credential} */ ({ kind: 'paired', key })] : [];
      }) };
    });
  }

  /** @param {Found} found */
  async connectTo(found) {
    let c = this.connections.get(found.port);
    if (!c) {
      c = this.newConnection(found.port);
      this.connections.set(found.port, c);
    }
    c.fromPortScan = found.credentials[0]?.kind === 'paired';
    if (!c.fromPortScan) c.isChat = found.isChat; // the host lists it: before the server can send a command
    if (c.state === 'connected' || c.state === 'connecting' || c.due > Date.now()) return;
    for (const credential of found.credentials) {
      if (credential.kind === 'boot') this.worked.delete(found.port);
      if (await c.connect(credential)) {
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
      if (!WRONG_KEY_REASONS.has(c.reason)) break; // another key does not help
    }
    if (this.connections.get(found.port) !== c) return; // it was closed
    // No server on a port on which one might have been: nothing to report.
    if (c.fromPortScan && c.state === 'waiting' && !wasConnected(c) && !this.pairings.value.some((p) => p.port === found.port)) {
      this.forget(c);
    }
  }

  /** @param {number} port */
  newConnection(port) {
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
        this.portScanAt = 0; // the server may be on any port
        void this.refresh();
      },
      paired: () => {}, // only pair() requests a key
    }, this.options.open);
  }

  /** @param {Connection} c */
  forget(c) {
    if (this.connections.get(c.port) === c) this.connections.delete(c.port);
    this.owner.gone(c);
  }

  /** Sets a timer for the next attempt. If the worker is terminated, and its timer with it,
   * the alarm takes over. */
  schedule() {
    if (this.refreshing) return;
    clearTimeout(this.timer);
    const due = this.all().filter((c) => c.state === 'waiting' || c.state === 'refused')
      .map((c) => (c.fromPortScan && !wasConnected(c) ? Math.max(c.due, this.nextPortProbe()) : c.due));
    if (due.length === 0) return;
    this.timer = setTimeout(() => void this.refresh(), Math.max(50, Math.min(...due) - Date.now()));
  }

  /**
   * Exchanges a pairing string for a key of this browser. It throws an
   * Error with a message for the user.
   *
   * @param {string} text
   * @returns {Promise<void>}
   */
  async pair(text) {
    const parsed = parsePairing(text);
    if (!parsed) throw new Error('this is not a pairing string: it starts with cm1- and is shown once by chrome-mcp --print-pairing');
    await this.ready;
    /** @type {Uint8Array | null} */
    let own = null;
    const c = this.newConnection(parsed.port);
    c.owner = { ...c.owner, paired: (_, key) => {
      own = key;
      // Only now: the server of the current connection may be running. Its tabs stay reserved for it, as
      // after any reconnect.
      this.connections.get(parsed.port)?.close();
      this.connections.set(parsed.port, c);
    } };
    const connected = await c.connect({ kind: 'pairing', key: parsed.secret });
    if (!connected || !own) {
      const why = c.message;
      c.close();
      throw new Error(why === '' ? 'no server responds; is it still running?' : why);
    }
    const key = encode(own);
    const id = encode(newNonce().slice(0, 6));
    this.worked.set(parsed.port, id);
    this.pairings.value = [...this.pairings.value, {
      id, key, port: parsed.port, name: c.server?.name ?? '', added: Date.now(),
    }];
    await this.pairings.save();
  }

  /** Removes a key, and closes the connections that it opened. @param {string} id */
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

/** Reasons for which another key may succeed. */
const WRONG_KEY_REASONS = new Set(['bad_server', 'not_paired', 'bad_proof']);

/** Reports whether a server on the port was connected recently. @param {Connection} c */
function wasConnected(c) {
  return Date.now() - c.lostAt < LOST_SERVER_TTL_MS;
}

/** @param {unknown} port @returns {port is number} */
function isPort(port) {
  return typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65536;
}

/** Returns the version of the browser, for display. */
function browserVersion() {
  return /Chrom(?:e|ium)\/([0-9.]+)/.exec(navigator.userAgent)?.[1] ?? 'unknown';
}
