/**
 * Runs a script, and tells by __end what it came to. The three functions of
 * the host are gone before the script begins.
 *
 * @param {string[]} names the functions that the script is to have
 * @param {string} source the body of an async function
 */
function runScript(names, source) {
  "use strict";
  /** @type {any} */
  const global = globalThis;
  const { __call: call, __print: print, __end: tell, JSON, Error, String, Object } = global;
  const { parse, stringify } = JSON;
  const slice = Function.prototype.call.bind(String.prototype.slice);

  // More is cut by the host. To hand over more may take more memory than there is.
  const most = (4 << 20) + 1;
  /** @param {string} kind @param {string} text @param {string} stack */
  const end = (kind, text, stack) => tell(kind, slice(text, 0, most), stack);
  for (const name of ["__call", "__print", "__end"]) delete global[name];

  /** @param {any} value */
  const show = (value) => (typeof value === "string" ? value : (stringify(value) ?? String(value)));

  for (const name of names) {
    global[name] = (/** @type {any} */ args = {}) => {
      const answer = parse(call(name, stringify(args) ?? "{}"));
      if (!answer.error) return answer.value;
      const { message, ...more } = answer.error;
      throw Object.assign(new Error(message), more);
    };
  }
  global.print = (/** @type {any[]} */ ...values) => print(slice(values.map(show).join(" "), 0, most));
  global.console = { log: global.print, info: global.print, warn: global.print, error: global.print };

  /** @param {any} e */
  const thrown = (e) => {
    const error = e instanceof Error;
    const next = error && e.code && e.hint ? `. ${e.hint}` : "";
    end("throw", error ? `${e.code || e.name}: ${e.message}${next}` : show(e), error ? String(e.stack) : "");
  };
  const untold = () => end("throw", "what it returned or threw cannot be told", "");
  /** @type {any} */
  const AsyncFunction = (async () => {}).constructor;
  // A directive has an effect only before the first statement.
  const strict = /^(?:\s|\/\/.*|\/\*(?:[^*]|\*(?!\/))*\*\/)*(["'])use strict\1/.test(source);
  let main;
  try {
    // Where memory runs out before the first await, the engine settles no promise.
    main = new AsyncFunction((strict ? "'use strict';" : "") + "await 0;" + source);
  } catch (e) {
    const error = /** @type {Error} */ (e);
    end("syntax", error.message, String(error.stack));
    return;
  }
  main()
    .then((/** @type {any} */ value) => end("value", value === undefined ? "" : show(value), ""))
    .then(undefined, thrown)
    .then(undefined, untold);
}
