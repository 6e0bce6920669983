// @ts-check

// The live view of a tab: images of the tab over a WebSocket and, while the tab is handed over, the
// mouse and the keyboard of the user.

import { byId, setText } from './elements.js';

/** Returns the modifier keys as bits of CDP. @param {MouseEvent | KeyboardEvent} e */
const modifiers = (e) => (e.altKey ? 1 : 0) | (e.ctrlKey ? 2 : 0) | (e.metaKey ? 4 : 0) | (e.shiftKey ? 8 : 0);

const buttons = ['left', 'middle', 'right'];

/** The maximum length of a text that is sent, in UTF-16 code units. */
const MAX_TEXT = 5000;

const inputHint = 'The page is handed over to you: use the mouse and the keyboard in the image. F6 leaves the image.';

const watchHint = 'View only. The mouse and the keyboard work here while an agent has handed the page over to you.';

/**
 * The open dialog of the page.
 *
 * @typedef {object} Dialog
 * @property {string} type
 * @property {string} message
 * @property {string} [defaultPrompt]
 */

/**
 * A message of the server. An image follows as a binary message if image is set.
 *
 * @typedef {object} Message
 * @property {boolean} [image]
 * @property {number} [width] of the viewport, in CSS pixels, as is height
 * @property {number} [height]
 * @property {string} [hidden] why there is no image
 * @property {Dialog} [dialog]
 * @property {boolean} [input] whether the user may act in the tab
 * @property {string} [ended] why the live view has ended
 */

/** The live view that the page shows. */
export class LiveView {
  /** @type {WebSocket} */ #socket;
  /** @type {HTMLCanvasElement} */ #screen = /** @type {HTMLCanvasElement} */ (byId('screen'));
  #size = { width: 0, height: 0 };
  /** Whether the user may act in the tab. */ #enabled = false;
  #hidden = '';
  /** @type {Dialog | undefined} */ #dialog;
  #moving = false;
  #ended = new AbortController();

  /**
   * @param {string} session
   * @param {string} tab
   * @param {boolean} focus
   */
  constructor(session, tab, focus) {
    this.session = session;
    this.tab = tab;
    this.focus = focus;
    this.#setNote('Connecting…');
    this.#screen.hidden = true;
    const url = new URL(`live?${new URLSearchParams({ session, tab })}`, location.href);
    url.protocol = 'ws:';
    this.#socket = new WebSocket(url);
    this.#socket.binaryType = 'blob';
    this.#socket.addEventListener('message', (e) => {
      if (typeof e.data === 'string') this.#receive(JSON.parse(e.data));
      else this.#draw(e.data);
    }, { signal: this.#ended.signal });
    this.#socket.addEventListener('close', () => {
      if (!this.#hidden) this.#setNote('The live view has ended.');
      this.#setEnabled(false);
    }, { signal: this.#ended.signal });
    this.#listenToMouse();
    this.#listenToKeyboard();
    this.#listenToDialog();
  }

  close() {
    this.#ended.abort();
    this.#socket.close();
    this.#setEnabled(false);
    this.#screen.hidden = true;
    this.#showDialog(undefined);
    this.#setNote('');
  }

  /** @param {string} text */
  #setNote(text) {
    setText(byId('live-note'), text);
  }

  /** @param {Message} m */
  #receive(m) {
    if (m.input !== undefined) this.#setEnabled(m.input);
    if (m.image) {
      this.#size = { width: m.width ?? 0, height: m.height ?? 0 };
      this.#hidden = '';
    }
    const why = m.hidden || m.ended;
    if (m.image || why) this.#showDialog(m.dialog);
    if (why) {
      this.#hidden = why;
      this.#screen.hidden = true;
      this.#setNote(why);
    }
  }

  /** Shows the open dialog of the page while the user may answer it. @param {Dialog | undefined} dialog */
  #showDialog(dialog) {
    this.#dialog = dialog;
    const form = byId('dialog');
    const input = /** @type {HTMLInputElement} */ (byId('dialog-text'));
    const appears = form.hidden;
    const focused = form.contains(document.activeElement);
    form.hidden = !dialog || !this.#enabled;
    if (form.hidden || !dialog) {
      this.focus ||= focused; // an image from before the answer may have shown it again
      return;
    }
    const leaving = dialog.type === 'beforeunload';
    setText(byId('dialog-message'), leaving ? 'Leave the page? Changes may not be saved.' : dialog.message);
    setText(byId('dialog-accept'), leaving ? 'Leave' : 'OK');
    byId('dialog-cancel').hidden = dialog.type === 'alert';
    input.hidden = dialog.type !== 'prompt';
    if (!appears) return;
    input.value = dialog.defaultPrompt ?? '';
    (input.hidden ? byId('dialog-accept') : input).focus();
  }

  /** @param {boolean} accept */
  #answerDialog(accept) {
    const input = /** @type {HTMLInputElement} */ (byId('dialog-text'));
    this.#sendInput('dialog', { accept, text: accept && !input.hidden ? input.value.slice(0, MAX_TEXT) : '' });
    this.#showDialog(undefined);
    this.focus = true;
  }

  /** @param {Blob} jpeg */
  async #draw(jpeg) {
    const image = await createImageBitmap(jpeg);
    if (this.#ended.signal.aborted) return;
    this.#screen.width = image.width;
    this.#screen.height = image.height;
    this.#screen.getContext('2d')?.drawImage(image, 0, 0);
    image.close();
    if (!this.#hidden) {
      this.#screen.hidden = false;
      this.#setNote(this.#enabled ? inputHint : watchHint);
      if (this.#enabled && this.focus && !this.#dialog) {
        this.focus = false;
        this.#screen.focus();
      }
    }
    this.#send({ ack: true });
  }

  /** @param {boolean} enabled whether the user may act in the tab */
  #setEnabled(enabled) {
    this.#enabled = enabled;
    this.#screen.setAttribute('role', enabled ? 'application' : 'img');
    if (enabled) this.#screen.tabIndex = 0;
    else this.#screen.removeAttribute('tabindex');
    if (!this.#screen.hidden) this.#setNote(enabled ? inputHint : watchHint);
    this.#showDialog(this.#dialog);
  }

  /** @param {object} message */
  #send(message) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** @param {string} type @param {object} fields of executor.LiveInput */
  #sendInput(type, fields) {
    this.#send({ input: { type, ...fields } });
  }

  /** Returns the position of the mouse in the viewport, and what is pressed. @param {MouseEvent} e */
  #mouseAt(e) {
    const box = this.#screen.getBoundingClientRect();
    const border = this.#screen.clientLeft;
    return {
      x: (e.clientX - box.left - border) / (box.width - 2 * border) * this.#size.width,
      y: (e.clientY - box.top - border) / (box.height - 2 * border) * this.#size.height,
      buttons: e.buttons, modifiers: modifiers(e),
    };
  }

  /**
   * Registers a listener of the image that runs while the user may act in the tab and no dialog is
   * open.
   *
   * @template {keyof HTMLElementEventMap} T
   * @param {T} type
   * @param {(e: HTMLElementEventMap[T]) => void} handle
   */
  #on(type, handle) {
    this.#screen.addEventListener(type, (e) => {
      if (this.#enabled && !this.#dialog) handle(e);
    }, { signal: this.#ended.signal, passive: false });
  }

  #listenToMouse() {
    this.#on('mousemove', (e) => {
      if (this.#moving) return;
      this.#moving = true;
      requestAnimationFrame(() => {
        this.#moving = false;
        this.#sendInput('move', { ...this.#mouseAt(e), button: e.buttons & 1 ? 'left' : '' });
      });
    });
    const press = (/** @type {string} */ type, /** @type {MouseEvent} */ e) => {
      e.preventDefault();
      if (buttons[e.button]) this.#sendInput(type, { ...this.#mouseAt(e), button: buttons[e.button], clicks: Math.min(e.detail, 3) });
    };
    this.#on('mousedown', (e) => {
      this.#screen.focus({ preventScroll: true }); // the position of the event would change
      press('down', e);
    });
    this.#on('mouseup', (e) => press('up', e));
    this.#on('contextmenu', (e) => e.preventDefault());
    this.#on('wheel', (e) => {
      e.preventDefault();
      this.#sendInput('wheel', { ...this.#mouseAt(e), deltaX: e.deltaX, deltaY: e.deltaY });
    });
  }

  #listenToKeyboard() {
    this.#on('keydown', (e) => {
      if (e.key === 'F6') {
        e.preventDefault();
        byId('live-close').focus();
        return;
      }
      if (e.isComposing || e.key === 'Process') return;
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'v') return; // the paste event follows
      e.preventDefault();
      const text = e.ctrlKey || e.metaKey ? '' : e.key === 'Enter' ? '\r' : e.key.length === 1 ? e.key : '';
      this.#sendInput('keydown', { ...this.#keyOf(e), text, repeat: e.repeat });
    });
    this.#on('keyup', (e) => {
      e.preventDefault();
      if (e.key !== 'F6') this.#sendInput('keyup', this.#keyOf(e));
    });
    document.addEventListener('paste', (e) => {
      if (!this.#enabled || document.activeElement !== this.#screen) return;
      const text = e.clipboardData?.getData('text/plain');
      if (text) this.#sendInput('text', { text: text.slice(0, MAX_TEXT) });
      e.preventDefault();
    }, { signal: this.#ended.signal });
  }

  #listenToDialog() {
    byId('dialog').addEventListener('submit', (e) => {
      e.preventDefault();
      this.#answerDialog(true);
    }, { signal: this.#ended.signal });
    byId('dialog-cancel').addEventListener('click', () => this.#answerDialog(false), { signal: this.#ended.signal });
  }

  /** @param {KeyboardEvent} e */
  #keyOf(e) {
    return { key: e.key, code: e.code, keyCode: e.keyCode, modifiers: modifiers(e) };
  }
}
