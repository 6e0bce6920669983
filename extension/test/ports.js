// @ts-check

/** The part of chrome.runtime that ports use. */
export const runtime = { lastError: /** @type {{message: string} | undefined} */ (undefined) };

/** A port that the test controls. */
export class Port {
  /** @type {any[]} */
  sent = [];
  closed = false;
  /** @type {(m: any) => void} */
  receive = () => {};
  /** @type {() => void} */
  disconnected = () => {};
  onMessage = { addListener: (/** @type {(m: any) => void} */ f) => { this.receive = f; } };
  onDisconnect = { addListener: (/** @type {() => void} */ f) => { this.disconnected = f; } };

  /** @param {string} [name] @param {any} [sender] */
  constructor(name = '', sender = undefined) {
    this.name = name;
    this.sender = sender;
  }

  /** @param {any} m */
  postMessage(m) {
    this.sent.push(m);
  }

  disconnect() {
    this.closed = true;
  }

  /** @param {string} [why] */
  end(why) {
    runtime.lastError = why ? { message: why } : undefined;
    this.disconnected();
    runtime.lastError = undefined;
  }
}
