// @ts-check

import { clientProof, decodeKey, encode, importKey, newNonce, unseal, verifyServer } from './handshake.js';
import { CLOSE, HEARTBEAT_MS, HELLO_TIMEOUT_MS, MAX_MESSAGE, MAX_HANDSHAKE_MESSAGE, MISSED_HEARTBEATS, VERSION } from './wire.js';

/**
 * @typedef {object} Credential
 * @property {'boot' | 'paired' | 'pairing'} kind
 * @property {Uint8Array<ArrayBuffer>} key
 */

/**
 * The identity that the hello message contains.
 *
 * @typedef {object} Identity
 * @property {string} instance
 * @property {string} run id of this run of the browser. It changes with each start, so that a
 *   server knows when tab ids are new
 * @property {{id: string, version: string, chrome: string}} ext
 */

/**
 * @typedef {object} Owner the callbacks of a connection
 * @property {(c: Connection) => void} changed its state changed
 * @property {(c: Connection, command: Command) => void} command a command arrived
 * @property {(c: Connection) => void} policy the policy changed
 * @property {(c: Connection) => void} servers another server started or exited
 * @property {(c: Connection, key: Uint8Array<ArrayBuffer>) => void} paired a pairing string was
 *   exchanged for a key
 */

/** @typedef {import('./wire.js').Policy} Policy */
/**
 * @typedef {{id: string, method: string, params: Record<string, any>, timeoutMs: number}} Command
 */

/**
 * waiting: not connected, to be retried. refused: the same, but the server rejected
 * the connection or failed to authenticate.
 *
 * @typedef {'waiting' | 'connecting' | 'connected' | 'refused'} ConnectionState
 */

/** The minimum and maximum delay before a reconnect, in ms. */
const MIN_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 15_000;

/** A connection that lasted this long, in ms, was stable: the next delay is short. */
const STABLE_AFTER_MS = 5_000;

/** The maximum number of unsent bytes. If the server does not read, the connection is closed. */
const MAX_QUEUED = 64 << 20;

/** The last generation that was assigned. Generations are unique among all connections. */
let lastGeneration = 0;

/**
 * The connection to the server on one port. connect starts a new attempt with a new
 * generation. Events of sockets of earlier generations are ignored.
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
    /** Why it is not connected, as text for the user; "" if there is no error. */
    this.message = '';
    this.reason = '';
    this.generation = 0;
    this.failures = 0;
    /** When to reconnect, in ms since 1970. */
    this.due = 0;
    this.connectedAt = 0;
    /** When an established connection was lost, in ms since 1970. */
    this.lostAt = 0;
    /** Whether no server is known on this port, but a paired server might be there. */
    this.fromPortScan = false;
    /** Whether the server sees only tabs that the user gave to it, and tabs that it opened. */
    this.isChat = false;
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {{version: string, pid: number, name: string} | null} */
    this.server = null;
    /** @type {Policy | null} */
    this.policy = null;
    /** The CDP clients of the server. @type {import('./wire.js').CDPClient[]} */
    this.clients = [];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.lastMessageAt = 0;
    /** Makes the current call of connect return false. @type {() => void} */
    this.cancelAttempt = () => {};
  }

  /** Identifies the server process: the same after a reconnect, another after a restart. */
  get key() {
    return this.server ? `${this.server.pid}@${this.port}` : `@${this.port}`;
  }

  /**
   * Connects. It resolves to true when the handshake succeeded, and to false otherwise, with
   * the reason in state and message. It also resolves to false when close or another call of
   * connect ends the attempt.
   *
   * @param {Credential} credential
   * @returns {Promise<boolean>}
   */
  connect(credential) {
    const generation = this.generation = ++lastGeneration;
    this.closeSocket();
    this.setState('connecting', '', '');
    return new Promise((resolve) => {
      this.cancelAttempt = () => resolve(false);
      /** @param {ConnectionState} state @param {string} reason @param {string} message */
      const fail = (state, reason, message) => {
        resolve(false);
        if (generation === this.generation) this.closeAndRetry(state, reason, message);
      };
      let socket;
      try {
        socket = this.open(`ws://127.0.0.1:${this.port}/`);
      } catch (e) {
        fail('waiting', 'unreachable', String(e));
        return;
      }
      this.socket = socket;
      this.timer = setTimeout(() => fail('waiting', 'timeout', 'the server did not respond in time'), HELLO_TIMEOUT_MS);
      const nonceC = newNonce();
      let step = 'hello';

      // One message at a time: verifying a proof is asynchronous, and later messages must
      // not overtake it.
      let queue = Promise.resolve();
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
      /** @param {any} message */
      const handshake = async (message) => {
        if (message.type === 'refused') {
          const reason = typeof message.reason === 'string' ? message.reason : 'refused';
          fail('refused', reason, sentence(message.message) || 'the server rejected the connection');
        } else if (step === 'challenge' && message.type === 'challenge') {
          const nonceS = decodeKey(message.nonce);
          if (!nonceS) return fail('refused', 'bad_server', 'the program on the port is not chrome-mcp');
          transcript = { extensionId: this.identity.ext.id, instance: this.identity.instance, port: this.port, nonceC, nonceS };
          key = await importKey(credential.key);
          // Before we prove anything: an untrusted program on the port learns nothing.
          if (!(await verifyServer(key, transcript, message.mac))) {
            return fail('refused', 'bad_server', 'the program on the port does not have the key');
          }
          const mac = await clientProof(key, transcript);
          if (generation !== this.generation) return;
          this.send({ type: 'proof', mac });
          step = 'welcome';
        } else if (step === 'welcome' && message.type === 'welcome') {
          if (credential.kind === 'pairing') {
            const own = message.pairing && (await unseal(key, transcript, message.pairing.key));
            if (!own) return fail('refused', 'bad_server', 'the server sent no key');
            if (generation !== this.generation) return;
            this.owner.paired(this, own);
          }
          if (generation !== this.generation) return;
          step = 'open';
          clearTimeout(this.timer);
          this.welcomed(message);
          resolve(true);
        } else {
          fail('refused', 'bad_server', 'the program on the port sent an unexpected message');
        }
      };
      socket.onmessage = (event) => {
        if (generation !== this.generation) return;
        const message = parse(event.data, step === 'open' ? Infinity : MAX_HANDSHAKE_MESSAGE);
        if (!message) {
          fail('refused', 'bad_frame', 'the server sent an invalid message');
        } else if (message.v !== VERSION) {
          fail('refused', 'bad_version', `the program on the port uses protocol version ${String(message.v).slice(0, 20)}, this extension version ${VERSION}: update chrome-mcp and reload the extension`);
        } else if (step === 'open') {
          this.received(message); // synchronously, in order
        } else {
          queue = queue.then(async () => {
            if (generation !== this.generation) return;
            if (step === 'open') this.received(message);
            else await handshake(message);
          }).catch((e) => fail('waiting', 'error', String(e)));
        }
      };
      socket.onclose = (event) => {
        const code = event.code;
        queue = queue.then(() => {
          if (code === CLOSE.stopped) fail('refused', 'stopped', 'chrome-mcp stop disconnected it from all browsers: restart the MCP client that runs it');
          else if (code === CLOSE.displaced) fail('waiting', 'displaced', 'a newer connection of this browser replaced this one');
          else fail(code === CLOSE.refused ? 'refused' : 'waiting', 'closed', this.server && step === 'open' ? 'connection lost' : 'no server responds');
        });
      };
      socket.onerror = () => {}; // onclose follows
    });
  }

  /** @param {any} message */
  welcomed(message) {
    this.server = { version: String(message.server?.version ?? ''), pid: Number(message.server?.pid) || 0, name: sentence(message.server?.name) || 'an agent' };
    this.policy = message.policy ?? null;
    this.connectedAt = this.lastMessageAt = Date.now();
    this.setState('connected', '', '');
    const heartbeat = Number(message.heartbeatMs) > 0 ? Number(message.heartbeatMs) : HEARTBEAT_MS;
    const generation = this.generation;
    // The server sends pings. If they stop (it hangs, the machine slept), this side closes
    // the connection.
    const watch = () => {
      if (generation !== this.generation) return;
      if (Date.now() - this.lastMessageAt > (MISSED_HEARTBEATS + 0.5) * heartbeat) {
        this.closeAndRetry('waiting', 'silent', 'the server stopped responding');
        return;
      }
      this.timer = setTimeout(watch, heartbeat);
    };
    this.timer = setTimeout(watch, heartbeat);
  }

  /** @param {any} message */
  received(message) {
    this.lastMessageAt = Date.now();
    switch (message.type) {
      case 'ping':
        this.send({ type: 'pong', ts: message.ts });
        break;
      case 'pong':
        break;
      case 'policy':
        this.policy = message.policy ?? null;
        this.owner.policy(this);
        break;
      case 'servers':
        this.owner.servers(this);
        break;
      case 'command':
        if (typeof message.id === 'string' && typeof message.method === 'string' && isObject(message.params)) {
          this.owner.command(this, message);
        }
        break;
      default: // ignore unknown messages
    }
  }

  /**
   * Sends a message with the protocol version added. A message for a closed connection is
   * dropped: the server has also discarded the connection.
   *
   * @param {Record<string, any>} message
   * @returns {boolean} whether it was sent
   */
  send(message) {
    const { socket } = this;
    if (!socket || socket.readyState !== 1) return false;
    const text = JSON.stringify({ ...message, v: VERSION });
    if (text.length > MAX_MESSAGE / 3 && new TextEncoder().encode(text).length > MAX_MESSAGE) return false;
    if (socket.bufferedAmount > MAX_QUEUED) {
      this.closeAndRetry('waiting', 'backpressure', 'the server does not read its messages');
      return false;
    }
    socket.send(text);
    return true;
  }

  /**
   * Ends the connection, and schedules the next attempt.
   *
   * @param {ConnectionState} state
   * @param {string} reason
   * @param {string} message
   */
  closeAndRetry(state, reason, message) {
    const good = this.state === 'connected' && Date.now() - this.connectedAt > STABLE_AFTER_MS;
    if (this.state === 'connected') this.lostAt = Date.now();
    this.failures = good ? 0 : this.failures + 1;
    if (reason === 'displaced') this.failures = 10; // a copy of this profile: do not displace each other
    this.due = Date.now() + this.retryDelay();
    this.generation = ++lastGeneration;
    this.closeSocket();
    this.setState(state, reason, message);
  }

  /** Closes the connection permanently. */
  close() {
    this.generation = ++lastGeneration;
    this.closeSocket();
    this.setState('waiting', 'closed', '');
  }

  /** Closes and removes the socket. An attempt in progress fails. */
  closeSocket() {
    clearTimeout(this.timer);
    this.cancelAttempt();
    const { socket } = this;
    this.socket = null;
    this.policy = null;
    this.clients = [];
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = socket.onerror = null;
      try {
        socket.close(1000);
      } catch {
        // it was never open
      }
    }
  }

  /** Returns the delay before the next attempt, in ms. */
  retryDelay() {
    const pause = Math.min(MIN_BACKOFF_MS * 2 ** Math.max(0, this.failures - 1), MAX_BACKOFF_MS);
    return pause * (0.75 + Math.random() / 4);
  }

  /** @param {ConnectionState} state @param {string} reason @param {string} message */
  setState(state, reason, message) {
    this.state = state;
    this.reason = reason;
    this.message = message;
    this.owner.changed(this);
  }
}

/**
 * Sends an event to a server.
 *
 * @param {Connection} c
 * @param {import('./wire.js').EventName} event
 * @param {any} data
 */
export function sendEvent(c, event, data) {
  c.send({ type: 'event', event, data });
}

/**
 * @param {unknown} data
 * @param {number} limit in characters
 */
function parse(data, limit) {
  if (typeof data !== 'string' || data.length > limit) return null;
  try {
    const message = JSON.parse(data);
    return isObject(message) && typeof message.type === 'string' ? message : null;
  } catch {
    return null;
  }
}

/** @param {unknown} v @returns {v is Record<string, any>} */
function isObject(v) {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}

/** Sanitizes a server's message for the user: short, and one line. @param {unknown} s */
function sentence(s) {
  return typeof s === 'string' ? s.replace(/[\p{Cc}\p{Cf}]/gu, ' ').slice(0, 300) : '';
}
