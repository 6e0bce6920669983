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
  const { __call: call, __print: print, __end: end, JSON, Error, String, Object } = global;
  const { parse, stringify } = JSON;
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
  global.print = (/** @type {any[]} */ ...values) => print(values.map(show).join(" "));
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
  let main;
  try {
    main = new AsyncFunction(source);
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
