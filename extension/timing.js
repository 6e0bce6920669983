// @ts-check

/**
 * The durations that decide results, in ms. The end of a patience is a correct answer. The end of a
 * hang limit is a failure, or a result with less in it, because something did not respond: tests write
 * this module again with longer ones. Durations on which no result depends, such as intervals of polls
 * and lifetimes of records, are constants where they are used.
 */
export const timing = Object.freeze({
  patience: Object.freeze({
    /** How long a tab stays attached after its server was lost. Most servers reconnect, and Chrome's
     * debugging bar should not flicker. */
    reconnect: 10_000,
    /** How long the tabs of a lost server are reserved for it. */
    driver: 60_000,
    /** How long after a command an agent counts as active in a tab: a navigation of the tab may then be
     * its doing. */
    activity: 10_000,
    /** How long a command is sent again while the browser rejects it because of the pending URL of the
     * tab, which may be the URL of another program. */
    pendingURL: 5_000,
    /** How long buttons of prompts stay disabled after the prompts appeared, changed or moved: a click
     * may be meant for what was there before. */
    misclick: 600,
  }),
  hangLimits: Object.freeze({
    /** The timeout of a call to the browser. */
    browserCall: 5_000,
    /** How long a once grant lasts: the waiting call runs its script immediately and then reads the
     * result. */
    onceGrant: 10_000,
    /** The maximum time between the page's report of a download and the browser's. */
    downloadReport: 10_000,
    /** How long a new tab counts as recent. The browser reports which page opened it long before. */
    openerReport: 1_000,
    /** How long a request to the chat host may take, except for a prompt: an agent may have to start. */
    chatRequest: 150_000,
    /** How long the server of a new chat may need to appear. */
    chatServer: 10_000,
  }),
});
