"use strict";

// The worker answers the requests for files: those of its scope, which the server does not have, with
// the content that is expected, and the others with another one.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { href, pathname } = new URL(event.request.url);
  if (!pathname.endsWith(".csv")) return;
  const content = href.startsWith(self.registration.scope) ? "id,total\n1,42\n" : "from the worker\n";
  const name = pathname.slice(pathname.lastIndexOf("/") + 1);
  event.respondWith(new Response(content, { headers: { "Content-Type": "text/csv", "Content-Disposition": `attachment; filename="${name}"` } }));
});
