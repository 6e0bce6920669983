// @ts-check

/**
 * Cuts the strings of a result of Runtime.evaluate or Runtime.awaitPromise, so that a value of any
 * length can be sent. A result with a string of more than max characters loses the details of its
 * exception, and gets the members cut and threw. internal/cdpconn does the same for
 * browsers with a direct CDP connection.
 *
 * @param {any} data
 * @param {number} max in characters
 */
export function cutStrings(data, max) {
  if (!isLong(data, max)) return data;
  const result = Object.fromEntries(Object.entries(data.result ?? {}).map(([key, value]) => [key, typeof value === 'string' ? value.slice(0, max) : value]));
  return { result, cut: true, threw: data.exceptionDetails !== undefined };
}

/** @param {unknown} value @param {number} max @returns {boolean} */
function isLong(value, max) {
  if (typeof value === 'string') return value.length > max;
  return typeof value === 'object' && value !== null && Object.values(value).some((v) => isLong(v, max));
}
