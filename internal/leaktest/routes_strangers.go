package leaktest

// Other windows that pages open.
var windows = []Route{
	{Name: "picture-in-picture-open", window: true, Kind: Document, gesture: true, script: inWindow + `w.open('{T}/x');`},
	{Name: "picture-in-picture-open-noopener", window: true, Kind: Document, gesture: true, script: inWindow + `w.open('{T}/x', '', 'noopener');`},
	{Name: "picture-in-picture-open-then-location", window: true, Kind: Document, gesture: true, script: inWindow + `const p = w.open('{V}/inner'); await nextMessage; p.location.href = '{T}/x';`,
		inner: `<script>opener.postMessage('', '*'); opener.opener?.postMessage('', '*')</script>`},
	{Name: "picture-in-picture-sandboxed", window: true, blockedWhenAllowed: users, Kind: Document, gesture: true, script: inWindow + `
		const f = w.document.createElement('iframe');
		f.sandbox = 'allow-scripts allow-popups allow-popups-to-escape-sandbox';
		f.srcdoc = "<script>open('{T}/x', '', 'noopener')</" + "script>";
		w.document.body.append(f);`},
	{Name: "picture-in-picture-location", window: true, blockedWhenAllowed: both, Kind: Document, gesture: true, script: inWindow + `w.location.href = '{T}/x';`},
	{Name: "picture-in-picture-img", window: true, Kind: Load, gesture: true, script: inWindow + `w.document.body.append(Object.assign(w.document.createElement('img'), {src: '{T}/x.gif'}));`},
	{Name: "clients-open-window", Kind: Document, worker: `onnotificationclick = (e) => e.waitUntil(clients.openWindow('{T}/x')); onmessage = (e) => e.waitUntil(clients.openWindow('{T}/x').catch(() => 0))`,
		untried: "a worker can open a window only after a click on a notification, which neither CDP nor a page can simulate",
		script:  serve + `; (reg.active ?? w)?.postMessage('');`},
}

// inWindow opens a Document Picture-in-Picture window.
const inWindow = `
		const w = await documentPictureInPicture.requestWindow();
		const nextMessage = new Promise((r) => { addEventListener('message', r); w.addEventListener('message', r); });
		`

// Routes that start in a frame of a site that is neither allowed nor denied by name.
var strangers = []Route{
	{Name: "stranger-open", Kind: Document, stranger: true, click: "#then", body: stranger + then, inner: `<script>onmessage = () => { onmessage = null; open('{T}/x'); }</script>`, script: thenDelegate},
	{Name: "stranger-open-noopener", Kind: Document, stranger: true, click: "#then", body: stranger + then, inner: `<script>onmessage = () => { onmessage = null; open('{T}/x', '', 'noopener'); }</script>`, script: thenDelegate},
	{Name: "stranger-open-redirect", Kind: Document, stranger: true, click: "#then", body: stranger + then, inner: `<script>onmessage = () => { onmessage = null; open('{Y}/hop', '', 'noopener'); }</script>`, script: thenDelegate, files: map[string]file{"hop": redirect(302, "{T}/x")}},
	{Name: "stranger-blank-target", Kind: Document, stranger: true, click: "#then", body: stranger + then, inner: `<a target=_blank rel=noopener href="{T}/x">a</a><script>onmessage = () => { onmessage = null; document.querySelector('a').click(); }</script>`, script: thenDelegate},
	{Name: "stranger-nested-open", Kind: Document, stranger: true, click: "#then", body: `<iframe src="{Y}/nest"></iframe>` + then, script: `document.querySelector('#then').onclick = () => repeat(() => frames[0].frames[0].postMessage('', '*'));`,
		inner: `<script>onmessage = () => { onmessage = null; open('{T}/x', '', 'noopener'); }</script>`, files: map[string]file{"nest": text("text/html", `<!doctype html><iframe src="{X}/inner"></iframe>`)}},
	{Name: "stranger-redirected-open", Kind: Document, stranger: true, click: "#then", body: `<iframe src="{Y}/to-inner"></iframe>` + then, script: thenDelegate,
		inner: `<script>onmessage = () => { onmessage = null; open('{T}/x', '', 'noopener'); }</script>`, files: map[string]file{"to-inner": redirect(302, "{X}/inner")}},
	{Name: "stranger-window-open", window: true, blockedWhenAllowed: users, Kind: Document, stranger: true, gesture: true, body: then, click: "#then", script: inWindow + `
		const f = Object.assign(w.document.createElement('iframe'), {src: '{X}/inner'});
		w.document.body.append(f);
		await new Promise((r) => { f.onload = r; });
		document.querySelector('#then').onclick = () => repeat(() => f.contentWindow.postMessage('', '*'));`, inner: `<script>onmessage = () => { onmessage = null; open('{T}/x', '', 'noopener'); }</script>`},
	{Name: "stranger-fetch", Kind: Load, stranger: true, body: stranger, inner: `<script>fetch('{T}/x', {mode: 'no-cors'})</script>`},
	{Name: "stranger-worker", Kind: Load, stranger: true, body: stranger, worker: `fetch('{T}/x', {mode: 'no-cors'})`, inner: `<script>new Worker('w.js')</script>`},
	{Name: "stranger-data-worker", Kind: Load, stranger: true, body: stranger, inner: "<script>new Worker('data:text/javascript,' + encodeURIComponent(`fetch('{T}/x', {mode: 'no-cors'})`))</script>"},
	{Name: "stranger-shared-worker", Kind: Load, stranger: true, body: stranger, worker: `fetch('{T}/x', {mode: 'no-cors'})`, inner: `<script>new SharedWorker('w.js')</script>`},
	{Name: "stranger-data-shared-worker", blockedWhenAllowed: users, Kind: Load, stranger: true, body: stranger, inner: "<script>new SharedWorker('data:text/javascript,' + encodeURIComponent(`fetch('{T}/x', {mode: 'no-cors'})`))</script>"},
	{Name: "stranger-shared-worker-websocket", knownLeaks: userSocket, Kind: Load, stranger: true, body: stranger, worker: `new WebSocket('wss://{A}/x')`, inner: `<script>new SharedWorker('w.js')</script>`},
	{Name: "stranger-service-worker", Kind: Load, stranger: true, body: stranger, worker: `oninstall = (e) => e.waitUntil(fetch('{T}/x', {mode: 'no-cors'}).catch(() => 0))`, inner: `<script>navigator.serviceWorker.register('w.js')</script>`},
	{Name: "stranger-service-worker-websocket", knownLeaks: userSocket, Kind: Load, stranger: true, body: stranger, worker: `oninstall = (e) => e.waitUntil(new Promise((r) => { const w = new WebSocket('wss://{A}/x'); w.onopen = w.onerror = r }))`, inner: `<script>navigator.serviceWorker.register('w.js')</script>`},
	{Name: "stranger-window-shared-worker", window: true, blockedWhenAllowed: users, Kind: Load, stranger: true, gesture: true, script: inWindow + `w.document.body.append(Object.assign(w.document.createElement('iframe'), {src: '{X}/inner'}));`,
		worker: `fetch('{T}/x', {mode: 'no-cors'})`, inner: `<script>new SharedWorker('w.js')</script>`},
	{Name: "stranger-window-fetch", window: true, blockedWhenAllowed: users, Kind: Load, stranger: true, gesture: true, script: inWindow + `w.document.body.append(Object.assign(w.document.createElement('iframe'), {src: '{X}/inner'}));`,
		inner: `<script>fetch('{T}/x', {mode: 'no-cors'})</script>`},
}

// A popup window needs a click of the agent after the frame exists, because commands wait for the
// DNR rules that include the host of the frame. Chromium 156 loses one in a hundred messages to a
// frame of another site on a busy machine, also without a policy, so the page repeats the message.
const (
	then         = `<button id=then>Then</button>`
	thenDelegate = `document.querySelector('#then').onclick = () => repeat(() => frames[0].postMessage('', '*'));`
)

// stranger is the HTML of a frame of otherHost.
const stranger = `<iframe src="{X}/inner"></iframe>`
