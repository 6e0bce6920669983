// @ts-check

/** The maximum number of requests of a tab that are stored. */
const MAX_REQUESTS = 5000;

/**
 * A request of a page. A CDP client may want to read its response.
 *
 * @typedef {object} PageRequest
 * @property {string} url
 * @property {string} [type] a Network.ResourceType
 * @property {string} [frame] id of the frame that sends it, or that a document is loaded in
 * @property {boolean} [opaque] whether the response may be of any site; undefined before the response
 */

/** The last requests of a tab, from the first command of a CDP client on. */
export class PageRequests {
  constructor() {
    /** Whether a CDP client has sent a command. */
    this.started = false;
    /** By request id, oldest first. @type {Map<string, PageRequest>} */
    this.requests = new Map();
  }

  /** Called with the first command of a CDP client. */
  start() {
    this.started = true;
  }

  /** @param {string} id @returns {PageRequest | undefined} */
  get(id) {
    return this.requests.get(id);
  }

  /** @param {string} method @param {any} params */
  onEvent(method, params) {
    if (!this.started) return;
    if (method === 'Network.requestWillBeSent' || method === 'Fetch.requestPaused' || method === 'Fetch.authRequired') this.add(params);
    if (method !== 'Network.responseReceived') return;
    const request = this.requests.get(params.requestId);
    // A service worker can answer a request with an opaque response: one of another site that the
    // page cannot read, at any URL. Requests for documents and by XMLHttpRequest fail with it.
    if (request) request.opaque = Boolean(params.response?.fromServiceWorker) && params.type !== 'Document' && params.type !== 'XHR';
  }

  /** @param {any} params of an event */
  add({ requestId, request, frameId, type, resourceType }) {
    this.requests.delete(requestId); // a redirect: the newest is last
    this.requests.set(requestId, { url: String(request?.url), type: type ?? resourceType, frame: frameId });
    if (this.requests.size > MAX_REQUESTS) this.requests.delete(/** @type {string} */ (this.requests.keys().next().value));
  }
}
