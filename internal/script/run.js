/**
 * Runs a script and reports its result with __end. It removes the three host functions from the
 * global object before the script starts.
 *
 * @param {string[]} names the functions that the script can call
 * @param {string} source the body of an async function
 */
function runScript(names, source) {
  "use strict";
  /** @type {any} */
  const global = globalThis;
  const { __call: call, __print: print, __end: report, JSON, Error, String, Object } = global;
  const { parse, stringify } = JSON;
  const slice = Function.prototype.call.bind(String.prototype.slice);

  // The host truncates longer texts. Passing a longer text could exceed the memory limit.
  const maxText = (4 << 20) + 1;
  /** @param {string} kind @param {string} text @param {string} stack */
  const end = (kind, text, stack) => report(kind, slice(text, 0, maxText), stack);
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
  global.print = (/** @type {any[]} */ ...values) => print(slice(values.map(show).join(" "), 0, maxText));
  global.console = { log: global.print, info: global.print, warn: global.print, error: global.print };

  /** @param {any} e */
  const thrown = (e) => {
    const error = e instanceof Error;
    const next = error && e.code && e.hint ? `. ${e.hint}` : "";
    end("throw", error ? `${e.code || e.name}: ${e.message}${next}` : show(e), error ? String(e.stack) : "");
  };
  const unprintable = () => end("throw", "the value cannot be converted to text", "");
  /** @type {any} */
  const AsyncFunction = (async () => {}).constructor;
  // A directive has an effect only before the first statement.
  const strict = /^(?:\s|\/\/.*|\/\*(?:[^*]|\*(?!\/))*\*\/)*(["'])use strict\1/.test(source);
  let main;
  try {
    // If memory runs out before the first await, the engine does not settle the promise.
    main = new AsyncFunction((strict ? "'use strict';" : "") + "await 0;" + source);
  } catch (e) {
    const error = /** @type {Error} */ (e);
    end("syntax", error.message, String(error.stack));
    return;
  }
  main()
    .then((/** @type {any} */ value) => end("value", value === undefined ? "" : show(value), ""))
    .then(undefined, thrown)
    .then(undefined, unprintable);
}
