// Package relay serves clients that use the Chrome DevTools Protocol (CDP), such as Playwright,
// Puppeteer, chromedp and DevTools frontends. They drive the browser of an [executor.CDPBrowser]
// at the same time as its sessions do, under the same policy.
//
// A [Server] has the HTTP and WebSocket endpoints of Chromium, below a random path. Serve requires no
// authentication other than this path, so the URL is a secret.
//
// # What clients can do
//
// A table has a rule for each command. In a managed browser, most commands that work within a
// document are forwarded unchanged, because such a browser loads only documents that the policy
// allows. In the user's Chrome, denied documents exist; its backend denies the commands that would
// show them. The parameters of other commands are checked: URLs, files, and the origins of cookies
// and storage. Results and events contain only cookies and resources of allowed sites. The browser's
// internal pages, the pages of extensions, and the browser contexts of other clients are hidden. A
// denied command fails with an error that names the reason. A command that no client can use, or that
// the table does not contain, fails with the error code -32601.
//
// Clients of the same page do not affect each other, except that the emulation of a page belongs to
// the client that set it first, until that client disconnects.
package relay
