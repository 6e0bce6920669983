// @ts-check

import { clientProof, decodeKey, encode, importKey, newNonce, unseal, verifyServer } from './handshake.js';
import { CLOSE, HELLO_TIMEOUT_MS, MAX_FRAME, MAX_HANDSHAKE_FRAME, VERSION } from './wire.js';

/**
 * @typedef {object} Credential
 * @property {'boot' | 'paired' | 'pairing'} kind
 * @property {Uint8Array<ArrayBuffer>} key
 */

/**
 * Who we are, as the hello says it.
 *
 * @typedef {object} Identity
 * @property {string} instance
 * @property {string} run of the browser: another one after each start of it, so that a server knows when tab ids are new
 * @property {{id: string, version: string, chrome: string}} ext
 */

/**
 * @typedef {object} Owner what a connection tells of itself
 * @property {(c: Connection) => void} changed its state is another
 * @property {(c: Connection, command: Command) => void} command
 * @property {(c: Connection) => void} policy the rules are others
 * @property {(c: Connection) => void} servers another server came or went
 * @property {(c: Connection, key: Uint8Array<ArrayBuffer>) => void} paired a pairing string became a key
 */

/** @typedef {import('./wire.js').Policy} Policy */
/** @typedef {{id: string, method: string, params: Record<string, any>, timeoutMs: number}} Command */

/**
 * waiting: not connected, and will be dialed again; refused: the same, but
 * the server said no, or is not the one that it should be.
 *
 * @typedef {'waiting' | 'connecting' | 'connected' | 'refused'} ConnectionState
 */

/** The first and the longest pause between two dials, in ms. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 15_000;

/** A connection that lived this long was a good one: the next pause is short. */
const GOOD_AFTER = 5_000;

/** What may wait to be sent. A server that reads nothing gets no more. */
const MAX_QUEUED = 64 << 20;

/**
 * The connection to the server on one port. It dials when it is told to, and
 * each dial has a generation: whatever a socket of an earlier one still says
 * changes nothing.
 */
export class Connection {
  /**
   * @param {number} port
   * @param {Identity} identity
   * @param {Owner} owner
   * @param {(url: string) => WebSocket} [open]
   */
  constructor(port, identity, owner, open = (url) => new WebSocket(url)) {
    this.port = port;
    this.identity = identity;
    this.owner = owner;
    this.open = open;
    /** @type {ConnectionState} */
    this.state = 'waiting';
    /** Why, in words for the user; "" while all is well. */
    this.message = '';
    this.reason = '';
    this.generation = 0;
    this.failures = 0;
    /** When it may be dialed again, in ms since 1970. */
    this.due = 0;
    this.connectedAt = 0;
    /** When a connection that stood was lost, in ms since 1970. */
    this.lostAt = 0;
    /** Nobody names a server on this port: there only might be one that we are paired with. */
    this.guessed = false;
    /** @type {WebSocket | null} */
    this.socket = null;
    /** Of the connection that stands: @type {string} */
    this.session = '';
    /** @type {{version: string, pid: number, name: string} | null} */
    this.server = null;
    /** @type {Policy | null} */
    this.policy = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.heard = 0;
  }

  /** Names the server process: the same after a reconnect, another after its restart. */
  get key() {
    return this.server ? `${this.server.pid}@${this.port}` : `@${this.port}`;
  }

  /**
   * Dials. Resolves true when the server welcomed us, false when it did not;
   * state and message then say why.
   *
   * @param {Credential} credential
   * @returns {Promise<boolean>}
   */
  dial(credential) {
    const generation = ++this.generation;
    this.drop();
    this.set('connecting', '', '');
    return new Promise((resolve) => {
      /** @param {ConnectionState} state @param {string} reason @param {string} message */
      const fail = (state, reason, message) => {
        resolve(false);
        if (generation === this.generation) this.ended(state, reason, message);
      };
      let socket;
      try {
        socket = this.open(`ws://127.0.0.1:${this.port}/`);
      } catch (e) {
        fail('waiting', 'unreachable', String(e));
        return;
      }
      this.socket = socket;
      this.timer = setTimeout(() => fail('waiting', 'timeout', 'the server did not answer in time'), HELLO_TIMEOUT_MS);
      const nonceC = newNonce();
      let step = 'hello';
      let refusal = '';

      // One at a time: a proof takes a moment to check, and what the server
      // says after it must not overtake it.
      let turn = Promise.resolve();
      socket.onopen = () => {
        if (generation !== this.generation) return;
        const { instance, run, ext } = this.identity;
        this.send({ type: 'hello', instance, run, ext, nonce: encode(nonceC), key: credential.kind });
        step = 'challenge';
      };
      /** @type {import('./handshake.js').Transcript} */
      let transcript;
      /** @type {CryptoKey} */
      let key;
      /** @param {any} frame */
      const handshake = async (frame) => {
        if (frame.type === 'refused') {
          refusal = typeof frame.reason === 'string' ? frame.reason : 'refused';
          fail('refused', refusal, sentence(frame.message) || 'the server refused the connection');
        } else if (step === 'challenge' && frame.type === 'challenge') {
          const nonceS = decodeKey(frame.nonce);
          if (!nonceS) return fail('refused', 'bad_server', 'the program on the port is not chrome-mcp');
          transcript = { extensionId: this.identity.ext.id, instance: this.identity.instance, port: this.port, nonceC, nonceS };
          key = await importKey(credential.key);
          // Before we prove anything: a stranger on the port learns nothing.
          if (!(await verifyServer(key, transcript, frame.mac))) {
            return fail('refused', 'bad_server', 'the program on the port does not hold the key');
          }
          const mac = await clientProof(key, transcript);
          if (generation !== this.generation) return;
          this.send({ type: 'proof', mac });
          step = 'welcome';
        } else if (step === 'welcome' && frame.type === 'welcome') {
          if (credential.kind === 'pairing') {
            const own = frame.pairing && (await unseal(key, transcript, frame.pairing.key));
            if (!own) return fail('refused', 'bad_server', 'the server sent no key');
            if (generation !== this.generation) return;
            this.owner.paired(this, own);
          }
          if (generation !== this.generation) return;
          step = 'open';
          clearTimeout(this.timer);
          this.welcomed(frame);
          resolve(true);
        } else {
          fail('refused', 'bad_server', 'the program on the port does not speak our protocol');
        }
      };
      socket.onmessage = (event) => {
        if (generation !== this.generation) return;
        const frame = parse(event.data, step === 'open' ? Infinity : MAX_HANDSHAKE_FRAME);
        if (!frame) {
          fail('refused', 'bad_frame', 'the server sent what is not a frame');
        } else if (frame.v !== VERSION) {
          fail('refused', 'bad_version', `the server speaks version ${String(frame.v).slice(0, 20)} of the protocol, this extension version ${VERSION}: update chrome-mcp and reload its extension`);
        } else if (step === 'open') {
          this.received(frame); // at once, in order
        } else {
          turn = turn.then(async () => {
            if (generation !== this.generation) return;
            if (step === 'open') this.received(frame);
            else await handshake(frame);
          }).catch((e) => fail('waiting', 'error', String(e)));
        }
      };
      socket.onclose = (event) => {
        const code = event.code;
        turn = turn.then(() => {
          if (code === CLOSE.stopped) fail('refused', 'stopped', 'it was told to let go of every browser, by chrome-mcp stop: restart the program that it belongs to');
          else if (code === CLOSE.displaced) fail('waiting', 'displaced', 'a newer connection of this browser took its place');
          else fail(code === CLOSE.refused ? 'refused' : 'waiting', refusal || 'closed', this.server && step === 'open' ? 'the connection was lost' : 'no server answers');
        });
      };
      socket.onerror = () => {}; // onclose follows
    });
  }

  /** @param {any} frame */
  welcomed(frame) {
    this.session = String(frame.session);
    this.server = { version: String(frame.server?.version ?? ''), pid: Number(frame.server?.pid) || 0, name: sentence(frame.server?.name) || 'an agent' };
    this.policy = frame.policy ?? null;
    this.connectedAt = this.heard = Date.now();
    this.set('connected', '', '');
    const heartbeat = Number(frame.heartbeatMs) > 0 ? Number(frame.heartbeatMs) : 15_000;
    const generation = this.generation;
    // The server pings. When it falls silent (it hangs, the machine slept),
    // this side does not wait for it either.
    const watch = () => {
      if (generation !== this.generation) return;
      if (Date.now() - this.heard > 2.5 * heartbeat) {
        this.ended('waiting', 'silent', 'the server fell silent');
        return;
      }
      this.timer = setTimeout(watch, heartbeat);
    };
    this.timer = setTimeout(watch, heartbeat);
  }

  /** @param {any} frame */
  received(frame) {
    this.heard = Date.now();
    switch (frame.type) {
      case 'ping':
        this.send({ type: 'pong', ts: frame.ts });
        break;
      case 'pong':
        break;
      case 'policy':
        this.policy = frame.policy ?? null;
        this.owner.policy(this);
        break;
      case 'servers':
        this.owner.servers(this);
        break;
      case 'command':
        if (typeof frame.id === 'string' && typeof frame.method === 'string' && isObject(frame.params)) {
          this.owner.command(this, frame);
        }
        break;
      default: // junk changes nothing
    }
  }

  /**
   * Sends a frame; its version is added. A frame for a connection that is
   * gone is dropped: the server has given up on it too.
   *
   * @param {Record<string, any>} frame
   * @returns {boolean} whether it went out
   */
  send(frame) {
    const { socket } = this;
    if (!socket || socket.readyState !== 1) return false;
    const text = JSON.stringify({ ...frame, v: VERSION });
    if (text.length > MAX_FRAME / 3 && new TextEncoder().encode(text).length > MAX_FRAME) return false;
    if (socket.bufferedAmount > MAX_QUEUED) {
      this.ended('waiting', 'backpressure', 'the server does not read what it is sent');
      return false;
    }
    socket.send(text);
    return true;
  }

  /**
   * Ends the connection for now; it is due again after a pause.
   *
   * @param {ConnectionState} state
   * @param {string} reason
   * @param {string} message
   */
  ended(state, reason, message) {
    const good = this.state === 'connected' && Date.now() - this.connectedAt > GOOD_AFTER;
    if (this.state === 'connected') this.lostAt = Date.now();
    this.failures = good ? 0 : this.failures + 1;
    if (reason === 'displaced') this.failures = 10; // a copy of this profile: do not take turns with it
    this.due = Date.now() + this.pause();
    this.generation++;
    this.drop();
    this.set(state, reason, message);
  }

  /** Closes for good. */
  close() {
    this.generation++;
    this.drop();
    this.set('waiting', 'closed', '');
  }

  /** Forgets the socket, and closes it. */
  drop() {
    clearTimeout(this.timer);
    const { socket } = this;
    this.socket = null;
    this.policy = null;
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = socket.onerror = null;
      try {
        socket.close(1000);
      } catch {
        // it never opened
      }
    }
  }

  /** How long to wait before the next dial, in ms. */
  pause() {
    const pause = Math.min(FIRST_PAUSE * 2 ** Math.max(0, this.failures - 1), LONGEST_PAUSE);
    return pause * (0.75 + Math.random() / 4);
  }

  /** @param {ConnectionState} state @param {string} reason @param {string} message */
  set(state, reason, message) {
    this.state = state;
    this.reason = reason;
    this.message = message;
    this.owner.changed(this);
  }
}

/**
 * @param {unknown} data
 * @param {number} limit in characters
 */
function parse(data, limit) {
  if (typeof data !== 'string' || data.length > limit) return null;
  try {
    const frame = JSON.parse(data);
    return isObject(frame) && typeof frame.type === 'string' ? frame : null;
  } catch {
    return null;
  }
}

/** @param {unknown} v @returns {v is Record<string, any>} */
function isObject(v) {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}

/** @param {unknown} s what a server says to the user: short, and one line */
function sentence(s) {
  return typeof s === 'string' ? s.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 300) : '';
}
